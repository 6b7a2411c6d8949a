"""The fork tree: runs of one task as lines that stay together while they act alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from likewise.core.rollout import Rollout, StopReason
from likewise.report.text import middle, one_line
from likewise.report.words import outcome
from likewise.scoring.results import Fork, GroupScore

__all__ = ["Bundle", "bundles", "fork_tree"]

Bundle = tuple[int, ...]
"""Valid-run indices that have been in one class at every turn so far."""

_LEFT, _TOP, _SLOT, _LABEL, _GAP = 22.0, 34.0, 24.0, 300.0, 4.0


def bundles(classes: Sequence[Sequence[int]], lengths: Sequence[int]) -> list[list[Bundle]]:
    """Which runs are still together at each turn, largest bundle first; a bundle never grows.

    A run whose turn was not measured stays with the largest bundle while it still acts, and stands alone after its
    end or cut.
    """
    together: list[Bundle] = [tuple(range(len(lengths)))] if lengths else []
    history = []
    for turn, labels in enumerate(classes):
        together = [part for bundle in together for part in _split(bundle, turn, labels, lengths)]
        history.append(together)
    return history


def _split(bundle: Bundle, turn: int, labels: Sequence[int], lengths: Sequence[int]) -> list[Bundle]:
    parts: dict[int, list[int]] = {}
    loose = []
    for run in bundle:
        if labels[run] >= 0:
            parts.setdefault(labels[run], []).append(run)
        elif turn < lengths[run]:
            loose.append(run)
    if loose:
        (max(parts.values(), key=len) if parts else parts.setdefault(0, [])).extend(loose)
    alone = [(run,) for run in bundle if labels[run] < 0 and turn >= lengths[run]]
    return sorted((tuple(sorted(part)) for part in parts.values()), key=lambda part: (-len(part), part)) + alone


@dataclass(frozen=True, slots=True)
class _Frame:
    turns: int
    step: float

    def x(self, turn: float) -> float:
        return _LEFT + turn * self.step

    @property
    def end(self) -> float:
        return self.x(self.turns) + 40


def fork_tree(task: GroupScore) -> Markup:
    """Draw the tree: turns from left to right, a line for each run, coloured by how the run came out."""
    runs = task.valid
    history = bundles(task.classes, [len(run.turns) for run in runs])
    turns = len(history)
    frame = _Frame(turns, min(64.0, max(20.0, 640 / max(turns, 1))))
    order = [run for bundle in (history[-1] if history else [tuple(range(len(runs)))]) for run in bundle]
    slots = {run: _TOP + _SLOT * (i + 0.5) for i, run in enumerate(order)}
    width, height = frame.end + _LABEL, _TOP + _SLOT * len(runs) + 8
    body = [*_ticks(frame, height), *_fork_mark(task.first_fork, frame, height)]
    for i, run in enumerate(runs):
        heights = [_height(i, part, slots) for part in history] + [slots[i]]
        body.append(_run(run, heights, frame, slots[i]))
    title = f"Fork tree of {len(runs)} runs over {turns} turns" + _fork_words(task.first_fork)
    opening = Markup('<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">')
    inner = Markup("<title>{}</title>{}</svg>").format(title, Markup("").join(body))
    return opening.format(width, height, title) + inner


def _fork_words(fork: Fork | None) -> str:
    if fork is None:
        return "; they never part"
    return f"; first fork at turn {fork.turn}, {fork.kind.value}, by {fork.cause.value}"


def _height(run: int, parts: Sequence[Bundle], slots: dict[int, float]) -> float:
    """Height of a run's line: the middle of its bundle, its lines side by side."""
    bundle = sorted(next(part for part in parts if run in part), key=lambda member: slots[member])
    middle_y = sum(slots[member] for member in bundle) / len(bundle)
    return middle_y + (bundle.index(run) - (len(bundle) - 1) / 2) * _GAP


def _ticks(frame: _Frame, height: float) -> list[Markup]:
    every = max(1, -(-26 // int(frame.step)))
    label = Markup('<text x="{:.1f}" y="12" class="tick mid">{}</text>')
    line = Markup('<line x1="{0:.1f}" y1="18" x2="{0:.1f}" y2="{1:.1f}" class="grid"/>')
    marks = [line.format(frame.x(turn), height - 6) for turn in range(frame.turns + 1)]
    return marks + [label.format(frame.x(turn + 0.5), turn) for turn in range(0, frame.turns, every)]


def _fork_mark(fork: Fork | None, frame: _Frame, height: float) -> list[Markup]:
    if fork is None:
        return []
    line = Markup('<line x1="{0:.1f}" y1="16" x2="{0:.1f}" y2="{1:.1f}" class="fork-line"/>')
    note = Markup('<text x="{:.1f}" y="12" class="fork-note">first fork: turn {}, {}, by {}</text>')
    words = note.format(frame.end, fork.turn, fork.kind.value, fork.cause.value)
    return [line.format(frame.x(fork.turn), height - 4), words]


def _path(heights: Sequence[float], start: int, stop: int, frame: _Frame) -> str:
    """One run's line through the turns from `start` to `stop`; it moves to a new height at the start of a turn."""
    parts = [f"M{frame.x(start):.1f} {heights[max(start - 1, 0)] if start else heights[0]:.1f}"]
    y = heights[max(start - 1, 0)]
    for turn in range(start, stop):
        x, new = frame.x(turn), heights[turn]
        if abs(new - y) > 0.01:
            bend = min(frame.step, 40) * 0.5
            parts.append(f"C{x + bend:.1f} {y:.1f} {x + bend:.1f} {new:.1f} {x + 2 * bend:.1f} {new:.1f}")
        parts.append(f"H{frame.x(turn + 1):.1f}")
        y = new
    return " ".join(parts)


def _run(run: Rollout, heights: Sequence[float], frame: _Frame, slot: float) -> Markup:
    length = min(len(run.turns), frame.turns)
    came_out = {True: "o-good", False: "o-bad", None: "o-unknown"}[run.success]
    last = heights[max(length - 1, 0)]
    cut = run.stop is StopReason.CUT
    leader = _path(heights, length, frame.turns, frame)
    y = heights[frame.turns - 1] if frame.turns and length < frame.turns else last
    x = frame.x(frame.turns)
    leader += f" M{x:.1f} {y:.1f} C{x + 16:.1f} {y:.1f} {x + 16:.1f} {slot:.1f} {x + 32:.1f} {slot:.1f}"
    end = Markup(
        '<path d="M{0:.1f} {1:.1f} v12" class="cut {2}"/>'
        if cut
        else '<circle cx="{0:.1f}" cy="{3:.1f}" r="4" class="end {2}"/>'
    )
    label = Markup(
        '<text x="{:.1f}" y="{:.1f}" class="leaf"><tspan class="{}">{}</tspan> {} '
        '<tspan class="quiet">{}</tspan></text>'
    )
    sign = "✂" if cut else {True: "✓", False: "✗", None: "?"}[run.success]
    return Markup('<g><title>{}</title><path d="{}" class="leader"/><path d="{}" class="run {}"/>{}{}</g>').format(
        f"{one_line(run.run_id, 200)}: {outcome(run)} after {len(run.turns)} turns",
        leader,
        _path(heights, 0, length, frame),
        came_out,
        end.format(frame.x(length), last - 6, came_out, last),
        label.format(frame.end, slot + 4, came_out, sign, middle(run.run_id, 30), outcome(run)),
    )
