"""Progress of runs by a judge over grading notes: the sub-goals of a task in words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from likewise.backends.progress_judge import ProgressJudge, SubGoalQuestion
from likewise.core.errors import ConfigError, GroupError, LabelError
from likewise.core.protocols import Progress, no_progress
from likewise.core.rollout import JsonValue, Observation, Rollout
from likewise.core.state_text import action_text

__all__ = ["Graded", "grade_progress", "questions_of", "read_notes", "record_text"]

LARGEST = 2**24
"""Bytes of a file of notes that is read."""


@dataclass(frozen=True, slots=True)
class Graded:
    """The runs, those that were graded with their curve in `meta["progress"]`; how many, and what went wrong."""

    rollouts: tuple[Rollout, ...]
    graded: int
    without_notes: tuple[str, ...]
    problems: tuple[str, ...]


def read_notes(path: Path) -> dict[str, tuple[str, ...]]:
    """The notes of each task: a TOML file with a table `[notes]` of task id = list of sentences.

    Raises:
        ConfigError: The file cannot be read, or is no such file.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigError(str(path), f"over {LARGEST:,} bytes are not read")
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("notes")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ConfigError(str(path), f"cannot be read: {problem}") from None
    if not isinstance(table, dict) or not table:
        raise ConfigError(str(path), 'no table [notes], as in: "task id" = ["The booking is found.", ...]')
    for task, notes in table.items():
        if not isinstance(notes, list) or not notes or not all(isinstance(n, str) and n.strip() for n in notes):
            raise ConfigError(str(path), f"the notes of task {task!r} are no list of sentences")
    return {str(task): tuple(notes) for task, notes in table.items()}


def record_text(rollout: Rollout) -> str:
    """A run in words, turn by turn, with what the environment answered to each."""
    lines = [] if not rollout.turns else list(map(_seen, rollout.turns[0].observations))
    for number, turn in enumerate(rollout.turns, start=1):
        after = rollout.turns[number].observations if number < len(rollout.turns) else rollout.last_observations
        lines += [f"Turn {number}, the agent: {action_text(turn.action)}", *map(_seen, after)]
    return "\n".join(lines)


def _seen(observation: Observation) -> str:
    name = f" {observation.name}" if observation.name else ""
    return f"[{observation.source}{name}] {observation.text}"


def questions_of(rollouts: Iterable[Rollout], notes: Mapping[str, Sequence[str]]) -> list[SubGoalQuestion]:
    """The sub-goals there are to ask about, run by run."""
    found: list[SubGoalQuestion] = []
    for rollout in rollouts:
        sentences = notes.get(rollout.task_id, ()) if rollout.valid and rollout.turns else ()
        record = record_text(rollout) if sentences else ""
        found += [SubGoalQuestion(sentence, record, len(rollout.turns)) for sentence in sentences]
    return found


def grade_progress(
    rollouts: Iterable[Rollout],
    notes: Mapping[str, Sequence[str]],
    judge: ProgressJudge,
    progress: Progress = no_progress,
) -> Graded:
    """Give each run the share of its task's notes that it met after each turn.

    Args:
        rollouts: Recorded runs; those that failed in the harness, and of tasks without notes, stay as they are.
        notes: Sub-goals by task.
        judge: Says after which turn each was met.
        progress: Display of the judge's work.

    Raises:
        GroupError: No run is of a task with notes.
        BackendError: The endpoint does not work.
    """
    runs = tuple(rollouts)
    of_runs = [questions_of((run,), notes) for run in runs]
    asked = [(at, question.note) for at, questions in enumerate(of_runs) for question in questions]
    if not asked:
        raise GroupError("no run that can be graded is of a task with notes; task ids must be equal")
    with progress("grading sub-goals", total=len(asked)) as task:
        outcomes = judge.first_turns([each for questions in of_runs for each in questions], task.advance)
    met: dict[int, list[int | None]] = {}
    failed: dict[int, str] = {}
    for (at, note), outcome in zip(asked, outcomes, strict=True):
        if isinstance(outcome, LabelError):
            run = runs[at]
            failed[at] = f"run {run.run_id!r} of task {run.task_id!r}, note {note[:80]!r}: {outcome.problem}"
        else:
            met.setdefault(at, []).append(outcome)
    whole = {at: turns for at, turns in met.items() if at not in failed}
    return Graded(
        tuple(_with_curve(run, whole[at], judge.judge_id) if at in whole else run for at, run in enumerate(runs)),
        len(whole),
        tuple(dict.fromkeys(run.task_id for run in runs if run.task_id not in notes)),
        tuple(failed.values()),
    )


def _with_curve(run: Rollout, met: Sequence[int | None], judge_id: str) -> Rollout:
    points = range(len(run.turns) + 1)
    curve: list[JsonValue] = [sum(turn is not None and turn <= point for turn in met) / len(met) for point in points]
    return replace(run, meta={**run.meta, "progress": curve, "progress_judge": judge_id})
