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
        "files": [{"path": "a.json", "format": "tau2"}, {"path": "b.jsonl", "format": "native"}],
        "tasks": 2,
        "rollouts": 3,
        "valid": 2,
        "turns": 3,
        "tool_calls": 6,
        "tasks_without_valid": ["u"],
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
