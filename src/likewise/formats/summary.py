"""What a reading found, as one JSON object: the answer of `likewise inspect FILE --json`."""

from __future__ import annotations

from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.formats.rollout_set import RolloutSet

__all__ = ["SCHEMA", "summarise"]

SCHEMA = "likewise.inspect/1"


def summarise(rollout_set: RolloutSet) -> dict[str, JsonValue]:
    """Count what was read, and list what will not be scored.

    Returns:
        `files`; `tasks`, `rollouts`, `valid`, `turns`, `tool_calls` (counts over all rollouts, invalid ones included);
        `tasks_without_valid` (task ids: such a task must not vanish from a denominator); `excluded` (records that could
        not be read and rollouts that failed in the harness); `warnings`.
    """
    rollouts = rollout_set.rollouts
    tasks = dict.fromkeys(rollout.task_id for rollout in rollouts)
    scored = {rollout.task_id for rollout in rollouts if rollout.valid}
    excluded = [_entry(each.task_id, each.run_id, each.reason, each) for each in rollout_set.excluded]
    excluded += [_entry(each.task_id, each.run_id, each.problem, each) for each in rollouts if not each.valid]
    return {
        "schema": SCHEMA,
        "files": [{"path": path, "format": name} for path, name in rollout_set.files],
        "tasks": len(tasks),
        "rollouts": len(rollouts),
        "valid": sum(rollout.valid for rollout in rollouts),
        "turns": sum(len(rollout.turns) for rollout in rollouts),
        "tool_calls": sum(len(action.tool_calls) for rollout in rollouts for action in rollout.actions),
        "tasks_without_valid": [task for task in tasks if task not in scored],
        "excluded": excluded,
        "warnings": list(rollout_set.warnings),
    }


def _entry(task_id: str | None, run_id: str | None, reason: str | None, source: Rollout | Excluded) -> JsonValue:
    line, pointer = (source.line, source.pointer) if isinstance(source, Excluded) else (None, None)
    entry: dict[str, JsonValue] = {"task_id": task_id, "run_id": run_id, "reason": reason, "path": source.path}
    return entry | {"line": line, "pointer": pointer}
