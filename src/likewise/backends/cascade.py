"""Two judges in a row: a cheap one for all pairs, a dear one only where the cheap one is uncertain or has no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from likewise.backends.judge_each import judge_each
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement
from likewise.core.protocols import Accountable, Judge, ProgressTask

__all__ = ["SURE_FROM", "Cascade"]

SURE_FROM = 0.9
"""Confidence from which the first judge's answer stands."""
CHECKED = 20
"""Sure pairs that the second judge reads as well, over the life of a cascade, to tell how far the two agree."""
CHUNK = 256
"""Pairs put to the first judge before the second is asked for the uncertain ones among them."""

TextPair = tuple[str, str]
Outcome = Judgement | LabelError


class Cascade:
    """A judge made of two.

    The first judge's answer stands where its confidence (`Judgement.confidence`) reaches `sure_from`. Where it does
    not, or where the first judge cannot judge the pair at all (another language), the second one's does, and a failure
    of the second is the failure of the pair: a pair has one judge, whichever answers, and no answer is a makeshift.
    """

    def __init__(
        self, first: Judge, second: Judge, *, sure_from: float = SURE_FROM, checked: int = CHECKED, seed: int = 0
    ) -> None:
        """Put two judges in a row.

        Args:
            first: Asked for every pair.
            second: Asked where the first is not sure.
            sure_from: Confidence from which the first judge's answer stands, in [0, 1].
            checked: Sure pairs that the second judge reads as well. Its answers to them change no label.
            seed: Of the draw of these pairs.

        Raises:
            ValueError: A confidence outside [0, 1], or a negative number.
        """
        if not 0 <= sure_from <= 1 or checked < 0:
            raise ValueError(f"a confidence lies in [0, 1] and a count is at least 0, got {sure_from} and {checked}")
        self._first, self._second, self._sure_from, self._checked = first, second, sure_from, checked
        self._draw = random.Random(seed)
        self._asked = self._passed_on = self._compared = self._agreeing = 0

    @property
    def judge_id(self) -> str:
        """Both judges, and where the line is."""
        return f"cascade-{self._sure_from:g}({self._first.judge_id},{self._second.judge_id})"

    @property
    def endpoint(self) -> str | None:
        """Where texts are sent; None where they stay on this machine."""
        return getattr(self._second, "endpoint", None)

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order; see core.protocols.Judge.

        Raises:
            LabelError: The judge whose answer is wanted has none; the next pair can be asked for.
        """
        return _Cascaded(self, pairs, progress)

    def account(self) -> tuple[str, ...]:
        """Calls saved, agreement on sure pairs, and what the two judges tell of themselves."""
        lines = []
        if self._asked:
            saved = self._asked - self._passed_on
            lines.append(
                f"cascade: {self._passed_on} of {self._asked} pairs went to the second judge, {saved} "
                f"({saved / self._asked:.0%}) did not"
            )
        if self._compared:
            lines.append(
                f"cascade: on {self._compared} pairs that the first judge was sure of, "
                f"the second agreed with {self._agreeing}"
            )
        for judge in (self._first, self._second):
            if isinstance(judge, Accountable):
                lines.extend(judge.account())
        return tuple(lines)

    def settle(self, chunk: Sequence[TextPair], of: int) -> dict[TextPair, Outcome]:
        """Outcomes of some distinct pairs, out of `of` pairs in all."""
        outcomes = dict(judge_each(self._first, chunk))
        sure = {pair: answer for pair, answer in outcomes.items() if self._stands(answer)}
        passed_on = [pair for pair in chunk if pair not in sure]
        share = self._checked / of  # about as many as are wanted, spread over all pairs
        drawn = [pair for pair in sure if self._draw.random() < share][: self._checked]
        self._checked -= len(drawn)
        self._asked += len(chunk)
        self._passed_on += len(passed_on)
        for pair, second in judge_each(self._second, [*passed_on, *drawn]):
            first = sure.get(pair)
            if first is None:
                outcomes[pair] = second
            elif isinstance(second, Judgement) and isinstance(first, Judgement):
                self._compared += 1
                self._agreeing += second.relation == first.relation
                outcomes[pair] = replace(first, answers=second.answers)  # kept as evidence, it decides nothing
        return outcomes

    def _stands(self, outcome: Outcome) -> bool:
        return isinstance(outcome, Judgement) and outcome.confidence >= self._sure_from


class _Cascaded:
    """Outcomes in order; it goes on after the failure of a pair."""

    def __init__(self, cascade: Cascade, pairs: Sequence[TextPair], progress: ProgressTask | None) -> None:
        self._cascade, self._pairs, self._progress = cascade, pairs, progress
        self._place = 0
        self._outcomes: dict[TextPair, Outcome] = {}

    def __iter__(self) -> Iterator[Judgement]:
        return self

    def __next__(self) -> Judgement:
        if self._place == len(self._pairs):
            raise StopIteration
        if self._place % CHUNK == 0:
            chunk = dict.fromkeys(self._pairs[self._place : self._place + CHUNK])
            self._outcomes = self._cascade.settle(list(chunk), len(self._pairs))
        outcome = self._outcomes[self._pairs[self._place]]
        self._place += 1
        if isinstance(outcome, LabelError):
            raise outcome
        if self._progress is not None:
            self._progress.advance()
        return outcome
