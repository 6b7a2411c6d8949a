"""Judges for tests: small, real implementations of `core.protocols.Judge`, and one real encoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.core.protocols import ProgressTask

TextPair = tuple[str, str]


class TableJudge:
    """Looks relations up, in either order of the pair; counts how often each pair was asked, as it was asked."""

    def __init__(self, relations: Mapping[TextPair, Relation] | None = None, default: Relation = Relation.NEUTRAL):
        self._relations = {frozenset(pair): relation for pair, relation in (relations or {}).items()}
        self._default = default
        self.calls: Counter[TextPair] = Counter()

    @property
    def judge_id(self) -> str:
        return "table"

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        for pair in pairs:
            self.calls[pair] += 1
            yield Judgement.certain(self._relations.get(frozenset(pair), self._default), "nli")
            if progress is not None:
                progress.advance()


class LeaningJudge:
    """Tells the direction of a pair: the probabilities say which text came first in the alphabet."""

    judge_id = "leaning"

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        for first, second in pairs:
            there, back = (0.75, 0.25, 0.0), (0.0, 0.75, 0.25)
            yield Judgement.from_nli(*((there, back) if first < second else (back, there)))


class FailingJudge(TableJudge):
    """A TableJudge that cannot judge some pairs: all of them, or those with a text of `on` in them."""

    def __init__(
        self,
        on: Collection[str] | None = None,
        relations: Mapping[TextPair, Relation] | None = None,
        default: Relation = Relation.NEUTRAL,
        problem: str = "the judge gave no relation",
    ):
        super().__init__(relations, default)
        self._on, self._problem = on, problem

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        for first, second in pairs:
            if self._on is None or {first, second} & set(self._on):
                self.calls[first, second] += 1
                raise LabelError(self._problem, first, second, raw_answer="?")
            yield from super().judge([(first, second)], progress)


class StoppingJudge(TableJudge):
    """A TableJudge that answers `after` pairs and then raises `with_`, whatever that is."""

    def __init__(self, after: int, with_: BaseException, default: Relation = Relation.NEUTRAL):
        super().__init__(default=default)
        self._after, self._with = after, with_

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        for pair in pairs:
            if self.calls.total() >= self._after:
                raise self._with
            yield from super().judge([pair], progress)


class NeverJudge:
    """Must not be asked; may bear another judge's name, so that a store answers for it."""

    def __init__(self, judge_id: str = "never"):
        self.judge_id = judge_id

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        if pairs:
            raise AssertionError(f"no judge is needed here, yet one was asked for {list(pairs)}")
        return iter(())


class LetterEncoder:
    """Unit vectors of letter counts: equal texts have equal vectors, texts without a common letter orthogonal ones."""

    encoder_id = "letters"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], dtype=np.float32)
        rows = rows.reshape(-1, 26)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
