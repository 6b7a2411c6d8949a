"""`--pool`: runs of different models are no repeats of one agent unless the user says so."""

import json

import pytest


@pytest.fixture
def two_models(runs_file, line):
    runs = [line("refund 7", f"run {model}", ["Hello."], meta={"model": model}) for model in ("m-1", "m-2")]
    return runs_file([*runs, line("other", "1", ["Hi."], meta={"model": "m-1"})])


def test_a_report_over_two_models_is_refused_with_both_named_and_what_to_type(invoke, two_models, tmp_path):
    result = invoke("report", two_models, "--json", tmp_path / "r.json")
    assert (result.exit_code, result.stdout) == (3, "")
    (said,) = result.stderr.splitlines()
    assert all(part in said for part in ("task 'refund 7'", "m-1", "'run m-1'", "m-2", "'run m-2'", "--pool"))
    assert not (tmp_path / "r.json").exists()


def test_pooled_they_are_scored_and_the_report_warns(invoke, two_models):
    result = invoke("report", two_models, "--json", "-", "--pool")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["summary"]["valid"] == 3
    assert any("mix runs of different model" in warning for warning in report["warnings"])


def test_inspect_tells_before_a_report_refuses(invoke, two_models):
    found = json.loads(invoke("inspect", two_models, "--json").stdout)
    assert [(row["task_id"], row["fact"]) for row in found["mixed"]] == [("refund 7", "model")]
    assert "a report refuses them" in " ".join(invoke("inspect", two_models).stdout.split())
