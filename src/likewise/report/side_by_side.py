"""The runs of one task side by side: what each saw and did at each turn, and whom it contradicts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from likewise.core.labels import Relation
from likewise.core.rollout import Observation, Rollout, StopReason, ToolCall
from likewise.core.state_text import action_text
from likewise.report.text import TEXT_CAP, Clipped, clip, one_line, visible
from likewise.scoring.results import GroupScore

__all__ = ["Cell", "Seen", "ShownCall", "TurnRow", "observation_cap", "turn_rows"]

_BUDGET, _PER_CELL, _LEAST = 2_000_000, 350, 80
"""Characters that the grids of one report may take, what a cell takes besides its texts, and what an observation keeps.

Actions are shown first; the longest observations are shortened, with a note, until all fit.
"""
_COLOURS = 7


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation: who said it, its beginning on one line, and all of it."""

    source: str
    snippet: str
    text: Clipped


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One tool call."""

    name: str
    arguments: Clipped


@dataclass(frozen=True, slots=True)
class Cell:
    """One run at one turn.

    Attributes:
        state: "acted", "ended" (by itself, before this turn) or "cut" (from outside: not measured).
        letter: Name of the equivalence class at this turn, A for the first; empty where not measured.
        colour: Number of the class colour, from 1; 0 for none.
        same_as: Run that saw exactly the same at this turn, shown there.
        contradicts: Runs whose action at this turn contradicts this one.
    """

    state: str
    letter: str = ""
    colour: int = 0
    same_as: str = ""
    seen: tuple[Seen, ...] = ()
    text: Clipped | None = None
    calls: tuple[ShownCall, ...] = ()
    contradicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn of all runs."""

    turn: int
    distance: float | None
    fork: bool
    cells: tuple[Cell, ...]


def observation_cap(tasks: Iterable[GroupScore]) -> int:
    """Length at which observations are shortened so that all of a report's fit its budget (levelled from above)."""
    tasks = list(tasks)
    actions = [turn.action for task in tasks for run in task.valid for turn in run.turns]
    lengths = sorted(len(one.text) for task in tasks for _, seen in _distinct(task) for one in seen)
    left = max(0, _BUDGET - sum(_PER_CELL + min(len(action_text(action)), TEXT_CAP) for action in actions))
    for i, length in enumerate(lengths):
        share = left // (len(lengths) - i)
        if length > share:
            return min(TEXT_CAP, max(share, _LEAST))
        left -= length
    return TEXT_CAP


def _distinct(task: GroupScore) -> set[tuple[int, tuple[Observation, ...]]]:
    """What the grid shows: at each turn, each sequence of observations once."""
    return {(i, turn.observations) for run in task.valid for i, turn in enumerate(run.turns)}


def turn_rows(task: GroupScore, cap: int) -> list[TurnRow]:
    """The grid of a task: a row for each turn that a run took or a score knows."""
    runs = task.valid
    distances = {score.turn: score.mean_distance for score in task.turns}
    clashes = _clashes(task)
    turns = max((len(run.turns) for run in runs), default=0)
    fork = task.first_fork.turn if task.first_fork else -1
    rows = []
    for turn in range(max(turns, fork + 1)):
        labels = task.classes[turn] if turn < len(task.classes) else (-1,) * len(runs)
        first_seen: dict[tuple[Observation, ...], str] = {}
        cells = [_cell(run, turn, labels[i], clashes.get((turn, i), ()), first_seen, cap) for i, run in enumerate(runs)]
        rows.append(TurnRow(turn, distances.get(turn), turn == fork, tuple(cells)))
    return rows


def _clashes(task: GroupScore) -> dict[tuple[int, int], tuple[str, ...]]:
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for pair in task.pairs:
        if pair.relation is Relation.CONTRADICTORY:
            found[pair.turn, pair.first].append(one_line(task.valid[pair.second].run_id, 60))
            found[pair.turn, pair.second].append(one_line(task.valid[pair.first].run_id, 60))
    return {place: tuple(runs) for place, runs in found.items()}


def _cell(
    run: Rollout,
    turn: int,
    label: int,
    contradicts: tuple[str, ...],
    first_seen: dict[tuple[Observation, ...], str],
    cap: int,
) -> Cell:
    letter = _letter(label) if label >= 0 else ""
    colour = label % _COLOURS + 1 if label >= 0 else 0
    if turn >= len(run.turns):
        cut = run.stop is StopReason.CUT
        return Cell("cut") if cut else Cell("ended", letter, colour)
    observations, action = run.turns[turn].observations, run.turns[turn].action
    same_as = first_seen.setdefault(observations, run.run_id) if observations else run.run_id
    return Cell(
        "acted",
        letter,
        colour,
        same_as="" if same_as == run.run_id else one_line(same_as, 60),
        seen=_seen(observations, cap) if same_as == run.run_id else (),
        text=clip(action.text, preview=320) if action.text.strip() else None,
        calls=tuple(_call(call) for call in action.tool_calls),
        contradicts=contradicts,
    )


def _letter(label: int) -> str:
    return chr(ord("A") + label) if label < 26 else f"A{label - 25}"


def _seen(observations: Sequence[Observation], cap: int) -> tuple[Seen, ...]:
    shown = []
    for one in observations:
        source = one_line(f"{one.source} {one.name}" if one.name else one.source, 60)
        whole = visible(one.text).strip()
        text = Clipped(whole[:cap], "", max(0, len(whole) - cap))
        shown.append(Seen(source, one_line(whole, 44), text))
    return tuple(shown)


def _call(call: ToolCall) -> ShownCall:
    arguments = call.arguments
    words = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    return ShownCall(one_line(call.name, 120), clip(words, preview=240))
