"""The answers of one query, compared in pairs: relations, classes, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Int8

from likewise.core.estimate import Estimate
from likewise.core.labels import NOT_MEASURED, Entailment
from likewise.core.rollout import Action
from likewise.metrics import equivalence, total_variance
from likewise.metrics.entropy import semantic_entropy
from likewise.metrics.nli_distance import soft_distance
from likewise.metrics.resampling import pair_mean
from likewise.scoring.label import Labeller

__all__ = ["Answers", "run_pairs"]


def run_pairs(runs: int) -> Int[np.ndarray, "pairs 2"]:
    """The pairs of so many runs, in lexicographic order."""
    return np.stack(np.triu_indices(runs, k=1), axis=1)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers' relations, pair by pair.

    Attributes:
        scores: Contradiction score of each pair, in [0, 1]; NaN where it could not be judged.
        rules: What decided each pair; "" where it could not be judged.
        hard: Distance of each pair by its relation: 0, 1/2 or 1.
        distance: Distances by probability, for the medoid.
        classes: Class of each run; -1 where a pair of any two runs could not be judged.
        violations: Triples in which the judge is not transitive.
        failures: Why pairs could not be judged.
    """

    scores: Float[np.ndarray, " pairs"]
    rules: tuple[str, ...]
    hard: Float[np.ndarray, " pairs"]
    distance: Float[np.ndarray, "runs runs"]
    classes: tuple[int, ...]
    violations: int
    failures: tuple[str, ...]

    @classmethod
    def of(cls, actions: Sequence[Action], labeller: Labeller, pairs: Int[np.ndarray, "pairs 2"]) -> Answers:
        """Judge all pairs that are not settled yet."""
        k = len(actions)
        labels = labeller.settle((actions[i], actions[j]) for i, j in pairs.tolist())
        relation: Int8[np.ndarray, "runs runs"] = np.full((k, k), NOT_MEASURED, dtype=np.int8)
        distance = np.full((k, k), np.nan)
        hard = np.full(len(pairs), np.nan)
        probabilities = np.full((2, len(pairs), 3), np.nan, dtype=np.float32)
        rules, failures = [], []
        for p, (i, j) in enumerate(pairs.tolist()):
            judgement = labels.of(actions[i], actions[j])
            rules.append(judgement.rule if judgement else "")
            if judgement is None:
                failures.append(labels.failure(actions[i], actions[j]) or "not judged")
                continue
            relation[i, j] = relation[j, i] = judgement.relation
            probabilities[:, p] = judgement.forward, judgement.backward
            hard[p] = judgement.relation / 2  # Def. 1 of RSD
        distance[pairs[:, 0], pairs[:, 1]] = distance[pairs[:, 1], pairs[:, 0]] = soft_distance(*probabilities)
        scores = np.asarray(probabilities[..., Entailment.CONTRADICTS].max(axis=0), dtype=np.float64)
        found = equivalence.equivalence_classes(relation)
        classes = found.classes if not failures else (NOT_MEASURED,) * k
        return cls(scores, tuple(rules), hard, distance, classes, found.transitivity_violations, tuple(failures))

    def reason(self, good: int) -> str | None:
        """Why nothing can be said of the answers together; None where it can."""
        if good < 2:
            return f"{good} good run(s): comparing needs at least two"
        if self.failures:
            return f"{len(self.failures)} pair(s) of answers could not be judged: {self.failures[0]}"
        return None

    def differs(self, pairs: Int[np.ndarray, "pairs 2"]) -> Float[np.ndarray, " pairs"]:
        """1 for pairs of two classes, 0 for pairs of one; NaN where the classes are not known."""
        ids = np.array(self.classes, dtype=np.int64)
        if self.failures:
            return np.full(len(pairs), np.nan)
        return np.asarray(ids[pairs[:, 0]] != ids[pairs[:, 1]], dtype=np.float64)

    def variance(self, good: int, confidence: float) -> Estimate:
        """Canonical total variance."""
        reason = self.reason(good)
        if reason is not None:
            return Estimate.undefined(reason, n=good)
        return total_variance.answer_total_variance(np.array(self.classes, dtype=np.int64), confidence)

    def divergence(self, pairs: Int[np.ndarray, "pairs 2"], confidence: float) -> Estimate:
        """Mean distance of two answers."""
        reason = self.reason(len(self.classes))
        return Estimate.undefined(reason) if reason else pair_mean(self.hard, pairs, 1.0, confidence)

    def agreement(self, good: int, confidence: float) -> Estimate:
        """Share of the largest class."""
        reason = self.reason(good)
        if reason is not None:
            return Estimate.undefined(reason, n=good)
        return equivalence.dominant_share(self.classes, confidence)

    def entropy(self, good: int) -> Estimate:
        """Semantic entropy in nats."""
        reason = self.reason(good)
        if reason is not None:
            return Estimate.undefined(reason, n=good)
        value = float(semantic_entropy(self.classes))
        return Estimate(value, n=good, reason="no interval: entropy of few runs is biased downward")
