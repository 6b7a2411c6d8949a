"""The facts that a checkpoint states, each with what it may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from likewise.core.errors import CheckpointError
from likewise.core.group import LengthPolicy
from likewise.learned.options import Loss, SameState

__all__ = ["FIELDS", "check_fields"]


class Field(NamedTuple):
    """What a fact may be: in words, and as a check."""

    expected: str
    fits: Callable[[Any], bool]


def _text(longest: int = 500) -> Field:
    return Field(
        f"a text of 1 to {longest} printable characters",
        lambda v: isinstance(v, str) and 0 < len(v) <= longest and v.isprintable(),
    )


def _whole(low: int, high: int) -> Field:
    return Field(
        f"a whole number from {low} to {high}",
        lambda v: isinstance(v, int) and not isinstance(v, bool) and low <= v <= high,
    )


def _number(low: float, high: float) -> Field:
    return Field(
        f"a number from {low:g} to {high:g}",
        lambda v: isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) and low <= v <= high,
    )


def _one_of(*values: str) -> Field:
    return Field(f"one of {', '.join(values)}", lambda v: isinstance(v, str) and v in values)


def _or_null(field: Field) -> Field:
    return Field(f"{field.expected}, or null", lambda v: v is None or field.fits(v))


_FLAG = Field("true or false", lambda v: isinstance(v, bool))
_OBJECT = Field("an object", lambda v: isinstance(v, dict))


def _digests(v: object) -> bool:
    return isinstance(v, list) and len(v) <= 100_000 and all(isinstance(e, str) and 8 <= len(e) <= 64 for e in v)


FIELDS: dict[str, Field] = {
    "format": _text(),
    "likewise": _text(),
    "demo": _or_null(_text()),
    "encoder": _text(),
    "dimensions": _whole(1, 16_384),
    "width": _whole(1, 65_536),
    "heads": _whole(1, 64),
    "state_encoding": _whole(1, 1_000),
    "state_text": _whole(1, 1_000),
    "judge": _text(),
    "rules": _text(),
    "distance": _one_of("hard", "soft"),
    "gamma": _number(0, 0.9999),
    "n": _whole(1, 1_000_000),
    "alpha": _number(1e-9, 1e9),
    "beta": _number(0, 1e9),
    "angle": _FLAG,
    "loss": _one_of(*Loss),
    "length_policy": _one_of(*LengthPolicy),
    "same_state": _one_of(*SameState),
    "options": _OBJECT,
    "data": _text(),
    "tasks": _whole(1, 10_000_000),
    "rollouts": _whole(2, 100_000_000),
    "seen_tasks": Field("a list of digests", _digests),
    "training": _OBJECT,
    "familiar": _number(0, 1e6),
    "calibration": _or_null(_OBJECT),
    "weights": _OBJECT,
}
"""Every fact. `familiar` is the distance to the references up to which a state is like those of the training."""


def check_fields(facts: Mapping[str, Any], where: str) -> None:
    """Refuse facts that are missing, unknown or out of range.

    Raises:
        CheckpointError: Names the first such field, in the order of `FIELDS`.
    """
    for name, field in FIELDS.items():
        if name not in facts:
            raise CheckpointError(where, name, field.expected, "nothing")
        if not field.fits(facts[name]):
            raise CheckpointError(where, name, field.expected, repr(facts[name])[:100])
    unknown = sorted(str(name) for name in facts.keys() - FIELDS.keys())
    if unknown:
        raise CheckpointError(where, unknown[0][:60], "no such field", "one")
