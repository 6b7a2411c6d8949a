"""What a judge says of two texts, and the same for every pair and turn of a group, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Float32, Int, Int8

__all__ = ["NOT_MEASURED", "Entailment", "Judgement", "PairLabels", "Relation"]

NOT_MEASURED = -1
"""Stands in label arrays where no relation was measured."""


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
        rule: What decided: "identical", "nli", or the name of a rule ("tool:same-object-write", "slots:value").
    """

    relation: Relation
    forward: tuple[float, float, float]
    backward: tuple[float, float, float]
    rule: str

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
        return Judgement(self.relation, self.backward, self.forward, self.rule)


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
