"""Where the runs of a group first part, in what way, and who made them part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from likewise.core.group import RolloutGroup
from likewise.core.labels import Relation
from likewise.core.rollout import Action, Observation
from likewise.core.state_text import action_text, observation_text
from likewise.metrics.forks import divergence_behind_fork
from likewise.scoring.label import ActionLabels
from likewise.scoring.results import Fork, ForkCause, ForkKind

__all__ = ["describe_fork", "observation_pairs"]

LOOK_AHEAD = 5
"""Turns within which the other run must do the same for a difference to count as one of order."""


class _Texts(dict[Observation, str]):
    """Canonical texts of observations: each stands in as many pairs as there are other runs."""

    def __missing__(self, observation: Observation) -> str:
        text = self[observation] = observation_text(observation)
        return text


def _parted(group: RolloutGroup, classes: Int[np.ndarray, "turns runs"], turn: int) -> list[tuple[int, int]]:
    at = classes[turn]
    return [(i, j) for i, j in group.pairs if at[i] >= 0 and at[j] >= 0 and at[i] != at[j]]


def _seen(group: RolloutGroup, run: int, turn: int) -> list[Observation]:
    return [o for step in group.valid[run].turns[: turn + 1] for o in step.observations]


def _observed(group: RolloutGroup, i: int, j: int, turn: int, texts: _Texts) -> list[tuple[str, str]] | None:
    """Canonical texts of what two runs observed up to a turn, side by side; None where they differ in structure.

    A run that had ended before the turn is compared as far as it goes.
    """
    last = min(turn, len(group.valid[i].turns) - 1, len(group.valid[j].turns) - 1)
    a, b = _seen(group, i, last), _seen(group, j, last)
    if [o.source for o in a] != [o.source for o in b]:
        return None
    if any(x.source == "tool" and texts[x] != texts[y] for x, y in zip(a, b, strict=True)):
        return None
    return [(texts[x], texts[y]) for x, y in zip(a, b, strict=True)]


def observation_pairs(
    group: RolloutGroup, classes: Int[np.ndarray, "turns runs"], turn: int
) -> Iterator[tuple[Action, Action]]:
    """Texts of the environment that must be judged to tell the cause of a fork; none where structure tells."""
    texts = _Texts()
    observed = [_observed(group, i, j, turn, texts) for i, j in _parted(group, classes, turn)]
    differing = [[pair for pair in pairs if pair[0] != pair[1]] for pairs in observed if pairs is not None]
    if not all(differing):  # some pair of runs saw literally the same and still parted
        return
    for pairs in differing:
        yield from ((Action(a), Action(b)) for a, b in pairs)


def _cause(group: RolloutGroup, classes: Int[np.ndarray, "turns runs"], turn: int, labels: ActionLabels) -> ForkCause:
    """AGENT if two runs that parted had seen the same in substance: then only the agent can differ."""
    texts = _Texts()
    for i, j in _parted(group, classes, turn):
        observed = _observed(group, i, j, turn, texts)
        if observed is not None and all(_same(a, b, labels) for a, b in observed):
            return ForkCause.AGENT
    return ForkCause.ENVIRONMENT


def _same(first: str, second: str, labels: ActionLabels) -> bool:
    if first == second:
        return True
    if not labels.asked(Action(first), Action(second)):
        return False  # another pair of runs already saw literally the same, so this one was not judged
    judgement = labels.of(Action(first), Action(second))
    return judgement is not None and judgement.relation is Relation.EQUIVALENT


def _kind(group: RolloutGroup, i: int, j: int, turn: int) -> ForkKind:
    first, second = group.valid[i].actions, group.valid[j].actions
    if turn >= len(first) or turn >= len(second):
        return ForkKind.STOPPED
    a, b = first[turn], second[turn]
    if _comes_later(a, second, turn) and _comes_later(b, first, turn):
        return ForkKind.ORDER
    if bool(a.tool_calls) != bool(b.tool_calls):
        return ForkKind.TOOL
    if not a.tool_calls:
        return ForkKind.CLAIM
    same_tools = Counter(c.name for c in a.tool_calls) == Counter(c.name for c in b.tool_calls)
    if not same_tools:
        return ForkKind.TOOL
    same_calls = action_text(Action("", a.tool_calls)) == action_text(Action("", b.tool_calls))
    return ForkKind.CLAIM if same_calls else ForkKind.ARGUMENT


def _comes_later(action: Action, actions: tuple[Action, ...], turn: int) -> bool:
    text = action_text(action)
    return any(action_text(later) == text for later in actions[turn + 1 : turn + 1 + LOOK_AHEAD])


def describe_fork(
    group: RolloutGroup,
    classes: Int[np.ndarray, "turns runs"],
    turn: int,
    labels: ActionLabels,
    turn_distance: Float[np.ndarray, "pairs turns"],
    gamma: float,
) -> Fork:
    """The fork at `turn`; its kind compares first members of the two largest classes."""
    at = classes[turn]
    members: dict[int, list[int]] = {}
    for run, label in enumerate(at.tolist()):
        if label >= 0:
            members.setdefault(label, []).append(run)
    by_size = sorted(members.values(), key=lambda runs: (-len(runs), runs[0]))
    pairs = np.array(list(combinations(range(len(group.valid)), 2)))
    return Fork(
        turn=turn,
        kind=_kind(group, by_size[0][0], by_size[1][0], turn),
        cause=_cause(group, classes, turn, labels),
        classes=tuple(tuple(group.valid[run].run_id for run in runs) for runs in by_size),
        share_behind=divergence_behind_fork(turn_distance, pairs, at, turn, gamma),
    )
