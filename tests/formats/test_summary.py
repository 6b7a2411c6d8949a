from likewise.core.rollout import Action, Excluded, Rollout, StopReason, ToolCall, Turn
from likewise.formats import RolloutSet, summarise


def test_the_summary_counts_and_lists_both_kinds_of_excluded_records():
    turn = Turn((), Action("a", (ToolCall("f", {}), ToolCall("f", {}))))
    rollouts = (
        Rollout("t", "1", (turn, turn), path="a.json"),
        Rollout("t", "2", (turn,), stop=StopReason.CUT, path="a.json"),
        Rollout("u", "1", (), stop=StopReason.INVALID, problem="infra_error: x", path="a.json"),
    )
    excluded = (Excluded(None, None, "not JSON", "b.jsonl", 7, "/x"),)
    found = RolloutSet(rollouts, excluded, (("a.json", "tau2"), ("b.jsonl", "native")), ("careful",))
    assert summarise(found) == {
        "schema": "likewise.inspect/1",
        "files": [
            {"path": "a.json", "format": "tau2", "rollouts": 3, "valid": 2, "excluded": 0},
            {"path": "b.jsonl", "format": "native", "rollouts": 0, "valid": 0, "excluded": 1},
        ],
        "tasks": 2,
        "rollouts": 3,
        "valid": 2,
        "turns": 3,
        "tool_calls": 6,
        "valid_per_task": {"2": 1, "0": 1},
        "tasks_without_valid": ["u"],
        "mixed": [],
        "excluded": [
            {
                "task_id": None,
                "run_id": None,
                "reason": "not JSON",
                "path": "b.jsonl",
                "line": 7,
                "pointer": "/x",
            },
            {
                "task_id": "u",
                "run_id": "1",
                "reason": "infra_error: x",
                "path": "a.json",
                "line": None,
                "pointer": None,
            },
        ],
        "warnings": ["careful"],
    }


def test_tasks_that_mix_models_are_named_before_a_report_refuses_them():
    runs = tuple(Rollout("t", str(n), (), path="a.json", meta={"model": model}) for n, model in enumerate("aba"))
    found = summarise(RolloutSet(runs, (), (("a.json", "tau2"),)))
    assert found["mixed"] == [{"task_id": "t", "fact": "model", "values": ['"a"', '"b"']}]
    (warning,) = found["warnings"]
    assert warning.startswith("1 task(s) mix runs that are no repeats of one agent; a report refuses them (task 't': ")
    assert warning.endswith("model \"a\" (run '0') and \"b\" (run '1'))")


def test_what_is_excluded_inside_an_archive_counts_for_the_archive():
    excluded = (Excluded("t", "1", "not JSON", "logs/a.eval/samples/1.json"), Excluded("t", "2", "x", "other/b.json"))
    found = summarise(RolloutSet((), excluded, (("logs/a.eval", "inspect"),)))
    assert [row["excluded"] for row in found["files"]] == [1]
