"""What a foreign NLI model must show before it may judge: labels that can be mapped, and six right answers.

A model whose classes stand in another order than its user thinks gives numbers that look like any others: entailment
and neutral exchanged is the commonest case. The order is therefore read from the model's own config, and put to the
test on pairs that leave no doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32

from likewise.core.errors import BackendError
from likewise.core.labels import Entailment

__all__ = ["CANNED_PAIRS", "NEEDED", "check_answers", "label_order"]

OrderedPair: TypeAlias = tuple[str, str]

CANNED_PAIRS: tuple[tuple[str, str, Entailment], ...] = (
    ("A man is playing a guitar on stage.", "A man is playing an instrument.", Entailment.ENTAILS),
    ("The order was cancelled by the customer.", "The customer cancelled the order.", Entailment.ENTAILS),
    ("A boy is eating an apple in the kitchen.", "The boy has two sisters.", Entailment.NEUTRAL),
    ("The customer asked for the price of a ticket.", "The customer lives in Berlin.", Entailment.NEUTRAL),
    ("A woman is sleeping in her bed.", "A woman is running in the park.", Entailment.CONTRADICTS),
    ("The refund has been approved.", "The refund has not been approved.", Entailment.CONTRADICTS),
)
"""Premise, hypothesis, and what the premise says of the hypothesis; two of each class."""
NEEDED = 5
"""Right answers of the six. A perfect model with two classes exchanged gives two, a constant answer too; one slip is
allowed to a model that is otherwise sound."""

_NAMES = {
    "entailment": Entailment.ENTAILS,
    "entail": Entailment.ENTAILS,
    "entails": Entailment.ENTAILS,
    "entailed": Entailment.ENTAILS,
    "neutral": Entailment.NEUTRAL,
    "contradiction": Entailment.CONTRADICTS,
    "contradict": Entailment.CONTRADICTS,
    "contradicts": Entailment.CONTRADICTS,
    "contradictory": Entailment.CONTRADICTS,
}
_WORDS = ("entailment", "neutral", "contradiction")


def label_order(id2label: object, where: str) -> tuple[int, int, int]:
    """Columns of a model's output in the order entails, neutral, contradicts.

    Args:
        id2label: The entry of the model's config: class number -> name.
        where: The file it was read from, for the message.

    Raises:
        BackendError: There are not exactly three classes with names that say what they are.
    """
    columns: dict[Entailment, int] = {}
    if isinstance(id2label, Mapping) and sorted(map(str, id2label)) == ["0", "1", "2"]:
        for number, name in id2label.items():
            meaning = _NAMES.get(str(name).strip().casefold())
            if meaning is not None:
                columns[meaning] = int(number)
    if len(columns) != 3:
        raise BackendError(
            f"{where}: id2label is {id2label!r}, which cannot be mapped to entailment, neutral and contradiction; "
            "a judge needs a 3-class NLI cross-encoder whose config names its classes"
        )
    return columns[Entailment.ENTAILS], columns[Entailment.NEUTRAL], columns[Entailment.CONTRADICTS]


def check_answers(name: str, classify: Callable[[Sequence[OrderedPair]], Float32[np.ndarray, "pairs 3"]]) -> None:
    """Put the canned pairs to a model.

    Args:
        name: The model, for the message.
        classify: Probabilities (entails, neutral, contradicts) of ordered pairs (premise, hypothesis).

    Raises:
        BackendError: Fewer than five of the six answers are right; the message shows all six.
    """
    rows = classify([(premise, hypothesis) for premise, hypothesis, _ in CANNED_PAIRS])
    shown, right = [], 0
    for (premise, hypothesis, truth), row in zip(CANNED_PAIRS, rows, strict=True):
        said = int(np.argmax(row)) if np.isfinite(row).all() else -1
        right += said == truth
        answer = f"{_WORDS[said]} ({row[said]:.2f})" if said >= 0 else "no number"
        verdict = "right" if said == truth else f"should be {_WORDS[truth]}"
        shown.append(f"{premise!r} / {hypothesis!r}: {answer}, {verdict}")
    if right < NEEDED:
        raise BackendError(
            f"{name} fails the self-test: {right} of {len(CANNED_PAIRS)} canned pairs right, {NEEDED} needed. "
            + "; ".join(shown)
        )
