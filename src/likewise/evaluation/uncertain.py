"""Pairs of actions whose relation the judge is not sure of: where to look before believing a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from likewise.core.group import RolloutGroup
from likewise.core.labels import UNCERTAIN_BELOW, Relation
from likewise.core.state_text import action_key
from likewise.scoring.label import ActionLabels

__all__ = ["SHOWN", "Uncertain", "UncertainPair", "find_uncertain"]

SHOWN = 200
"""Pairs that a result lists at most, the least sure ones; all are counted."""


@dataclass(frozen=True, slots=True)
class UncertainPair:
    """Two actions, and the first place where they stand beside each other.

    `confidence` is the probability of `relation` (core.labels.Judgement.confidence), `count` the number of places, over
    all tasks, pairs of runs and turns, that rest on this judgement.
    """

    task_id: str
    turn: int
    run_i: str
    run_j: str
    relation: Relation
    confidence: float
    rule: str
    count: int


@dataclass(frozen=True, slots=True)
class Uncertain:
    """Judgements of confidence below `below`: how many places rest on them, how many there are, and the least sure."""

    below: float = UNCERTAIN_BELOW
    total: int = 0
    distinct: int = 0
    pairs: tuple[UncertainPair, ...] = ()

    def as_json(self) -> dict[str, object]:
        """The fields by name; `pairs` is at most the 200 least sure."""
        return {
            "below": self.below,
            "total": self.total,
            "distinct": self.distinct,
            "pairs": [
                {
                    "task_id": pair.task_id,
                    "turn": pair.turn,
                    "run_i": pair.run_i,
                    "run_j": pair.run_j,
                    "relation": pair.relation.name.lower(),
                    "confidence": pair.confidence,
                    "rule": pair.rule,
                    "count": pair.count,
                }
                for pair in self.pairs
            ],
        }


def find_uncertain(groups: Iterable[RolloutGroup], labels: ActionLabels, below: float = UNCERTAIN_BELOW) -> Uncertain:
    """The time-aligned pairs of actions whose judgement is of lower confidence than `below`.

    Args:
        groups: Rollouts by task.
        labels: Judgements of their pairs; pairs that failed, or were not asked for, are not counted.
        below: Confidence from which a judgement is no longer uncertain, in [0, 1].

    Returns:
        Counts, and the least sure pairs of distinct actions, least sure first.
    """
    found: dict[tuple[str, str], UncertainPair] = {}
    for group in groups:
        for i, j in group.pairs:
            first, second = group.valid[i], group.valid[j]
            for turn, (a, b) in enumerate(zip(first.actions, second.actions, strict=False)):
                judgement = labels.of(a, b) if labels.asked(a, b) else None
                if judgement is None or judgement.confidence >= below:
                    continue
                x, y = sorted((action_key(a), action_key(b)))
                known = found.get((x, y))
                found[x, y] = (
                    replace(known, count=known.count + 1)
                    if known
                    else UncertainPair(
                        group.task_id,
                        turn,
                        first.run_id,
                        second.run_id,
                        judgement.relation,
                        round(judgement.confidence, 4),
                        judgement.rule,
                        1,
                    )
                )
    pairs = sorted(found.values(), key=lambda pair: pair.confidence)
    return Uncertain(below, sum(pair.count for pair in pairs), len(pairs), tuple(pairs[:SHOWN]))
