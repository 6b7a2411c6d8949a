"""More runs for a set: told how many, pooled with the old ones, copies flagged, other agents refused."""

import json

import pytest


@pytest.fixture
def runs(runs_file, line):
    """Write runs of two tasks: {task: run ids}; a run whose number is odd calls another tool."""

    def _write(name, numbers, **changes):
        def turns(number):
            return [{"action": {"tool_calls": [{"name": f"get_{'ab'[number % 2]}", "arguments": {"id": 1}}]}}]

        lines = [
            line(task, f"run {n}", [], turns=turns(n), **changes) for task, listed in numbers.items() for n in listed
        ]
        return runs_file(lines, name)

    return _write


def missing(invoke, *paths):
    """How many runs each task lacks to have four."""
    result = invoke("plan", *paths, "--runs", 4, "--json")
    return {each["task_id"]: each["missing"] for each in json.loads(result.stdout)["top_up"]}


def read(invoke, *paths):
    result = invoke("report", *paths, "--json", "-")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def tasks_of(report):
    return {task["task_id"]: task for task in report["tasks"]}


def test_a_set_is_topped_up_as_the_plan_says_and_is_then_as_if_run_at_once(invoke, runs):
    old = runs("old.jsonl", {"t": [0, 1, 2], "u": [0]})
    assert missing(invoke, old) == {"t": 1, "u": 3}
    new = runs("new.jsonl", {"t": [3], "u": [1, 2, 3]})
    assert missing(invoke, old, new) == {"t": 0, "u": 0}
    pooled = tasks_of(read(invoke, old, new))
    at_once = tasks_of(read(invoke, runs("all.jsonl", {"t": [0, 1, 2, 3], "u": [0, 1, 2, 3]})))
    for task in ("t", "u"):
        assert pooled[task]["valid"] == 4
        # two runs of each kind: four of six pairs differ by half
        assert pooled[task]["rsd"] == at_once[task]["rsd"]
        assert pooled[task]["rsd"]["value"] == pytest.approx(4 / 6 * 0.5)


def test_only_pairs_with_a_new_run_are_judged(invoke, runs_file, line, tmp_path):
    texts = ["It is open.", "You may knock.", "We do not know yet.", "Please ask again."]

    def write(name, numbers):
        return runs_file([line("t", str(n), [texts[n]]) for n in numbers], name)

    old, new = write("old.jsonl", [0, 1, 2]), write("new.jsonl", [3])
    first = read(invoke, old)["judge_use"]
    both = read(invoke, old, new)["judge_use"]
    assert (first["from_model"], both["from_model"], both["from_store"]) == (3, 3, 3)


def test_runs_that_are_there_already_do_not_count_again(invoke, runs, tmp_path):
    old = runs("old.jsonl", {"t": [0, 1]})
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(old.read_bytes())
    more = runs("more.jsonl", {"t": [1, 2]})  # run 1 again, and a new one
    report = read(invoke, old, copy, more)
    assert tasks_of(report)["t"]["valid"] == 3
    reasons = [each["reason"] for each in report["excluded"]]
    assert any("duplicate of run 'run 1'" in reason for reason in reasons)
    assert any("same" in reason for reason in reasons)  # the copied file


def test_the_same_generation_under_another_name_is_flagged(invoke, runs):
    old = runs("old.jsonl", {"t": [0]}, meta={"response_ids": ["r-1"]})
    new = runs("new.jsonl", {"t": [2]}, meta={"response_ids": ["r-1"]})
    report = read(invoke, old, new)
    notes = [note for run in tasks_of(report)["t"]["runs"] for note in run["notes"]]
    assert notes == ["the same generation as run 'run 0' (same response id)"]
    assert any("same generation" in warning or "repeat" in warning for warning in report["warnings"])


def test_runs_of_another_model_are_refused_unless_pooled(invoke, runs):
    old = runs("old.jsonl", {"t": [0, 1]}, meta={"model": "one"})
    new = runs("new.jsonl", {"t": [2, 3]}, meta={"model": "two"})
    result = invoke("report", old, new)
    assert result.exit_code == 3
    assert "no repeats of one agent" in " ".join(result.stderr.split())
    assert tasks_of(read(invoke, old, new, "--pool"))["t"]["valid"] == 4
