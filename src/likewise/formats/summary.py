"""What a reading found, as one JSON object: the answer of `likewise inspect FILE --json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from likewise.core.provenance import Mixtures
from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.formats.rollout_set import RolloutSet

__all__ = ["SCHEMA", "Tally", "summarise"]

SCHEMA = "likewise.inspect/1"


class _Read(Protocol):
    """What a reading says beside the rollouts."""

    @property
    def excluded(self) -> Sequence[Excluded]: ...

    @property
    def files(self) -> Sequence[tuple[str, str]]: ...

    @property
    def warnings(self) -> Sequence[str]: ...


@dataclass(slots=True)
class Tally:
    """Counts rollouts while they pass by; none is kept."""

    _tasks: dict[str, int] = field(default_factory=dict)  # task -> valid runs, in order of appearance
    _counts: Counter[str] = field(default_factory=Counter)
    _by_file: dict[str, Counter[str]] = field(default_factory=dict)
    _invalid: list[Excluded] = field(default_factory=list)
    _mixtures: Mixtures = field(default_factory=Mixtures)

    def add(self, rollout: Rollout) -> None:
        """Count a rollout."""
        self._tasks[rollout.task_id] = self._tasks.get(rollout.task_id, 0) + rollout.valid
        calls = sum(len(action.tool_calls) for action in rollout.actions)
        self._counts.update(rollouts=1, valid=rollout.valid, turns=len(rollout.turns), tool_calls=calls)
        self._by_file.setdefault(rollout.path, Counter()).update(rollouts=1, valid=rollout.valid)
        self._mixtures.add(rollout)
        if rollout.problem is not None:
            self._invalid.append(Excluded(rollout.task_id, rollout.run_id, rollout.problem, rollout.path))

    def summary(self, read: _Read) -> dict[str, JsonValue]:
        """What was counted, with what the reading says; ask when it is at its end."""
        runs = Counter(self._tasks.values())
        known = {path for path, _ in read.files}
        left_out = Counter(_file_of(each.path, known) for each in read.excluded)
        excluded: list[JsonValue] = [_entry(each) for each in (*read.excluded, *self._invalid)]
        files: list[JsonValue] = []
        for path, name in read.files:
            counts = self._by_file.get(path, Counter())
            row: dict[str, JsonValue] = {"path": path, "format": name, "rollouts": counts["rollouts"]}
            files.append(row | {"valid": counts["valid"], "excluded": left_out[path]})
        return {
            "schema": SCHEMA,
            "files": files,
            "tasks": len(self._tasks),
            **{key: self._counts[key] for key in ("rollouts", "valid", "turns", "tool_calls")},
            "valid_per_task": {str(count): runs[count] for count in sorted(runs, reverse=True)},
            "tasks_without_valid": [task for task, valid in self._tasks.items() if not valid],
            "mixed": [
                {"task_id": each.task_id, "fact": each.fact, "values": [value for value, _ in each.values]}
                for each in self._mixtures.found()
            ],
            "excluded": excluded,
            "warnings": [*read.warnings, *self._mixed_warning()],
        }

    def _mixed_warning(self) -> list[str]:
        found = self._mixtures.found()
        if not found:
            return []
        tasks = len({each.task_id for each in found})
        return [f"{tasks} task(s) mix runs that are no repeats of one agent; a report refuses them ({found[0]})"]


def summarise(rollout_set: RolloutSet) -> dict[str, JsonValue]:
    """Count what was read, and list what will not be scored.

    Returns:
        `files` (path, format, and how many rollouts each gave, how many of them valid, how many records were excluded);
        `tasks`, `rollouts`, `valid`, `turns`, `tool_calls` (counts over all rollouts, invalid ones included);
        `valid_per_task` (valid runs -> tasks that have so many); `tasks_without_valid` (task ids: such a task must not
        vanish from a denominator); `mixed` (tasks whose runs are of different models, agents or prompts); `excluded`
        (records that could not be read and rollouts that failed in the harness); `warnings`.
    """
    tally = Tally()
    for rollout in rollout_set:
        tally.add(rollout)
    return tally.summary(rollout_set)


def _file_of(path: str, known: set[str]) -> str:
    """The file that a path names: of a member of an archive, the archive."""
    while path not in known and "/" in path:
        path = path.rpartition("/")[0]
    return path


def _entry(each: Excluded) -> JsonValue:
    return {
        "task_id": each.task_id,
        "run_id": each.run_id,
        "reason": each.reason,
        "path": each.path,
        "line": each.line,
        "pointer": each.pointer,
    }
