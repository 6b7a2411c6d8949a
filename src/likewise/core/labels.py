"""What a judge says of two texts, and the same for every pair and turn of a group, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from jaxtyping import Float32, Int, Int8

__all__ = ["NOT_MEASURED", "UNCERTAIN_BELOW", "Entailment", "Judgement", "PairLabels", "Relation"]

NOT_MEASURED = -1
"""Stands in label arrays where no relation was measured."""
UNCERTAIN_BELOW = 0.6
"""Confidence below which a judgement is listed as uncertain, unless the user says otherwise."""


class Relation(IntEnum):
    """How two actions relate; symmetric."""

    EQUIVALENT = 0
    NEUTRAL = 1
    CONTRADICTORY = 2


class Entailment(IntEnum):
    """What a premise says of a hypothesis; directed. The order of class probabilities everywhere."""

    ENTAILS = 0
    NEUTRAL = 1
    CONTRADICTS = 2


@dataclass(frozen=True, slots=True)
class Judgement:
    """The relation of two texts or actions, and how it came about.

    Attributes:
        relation: The verdict that distances are made of.
        forward: Probabilities of (entails, neutral, contradicts) with the first as premise.
        backward: The same with the second as premise.
        rule: What decided: "identical", "nli", "llm", or the name of a rule ("tool:same-object-write", "slots:value").
        answers: What the judge said in its own words, one text a reading; empty where it has no words. Evidence, not
            part of the judgement: two judgements that differ in nothing else are equal.
    """

    relation: Relation
    forward: tuple[float, float, float]
    backward: tuple[float, float, float]
    rule: str
    answers: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def certain(cls, relation: Relation, rule: str) -> Judgement:
        """A judgement by rule: all probability on one class, in both directions."""
        one_hot = tuple(1.0 if i == relation else 0.0 for i in range(3))
        probabilities = (one_hot[0], one_hot[1], one_hot[2])
        return cls(relation, probabilities, probabilities, rule)

    @classmethod
    def from_nli(
        cls, forward: tuple[float, float, float], backward: tuple[float, float, float], rule: str = "nli"
    ) -> Judgement:
        """Both directions of an NLI model; Def. 1: contradiction in either direction wins, then mutual entailment."""
        labels = {int(np.argmax(forward)), int(np.argmax(backward))}
        if Entailment.CONTRADICTS in labels:
            relation = Relation.CONTRADICTORY
        elif labels == {Entailment.ENTAILS}:
            relation = Relation.EQUIVALENT
        else:
            relation = Relation.NEUTRAL
        return cls(relation, forward, backward, rule)

    @property
    def flipped(self) -> Judgement:
        """The same judgement with first and second exchanged."""
        return Judgement(self.relation, self.backward, self.forward, self.rule, self.answers)

    @property
    def confidence(self) -> float:
        """Probability of the stated relation, from the probabilities of both directions.

        Contradiction is one fact read from two sides: the larger of its two probabilities. Equivalence needs both
        directions to entail: the smaller of those. Neutral is the rest. The three sum to 1, and they are the ones that
        the soft distance is made of (metrics.nli_distance). A judgement by rule has confidence 1.

        Returns:
            A number in [0, 1]. It is as good as the judge's probabilities are: for a calibrated judge, the share of
            such judgements that are right. It may be below 1/3 where the two directions pull apart.
        """
        contradictory = min(max(self.forward[Entailment.CONTRADICTS], self.backward[Entailment.CONTRADICTS], 0.0), 1.0)
        both_entail = min(self.forward[Entailment.ENTAILS], self.backward[Entailment.ENTAILS])
        equivalent = min(max(both_entail, 0.0), 1.0 - contradictory)
        return (equivalent, 1.0 - contradictory - equivalent, contradictory)[self.relation]


@dataclass(frozen=True, slots=True)
class PairLabels:
    """Relations of all pairs of a group at all turns where both rollouts act.

    Where a rollout has ended or was cut there is no action to judge: `relation` is NOT_MEASURED and the
    probabilities are NaN. What such a turn counts as is the length policy's business (metrics.divergence).
    """

    pairs: Int[np.ndarray, "pairs 2"]
    relation: Int8[np.ndarray, "pairs turns"]
    forward: Float32[np.ndarray, "pairs turns 3"]
    backward: Float32[np.ndarray, "pairs turns 3"]
    rule: tuple[tuple[str | None, ...], ...]
    """What decided each cell, by pair and turn; None where not measured."""
