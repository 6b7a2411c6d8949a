"""`likewise compare` as a user types it. No model is asked: all texts are equal, or rules tell them apart."""

import json
from xml.etree import ElementTree

import pytest

TASKS = [f"task {i}" for i in range(8)]


def call(name):
    return [{"action": {"tool_calls": [{"name": name, "arguments": {"id": 1}}]}}]


@pytest.fixture
def version(runs_file, line):
    """A file of eight tasks of four runs; `odd` of them call another tool than the rest."""

    def _write(name, odd, tasks=TASKS, **changes):
        lines = [
            line(task, str(run), [], turns=call("get_b" if run < odd else "get_a"), success=run >= odd, **changes)
            for task in tasks
            for run in range(4)
        ]
        return runs_file(lines, name)

    return _write


def test_a_worse_candidate_is_called_and_fails_the_build_where_asked(invoke, version, tmp_path):
    base, candidate = version("base.jsonl", 0), version("candidate.jsonl", 2)
    faces = {face: tmp_path / f"out.{face}" for face in ("json", "markdown", "junit", "html")}
    options = [option for face, path in faces.items() for option in (f"--{face}", path)]
    result = invoke(
        "compare", base, candidate, *options, "--metric", "rsd", "--metric", "success_rate", "--fail-on", "worse"
    )
    assert result.exit_code == 1, result.output
    assert "WORSE" in result.stdout
    assert "failed: the candidate is worse: RSD 0.00 to 0.33" in result.stderr
    data = json.loads(faces["json"].read_text())
    assert data["figures"]["rsd"]["difference"]["value"] == pytest.approx(1 / 3)
    assert data["figures"]["success_rate"]["p_value"] == 2 / 2**8
    assert ElementTree.fromstring(faces["junit"].read_text()).get("failures") == "1"
    assert faces["markdown"].read_text().startswith("### Consistency: ❌ worse")
    assert "<!doctype html>" in faces["html"].read_text()
    # Without --fail-on the same comparison ends well; and the other way round it is better.
    assert invoke("compare", base, candidate, "-q").exit_code == 0
    assert "BETTER" in invoke("compare", candidate, base).stdout


def test_a_report_stands_for_its_runs(invoke, version, tmp_path):
    base, candidate = version("base.jsonl", 0), version("candidate.jsonl", 2)
    reports = [tmp_path / f"{name}.json" for name in ("base", "candidate")]
    for path, report in zip((base, candidate), reports, strict=True):
        assert invoke("report", path, "--json", report, "-q").exit_code == 0
    whole = json.loads(invoke("compare", base, candidate, "--json", "-").stdout)
    for one, other in ((reports[0], candidate), (base, reports[1]), (reports[0], reports[1])):
        result = invoke("compare", one, other, "--json", "-")
        assert result.exit_code == 0, result.output
        found = json.loads(result.stdout)
        assert found["figures"]["rsd"] == whole["figures"]["rsd"]
        assert found["tasks"][0]["rsd_p_value"] is None  # the runs themselves were not compared
    assert whole["tasks"][0]["rsd_p_value"] is not None


def test_numbers_made_with_another_discount_are_refused(invoke, version, tmp_path):
    base = version("base.jsonl", 0)
    invoke("report", base, "--json", tmp_path / "r.json", "-q")
    result = invoke("compare", tmp_path / "r.json", base, "--gamma", "0.5")
    assert result.exit_code == 3
    assert "measured differently (gamma: 0.8 and 0.5)" in result.stderr


def test_tasks_of_one_side_are_named(invoke, version):
    result = invoke("compare", version("b.jsonl", 0, TASKS[:7]), version("c.jsonl", 0, TASKS[1:]))
    words = " ".join(result.stdout.split())
    assert "1 task only in the base, not compared: task 0" in words
    assert "1 task only in the candidate, not compared: task 7" in words


def test_a_candidate_that_lost_a_task_does_not_pass_in_silence(invoke, version):
    base, candidate = version("b.jsonl", 0), version("c.jsonl", 0, TASKS[1:])
    result = invoke("compare", base, candidate, "-q", "--fail-on", "worse")
    assert result.exit_code == 1
    assert "failed: the candidate lacks 1 task of the base: task 0" in result.stderr
    result = invoke("compare", base, candidate, "-q", "--fail-on", "worse", "--partial")
    assert result.exit_code == 0
    assert "warning: 1 task only in the base, not compared: task 0" in result.stderr
    result = invoke("compare", candidate, base, "-q", "--fail-on", "worse")
    assert result.exit_code == 0
    assert "warning: 1 task only in the candidate" in result.stderr


def test_runs_that_nobody_repeated_do_not_pass(invoke, runs_file, line):
    once = runs_file([line(task, "0", [], turns=call("get_a")) for task in TASKS])
    result = invoke("compare", once, once, "-q", "--fail-on", "worse")
    assert result.exit_code == 1
    assert "failed: RSD decides and was measured on both sides of no shared task" in result.stderr
    assert invoke("compare", once, once, "-q").exit_code == 0


def test_a_judge_that_answers_nothing_ends_with_four(invoke, runs_file, line):
    runs = runs_file([line(task, run, [f"It is {run}."]) for task in TASKS for run in ("wet", "cold")])
    address = "http://127.0.0.1:9"
    result = invoke(
        "compare", runs, runs, "-q", "--no-store", "--judge", "llm:m", "--judge-url", address, "--fail-on", "worse"
    )
    assert result.exit_code == 4, result.output


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--metric", "rds"], 2, "no figure 'rds'; there are rsd, aligned_rsd"),
        (["--fail-on", "rsd > 1"], 2, "nothing to fail on is called 'rsd > 1' (worse:"),
        (["--power", "1"], 2, "--power"),
        (["--power", "nan"], 2, "--power"),
        (["--k", "0"], 2, "--k"),
        (["--json", "out", "--html", "out"], 2, "a file of its own"),
    ],
)
def test_what_is_typed_wrongly_is_refused_before_any_work(invoke, options, code, message):
    result = invoke("compare", "gone.jsonl", "gone2.jsonl", *options)
    assert result.exit_code == code
    assert message in " ".join(result.output.split())


def test_files_that_cannot_be_read_are_named(invoke, version, tmp_path):
    base = version("base.jsonl", 0)
    result = invoke("compare", base, tmp_path / "gone.jsonl")
    assert (result.exit_code, "gone.jsonl" in result.stderr) == (3, True)
    broken = tmp_path / "broken.json"
    broken.write_text('{"schema": "likewise.report/1", "tasks": [{}]}')
    result = invoke("compare", broken, base)
    assert result.exit_code == 3
    assert "lacks the field 'signature'" in result.stderr
    assert "Traceback" not in result.output


def test_a_side_without_a_scored_run_ends_as_bad_input(invoke, version, runs_file, line):
    empty = runs_file([line("task 1", "1", [], stop="invalid", problem="infra", success=None)], "empty.jsonl")
    result = invoke("compare", version("base.jsonl", 0), empty)
    assert result.exit_code == 3
    assert "no run of" in result.stderr


def test_quiet_is_quiet(invoke, version, tmp_path):
    base = version("base.jsonl", 0)
    result = invoke("compare", base, base, "-q", "--json", tmp_path / "o.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
