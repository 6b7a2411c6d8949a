"""Do the runs of a task end with the same answer? Classes of final answers and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Int8

from likewise.core.estimate import Estimate
from likewise.core.group import RolloutGroup
from likewise.core.labels import NOT_MEASURED
from likewise.core.protocols import Encoder
from likewise.core.rollout import Action, StopReason
from likewise.core.state_text import canonical_text
from likewise.metrics import equivalence, total_variance
from likewise.metrics.entropy import semantic_entropy
from likewise.scoring.label import ActionLabels

__all__ = ["AnswerScore", "answer_pairs", "score_answers"]


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """What the final answers of a group say; see the fields of the same names in `GroupScore`."""

    total_variance: Estimate
    embedding_total_variance: Estimate
    semantic_entropy: Estimate
    agreement: Estimate
    classes: tuple[int, ...]
    transitivity_violations: int


def _answers(group: RolloutGroup) -> list[str | None]:
    """What each valid rollout told its user last; None where it said nothing or was cut before it was done."""
    return [rollout.answer if rollout.stop is not StopReason.CUT else None for rollout in group.valid]


def answer_pairs(group: RolloutGroup) -> Iterator[tuple[Action, Action]]:
    """Pairs of final answers that must be judged."""
    given = [Action(answer) for answer in _answers(group) if answer is not None]
    yield from combinations(given, 2)


def score_answers(group: RolloutGroup, labels: ActionLabels, encoder: Encoder | None, confidence: float) -> AnswerScore:
    """Classes, total variance in both forms, entropy and agreement of the final answers.

    Where a pair of answers could not be judged the classes are unknown, and so is everything made of them.
    """
    answers = _answers(group)
    relation: Int8[np.ndarray, "runs runs"] = np.full((len(answers), len(answers)), NOT_MEASURED, dtype=np.int8)
    failed = 0
    for (i, a), (j, b) in combinations(enumerate(answers), 2):
        if a is None or b is None:
            continue
        judgement = labels.of(Action(a), Action(b))
        failed += judgement is None
        if judgement is not None:
            relation[i, j] = relation[j, i] = judgement.relation
    found = equivalence.equivalence_classes(relation)
    classes = np.array([label for label in found.classes if label >= 0], dtype=np.int64)
    given = [answer for answer in answers if answer is not None]
    embedding = _embedding_variance(given, encoder)
    reason = f"{failed} pair(s) of final answers could not be judged" if failed else None
    if reason is None and len(given) < 2:
        reason = f"{len(given)} rollout(s) with a final answer: comparing needs at least two"
    if reason is not None:
        unknown = Estimate.undefined(reason, n=len(given))
        return AnswerScore(unknown, embedding, unknown, unknown, (NOT_MEASURED,) * len(answers), 0)
    entropy = Estimate(
        float(semantic_entropy(classes)), n=len(given), reason="no interval: entropy of few runs is biased downward"
    )
    return AnswerScore(
        total_variance.answer_total_variance(classes, confidence),
        embedding,
        entropy,
        equivalence.dominant_share(found),
        tuple(found.classes),
        found.transitivity_violations,
    )


def _embedding_variance(answers: list[str], encoder: Encoder | None) -> Estimate:
    if encoder is None:
        return Estimate.undefined("no encoder was given")
    if len(answers) < 2:
        return Estimate.undefined(f"{len(answers)} rollout(s) with a final answer: variance needs at least two")
    return total_variance.embedding_total_variance(encoder.encode([canonical_text(text) for text in answers]))
