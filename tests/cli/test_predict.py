"""`likewise predict` as a user types it. No model is asked: rules tell the calls apart."""

import json

import pytest


def call(name):
    return [{"action": {"tool_calls": [{"name": name, "arguments": {"id": 1}}]}}]


@pytest.fixture
def runs(runs_file, line):
    """Eight tasks of four runs: of task n, as many runs as n // 2 call another tool, and as many fail."""
    lines = [
        line(f"task {n}", str(run), [], turns=call("get_b" if run < n // 2 else "get_a"), success=run >= n // 2)
        for n in range(8)
        for run in range(4)
    ]
    return runs_file(lines)


def test_the_answer_is_printed_and_written(invoke, runs, tmp_path):
    page, data = tmp_path / "p.html", tmp_path / "p.json"
    result = invoke("predict", runs, "--html", page, "--json", data)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "Of a failed and a successful run of two tasks, the failed one's task has the higher RSD in" in words
    found = {each["name"]: each for each in json.loads(data.read_text())["numbers"]}
    # All runs take one turn, so length tells nothing; two, four and six of six pairs differ where 1, 2 and 3 fail.
    assert found["turns"]["auroc"]["value"] == 0.5
    assert found["rsd"]["auroc"]["value"] > 0.5
    assert "<!doctype html>" in page.read_text()


def test_a_report_stands_for_its_runs(invoke, runs, tmp_path):
    report = tmp_path / "report.json"
    assert invoke("report", runs, "--json", report, "-q").exit_code == 0
    of_runs, of_report = (json.loads(invoke("predict", each, "--json", "-").stdout) for each in (runs, report))
    assert of_report["numbers"] == of_runs["numbers"]


def test_runs_without_outcomes_are_refused_plainly(invoke, runs_file, line):
    path = runs_file([line(f"t{n}", str(k), ["a"], success=None) for n in range(4) for k in range(2)])
    result = invoke("predict", path)
    assert result.exit_code == 3
    assert "0 task(s) have a run with a known outcome; to correlate takes at least 3" in " ".join(result.stderr.split())


def test_a_broken_report_is_refused_plainly(invoke, tmp_path):
    path = tmp_path / "report.json"
    path.write_text('{"schema": "likewise.report/1"}')
    result = invoke("predict", path)
    assert result.exit_code == 3
    assert "lacks the field 'tasks'" in " ".join(result.stderr.split())
