"""A judge and an encoder for long work beside short: they let live requests in between."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float32

from likewise.backends.judge_each import judge_each
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement
from likewise.core.protocols import Encoder, Judge, ProgressTask
from likewise.reliability.wrapped import SCORING

__all__ = ["OutOfTimeError", "TurnTakingEncoder", "TurnTakingJudge"]

PAIRS = 16
"""Pairs judged in one turn: some tenths of a second, which a live request then waits at most."""
TEXTS = 32

TextPair = tuple[str, str]


class OutOfTimeError(Exception):
    """The work was to have ended by now; it stops at its next turn."""


def _in_time(ends: float | None) -> None:
    if ends is not None and time.monotonic() > ends:
        raise OutOfTimeError


class TurnTakingJudge:
    """The same judge, asked for a few pairs at a time, with the lock of the live requests held only meanwhile."""

    def __init__(self, judge: Judge, ends: float | None = None) -> None:
        """Ask `judge`; from `ends` on, by the monotonic clock, every turn raises OutOfTimeError instead."""
        self._judge, self._ends = judge, ends

    @property
    def judge_id(self) -> str:
        """The judge's own."""
        return self._judge.judge_id

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Each pair in order; goes on after a LabelError."""
        return _Turns(self._judge, list(pairs), progress, self._ends)


class _Turns(Iterator[Judgement]):
    def __init__(self, judge: Judge, pairs: list[TextPair], progress: ProgressTask | None, ends: float | None) -> None:
        self._judge, self._progress, self._ends = judge, progress, ends
        self._pairs, self._next = pairs, 0
        self._known: dict[TextPair, Judgement | LabelError] = {}

    def __next__(self) -> Judgement:
        if self._next >= len(self._pairs):
            raise StopIteration
        pair = self._pairs[self._next]
        if pair not in self._known:
            _in_time(self._ends)
            with SCORING:
                self._known = dict(judge_each(self._judge, list(dict.fromkeys(self._pairs[self._next :][:PAIRS]))))
        self._next += 1
        outcome = self._known[pair]
        if isinstance(outcome, LabelError):
            raise outcome
        if self._progress is not None:
            self._progress.advance()
        return outcome


class TurnTakingEncoder:
    """The same encoder, in the same manner."""

    def __init__(self, encoder: Encoder, ends: float | None = None) -> None:
        """Ask `encoder`; from `ends` on, by the monotonic clock, every turn raises OutOfTimeError instead."""
        self._encoder, self._ends = encoder, ends

    @property
    def encoder_id(self) -> str:
        """The encoder's own."""
        return self._encoder.encoder_id

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dimensions"]:
        """One unit vector a text."""
        parts = []
        for start in range(0, max(len(texts), 1), TEXTS):  # once for no texts at all: the width is the encoder's to say
            _in_time(self._ends)
            with SCORING:
                parts.append(self._encoder.encode(texts[start : start + TEXTS]))
        return np.concatenate(parts)
