"""`likewise plan` as a user types it."""

import json

import pytest

SAME = {"a": {"1": ["Hi."], "2": ["Hi."], "3": ["Hi."]}, "b": {"1": ["Hi."]}}


def answer(invoke, *arguments):
    result = invoke("plan", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_each_question_is_answered_and_the_others_are_null(invoke):
    data = answer(invoke, "--claim", "0.05", "--tasks", "30")
    assert data["claim"] == {"rate": 0.05, "trials": 59, "at_hand": 30, "smallest": pytest.approx(0.0950, abs=1e-4)}
    assert data["detect"] is data["stable"] is data["pass_hat"] is data["top_up"] is None
    assert answer(invoke, "--stable", "0.8")["stable"]["rows"][0] == {"dissenting": 0, "runs": 14}
    assert answer(invoke, "--pass-hat", "4", "--within", "0.1")["pass_hat"]["tasks"] == 99
    assert answer(invoke, "--detect", "0.3", "--runs", "8")["detect"]["rows"][0]["runs"] == 8


def test_modes_are_planned_for_an_agent_of_a_given_agreement(invoke):
    data = answer(invoke, "--agreement", "0.8")["modes"]
    assert data["agreement"] == 0.8
    adaptive = next(row for row in data["rows"] if row["mode"] == "adaptive")
    assert adaptive["one_other"]["runs"] == pytest.approx(2 * 0.68 + 5 * 0.32)
    assert answer(invoke, "--stable", "0.8")["modes"] is None
    words = " ".join(invoke("plan", "--agreement", "1", "--runs", "5").stdout.split())
    assert "adaptive 2 to 5 2.0 0.000 -" in words
    assert "sequential 4 to 5 4.0 0.000 0.000" in words  # as `likewise run --mode sequential -k 5` takes them
    assert "standard 5 5.0 0.000 -" in words
    few = " ".join(invoke("plan", "--agreement", "1", "--runs", "3").stdout.split())
    assert "sequential 4 to 12" in few  # three runs settle nothing: its own number stands


def test_spreads_come_from_a_report(invoke, runs_file, line, tmp_path):
    turns = {
        tool: [{"action": {"tool_calls": [{"name": tool, "arguments": {"id": 1}}]}}] for tool in ("get_a", "get_b")
    }
    lines = [
        line(task, str(run), [], turns=turns["get_b" if run < odd else "get_a"], success=run > 1)
        for odd, task in enumerate("pqrs")
        for run in range(4)
    ]
    report = tmp_path / "r.json"
    assert invoke("report", runs_file(lines), "--json", report, "-q").exit_code == 0
    data = answer(invoke, "--detect", "0.2", "--from", report, "--effect-sd", "0.1", "--figure", "success_rate")
    assert data["detect"]["source"].endswith("r.json, 4 task(s)")
    # Two of four runs of each task succeed: .25/3 a task, .3333 a run.
    assert data["detect"]["run_sd"] == pytest.approx((1 / 3) ** 0.5)


def test_runs_that_lack_more_runs_are_listed(invoke, runs_file):
    data = answer(invoke, runs_file(SAME), "--runs", "4")
    assert [(row["task_id"], row["missing"]) for row in data["top_up"]] == [("a", 1), ("b", 3)]
    result = invoke("plan", runs_file(SAME))
    assert "1 of 2 tasks lack runs for 3 valid ones each: 2 in all." in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "ask something: --detect, --pass-hat"),
        (["--pass-hat", "4"], "--pass-hat and --within belong together"),
        (["--detect", "0"], "a difference to find is positive"),
        (["--detect", "nan"], "not a finite number"),
        (["--stable", "1"], "lies in (0.5, 1)"),
        (["--agreement", "0.5"], "an agreement lies in (0.5, 1]"),
        (["--agreement", "0.9", "--runs", "1"], "at least 2"),
        (["--claim", "2"], "a failure rate lies in (0, 1)"),
        (["--detect", "0.1", "--figure", "rds"], "no figure 'rds'"),
        (["--detect", "0.1", "--figure", "cv"], "known for no benchmark"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_reason(invoke, options, message):
    result = invoke("plan", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_report_that_cannot_be_read_is_named(invoke, tmp_path):
    for name, text in (("gone.json", None), ("broken.json", "{")):
        path = tmp_path / name
        if text is not None:
            path.write_text(text)
        result = invoke("plan", "--detect", "0.1", "--from", path)
        assert (result.exit_code, name in result.stderr, "Traceback" in result.output) == (3, True, False)
