"""Which two sentences of two contradictory answers clash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from likewise.backends.sentences import split_sentences
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action
from likewise.core.state_text import action_text
from likewise.scoring.label import Labeller

__all__ = ["CriticalPair", "contradiction_score", "quote_clash"]

MOST_SENTENCES = 12
"""Sentences of each side among which the clash is looked for."""


@dataclass(frozen=True, slots=True)
class CriticalPair:
    """Two runs that contradict each other, and the sentences in which they do.

    `run_i` and `run_j` are run numbers as in the audit trail; `score` is the contradiction score of the two answers,
    in [0, 1]; `rule` says what decided ("nli", or a rule for values or tool calls).
    """

    run_i: int
    run_j: int
    text_i: str
    text_j: str
    score: float
    rule: str = "nli"

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {
            "run_i": self.run_i,
            "run_j": self.run_j,
            "text_i": self.text_i,
            "text_j": self.text_j,
            "score": self.score,
            "rule": self.rule,
        }


def contradiction_score(judgement: Judgement) -> float:
    """The larger probability of contradiction of the two directions, in [0, 1]."""
    return float(min(max(judgement.forward[2], judgement.backward[2], 0.0), 1.0))


def quote_clash(first: Action, second: Action, labeller: Labeller) -> tuple[str, str]:
    """The two sentences that contradict most; the whole texts where no two sentences do, or where tools are called."""
    whole = action_text(first), action_text(second)
    if first.tool_calls or second.tool_calls:
        return whole
    sides = split_sentences(first.text)[:MOST_SENTENCES], split_sentences(second.text)[:MOST_SENTENCES]
    if max(map(len, sides)) < 2:
        return whole
    pairs = list(_crossed(*sides))
    labels = labeller.settle((Action(a), Action(b)) for a, b in pairs)
    best: tuple[float, tuple[str, str]] | None = None
    for a, b in pairs:
        judgement = labels.of(Action(a), Action(b))
        if judgement is None or judgement.relation is not Relation.CONTRADICTORY:
            continue
        score = contradiction_score(judgement)
        if best is None or score > best[0]:
            best = score, (a, b)
    return best[1] if best else whole


def _crossed(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[str, str]]:
    for a in first:
        for b in second:
            yield a, b
