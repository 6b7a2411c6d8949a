"""`likewise report` on small runs: the numbers and the names that others rely on, and inputs at the edge."""

import json

import pytest

SAME = {task: {"1": ["Hello.", "It is cancelled."], "2": ["Hello.", "It is cancelled."]} for task in ("a", "b")}
APART = {"t": {"1": ["Hello.", "Your trip is cancelled."], "2": ["Hello.", "I have called a colleague of mine."]}}
ESTIMATES = ("success_rate", "rsd", "rsd_normalised", "aligned_rsd", "total_variance")

pytestmark = pytest.mark.model


@pytest.fixture
def measure(invoke):
    """The JSON report of runs; standard output holds nothing else."""

    def _measure(*paths, code=0):
        result = invoke("report", *paths, "--json", "-")
        assert result.exit_code == code, result.stderr
        return json.loads(result.stdout)

    return _measure


def test_identical_runs_have_rsd_zero_and_ask_no_model(measure, runs_file):
    report = measure(runs_file(SAME))
    assert report["judge_use"]["from_model"] == 0
    assert report["summary"]["rsd"]["value"] == 0.0
    assert [task["rsd"]["value"] for task in report["tasks"]] == [0.0, 0.0]
    assert [task["first_fork"] for task in report["tasks"]] == [None, None]


def test_the_names_that_others_rely_on_are_there(measure, runs_file, line):
    lines = [line(task, run, texts) for task, runs in APART.items() for run, texts in runs.items()]
    report = measure(runs_file([*lines, line("t", "3", [], stop="invalid", problem="no answer", success=None)]))
    assert {"schema", "signature", "summary", "tasks", "excluded", "judge_use"} <= report.keys()
    assert report["schema"] == "likewise.report/1"
    summary = report["summary"]
    assert (summary["tasks"], summary["rollouts"], summary["valid"]) == (1, 3, 2)
    assert {"value", "low", "high"} <= summary["rsd"].keys()
    for name in ("pass_hat_k", "pass_at_k"):
        assert {k: estimate["value"] for k, estimate in summary[name].items()} == {"1": 1.0, "2": 1.0}
    (task,) = report["tasks"]
    assert (task["task_id"], task["rollouts"], task["valid"]) == ("t", 3, 2)
    assert all("value" in task[name] for name in ESTIMATES)
    assert isinstance(task["contradictions"], dict)
    assert "first_fork" in task
    assert report["excluded"] == [
        {"task_id": "t", "run_id": "3", "reason": "no answer"} | report["excluded"][0] for _ in range(1)
    ]


def test_a_fork_says_when_how_by_whom_and_into_what(measure, runs_file, line):
    runs = [("1", "get"), ("2", "delete")]
    calls = [
        line("t", run, [], turns=[{"action": {"tool_calls": [{"name": tool, "arguments": {"id": 1}}]}}])
        for run, tool in runs
    ]
    fork = measure(runs_file(calls))["tasks"][0]["first_fork"]
    assert {"turn", "kind", "cause", "classes"} <= fork.keys()
    assert (fork["turn"], fork["kind"], fork["cause"], fork["classes"]) == (0, "tool", "agent", [["1"], ["2"]])


def test_one_run_no_turns_and_only_invalid_runs_are_reasons_not_numbers(measure, runs_file, line):
    broken = {"stop": "invalid", "problem": "infra", "success": None}
    lines = [line("zero", "1", []), line("zero", "2", []), line("single", "1", ["Hi."])]
    report = measure(runs_file([*lines, *(line("broken", run, ["a"], **broken) for run in "12")]))
    tasks = {task["task_id"]: task for task in report["tasks"]}
    for name in ("single", "broken"):
        assert tasks[name]["rsd"]["value"] is None
        assert tasks[name]["rsd"]["reason"]
    assert tasks["zero"]["total_variance"]["value"] is None
    # A run without a turn is no run of an agent: it is shown with the broken ones, and agrees with nobody.
    left_out = [(each["task_id"], each["run_id"]) for each in report["excluded"]]
    assert left_out == [("zero", "1"), ("zero", "2"), ("broken", "1"), ("broken", "2")]


def test_only_invalid_runs_are_a_report_without_numbers(invoke, measure, runs_file, line):
    broken = {"stop": "invalid", "problem": "infra", "success": None}
    path = runs_file([line("t", run, ["a"], **broken) for run in "12"])
    assert measure(path, code=3)["summary"]["rsd"]["value"] is None
    assert invoke("report", path).exit_code == 3


def test_nul_and_lone_surrogates_go_through_every_output(invoke, runs_file, line, tmp_path):
    text = "a\x00b\ud800 \u202e"
    path = runs_file([line(f"t{text}", f"{run}{text}", [text, f"{text}{run}"]) for run in "12"])
    result = invoke("report", path, "--json", tmp_path / "o.json", "--html", tmp_path / "o.html")
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "o.json").read_text())["tasks"][0]["task_id"] == f"t{text}"
    assert "\x00" not in (tmp_path / "o.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_message_too_long_to_judge_is_a_reason(measure, runs_file):
    runs = runs_file({"t": {run: [f"{run} {'word ' * 210_000}{run}"] for run in ("one", "two")}})
    report = measure(runs, code=4)  # there is no other pair
    assert report["tasks"][0]["rsd"]["value"] is None
    assert report["warnings"] == ["1 pair(s) not measured: a text of over 50,000 characters is a dump, not an action"]


@pytest.mark.slow
def test_two_identical_runs_of_ten_thousand_turns(measure, runs_file):
    texts = [f"step {turn}" for turn in range(10_000)]
    report = measure(runs_file({"t": {"1": texts, "2": texts}}))
    assert (report["tasks"][0]["rsd"]["value"], report["judge_use"]["from_model"]) == (0.0, 0)


def test_both_files_are_written_and_named_on_standard_error(invoke, runs_file, tmp_path):
    out, page = tmp_path / "o.json", tmp_path / "o.html"
    out.write_text("old")
    result = invoke("report", runs_file(SAME), "--json", out, "--html", page)
    assert result.exit_code == 0
    assert result.stderr == f"likewise: wrote {out} and {page}\n"
    assert json.loads(out.read_text())["schema"] == "likewise.report/1"
    assert page.read_text().lower().startswith("<!doctype html>")
    assert not list(tmp_path.glob(".likewise-*"))


def test_quiet_is_quiet(invoke, runs_file, tmp_path):
    result = invoke("report", runs_file(SAME), "--quiet", "--json", tmp_path / "o.json")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_nothing_is_written_where_one_of_two_reports_fails(invoke, runs_file, tmp_path, monkeypatch):
    def fail(evaluation):
        raise RuntimeError("no page")

    monkeypatch.setattr("likewise.report.html.render_html", fail)
    result = invoke("report", runs_file(SAME), "--json", tmp_path / "o.json", "--html", tmp_path / "o.html")
    assert result.exit_code == 70
    assert "internal error: RuntimeError: no page" in result.stderr
    assert "Traceback" not in result.output
    assert not list(tmp_path.glob("o.*"))


def test_two_files_give_the_numbers_of_one(measure, runs_file):
    one = measure(runs_file(APART))
    halves = [runs_file({"t": {run: texts}}, f"{run}.jsonl") for run, texts in APART["t"].items()]
    two = measure(*halves)
    assert two["summary"] == one["summary"]
    for report in (one, two):
        for run in report["tasks"][0]["runs"]:
            del run["path"]
    assert two["tasks"] == one["tasks"]


def test_judge_eval_prints_a_table_or_json(invoke, tmp_path, monkeypatch):
    row = {"premise": "It rains.", "hypothesis": "It rains.", "label": "entailment", "kind": "[bold]same[/x]"}
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert json.loads(invoke("judge-eval", path, "--json").stdout)["schema"] == "likewise.judge-eval/1"
    assert "[bold]same[/x]" in invoke("judge-eval", path).stdout
