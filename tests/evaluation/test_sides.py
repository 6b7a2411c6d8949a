"""Sides of a comparison: from an evaluation, and from the JSON report of the same."""

import json

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import StopReason
from likewise.evaluation.sides import FIGURES, Scores, is_report, read_side, side_of
from likewise.report.as_json import evaluation_as_json
from report_factory import evaluation, rollout, task
from sides_factory import figures


@pytest.fixture
def report(tmp_path):
    """Write an evaluation, or any text, as a report."""

    def _write(content, name="report.json"):
        path = tmp_path / name
        text = content if isinstance(content, str) else json.dumps(evaluation_as_json(content), indent=2)
        path.write_text(text, encoding="utf-8")
        return path

    return _write


def test_a_report_read_back_is_the_side_of_its_evaluation(report):
    runs = [rollout("a", str(i), ["hi", "bye" if i else "no"], success=i > 1) for i in range(4)]
    runs.append(rollout("a", "x", [], success=None, problem="infra", stop=StopReason.INVALID))
    whole = evaluation([task("a", runs), task("b", rsd=None, success=None)])
    path = report(whole)
    assert is_report(path)
    read, made = read_side(path), side_of(whole, str(path))
    assert read.tasks.keys() == made.tasks.keys()
    for name, figures_made in made.tasks.items():
        figures_read = read.tasks[name]
        for field in (
            "rollouts",
            "valid",
            "judged",
            "contradictory",
            "outcomes",
            "rewards",
            "alike",
            "partly_measured",
        ):
            assert getattr(figures_read, field) == getattr(figures_made, field), field
        assert figures_read.rsd.value == figures_made.rsd.value
        assert (figures_read.rsd.low, figures_read.rsd.stderr) == (figures_made.rsd.low, figures_made.rsd.stderr)
    assert read.signature["gamma"] == made.signature["gamma"]
    assert read.files == ("runs.json",)


def test_figures_by_hand():
    one = figures("t", 1.5, (True, True, True, False), contradictory=2, judged=8)
    values = {name: figure.value(one, 2, Scores.OUTCOME) for name, figure in FIGURES.items()}
    assert values == {
        "rsd": 1.5,
        "aligned_rsd": 1.5,
        "total_variance": 0.5,
        "contradiction_share": 0.25,
        "success_rate": 0.75,
        "pass_hat_k": 0.5,
        "cv": pytest.approx(0.5 / 0.75),
    }
    assert FIGURES["success_rate"].noise(one) == pytest.approx(0.75 * 0.25 / 3)
    assert FIGURES["rsd"].noise(one) == pytest.approx(0.01)
    assert FIGURES["pass_hat_k"].noise(one) is None


def test_what_is_missing_has_a_reason():
    bare = figures("t", None, (), judged=0, rewards=None)
    assert FIGURES["rsd"].value(bare, 1, Scores.OUTCOME) == "one valid rollout"
    assert FIGURES["success_rate"].value(bare, 1, Scores.OUTCOME) == "no outcome is known"
    assert "pass^2 needs 2" in FIGURES["pass_hat_k"].value(bare, 2, Scores.OUTCOME)
    assert FIGURES["contradiction_share"].value(bare, 1, Scores.OUTCOME) == "no pair of actions was judged"
    assert FIGURES["cv"].value(bare, 1, Scores.OUTCOME) == "a run has no outcome"


def test_other_files_are_no_reports(report, tmp_path):
    assert is_report(report('{"schema":"likewise.report/1","tasks":[]}'))  # written anew without spaces
    assert not is_report(report('{"schema": "likewise.rollout/1", "task_id": "t"}\n'))
    assert not is_report(report('{"schema": "likewise.compare/1"}'))
    assert not is_report(tmp_path)
    assert not is_report(tmp_path / "gone.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("signature"), "lacks the field 'signature'"),
        (lambda r: r["tasks"][0].pop("rsd"), "lacks the field 'rsd'"),
        (lambda r: r["tasks"][0]["rsd"].update(value="much"), "is not as likewise writes it"),
        (lambda r: r["tasks"][0]["rsd"].update(value=1e999), "is not as likewise writes it"),
        (lambda r: r["tasks"][0]["contradictions"].update(contradictory=99), "99 of"),
        (lambda r: r["tasks"][0].update(task_id=7), "a task id is text"),
        (lambda r: r["tasks"].append(r["tasks"][0]), "stands twice"),
        (lambda r: r["tasks"][0].update(runs="none"), "is not as likewise writes it"),
        (lambda r: r.update(tasks=[None]), "is not as likewise writes it"),
        (lambda r: r.update(schema="likewise.report/9"), "no report"),
    ],
)
def test_a_report_that_was_edited_is_refused_with_the_place(report, change, message):
    record = evaluation_as_json(evaluation())
    change(record)
    with pytest.raises(RolloutFormatError, match=message) as caught:
        read_side(report(json.dumps(record)))
    assert "report.json" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"schema": "likewise.report/1"', "[" * 100_000])
def test_what_is_no_json_report_is_refused(report, text):
    with pytest.raises(RolloutFormatError):
        read_side(report(text))


def test_a_report_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "report.json"
    with path.open("wb") as file:
        file.truncate(2**30 + 1)  # a hole: takes no space
    with pytest.raises(RolloutFormatError, match="over 1,073,741,824 bytes is not read"):
        read_side(path)


def test_an_estimate_without_interval_stays_one_and_keeps_its_reason(report):
    data = evaluation_as_json(evaluation())
    data["tasks"][0]["rsd"] = {"value": 1.5, "low": None, "high": None, "stderr": 0.25, "reason": "two runs"}
    found = next(iter(read_side(report(json.dumps(data))).tasks.values())).rsd
    assert (found.value, found.low, found.stderr, found.reason) == (1.5, None, 0.25, "two runs")
