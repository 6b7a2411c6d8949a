"""A judge that is never asked twice: what it said is read from the label store, and written there as it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from likewise.backends.judge_each import judge_each
from likewise.backends.label_store import LabelStore
from likewise.core.labels import Judgement
from likewise.core.protocols import Judge, Progress, no_progress
from likewise.scoring.judging_order import neighbours

__all__ = ["StoredJudge", "TextPair", "ordered"]

STORE_BATCH = 64
STORE_SECONDS = 1.0
"""Judgements are written when so many wait, or the first has waited so long; a kill loses no more than that."""

TextPair: TypeAlias = tuple[str, str]


def ordered(first: str, second: str) -> TextPair:
    """One orientation per unordered pair: a judge is always asked in this one, so that answers repeat exactly."""
    return (first, second) if first <= second else (second, first)


@dataclass(slots=True)
class StoredJudge:
    """A judge, its store, and a count of who answered.

    Attributes:
        judge: Asked where the store has no answer.
        store: Remembers between processes; None for no memory.
        progress: Display of the judge's work.
        from_store: Pairs answered by the store so far.
        from_judge: Pairs answered by the judge so far.
        asked: Distinct pairs asked for so far, over all calls, failed ones included.
    """

    judge: Judge
    store: LabelStore | None = None
    progress: Progress = no_progress
    from_store: int = 0
    from_judge: int = 0
    asked: int = 0

    def ask(self, pairs: Sequence[TextPair]) -> dict[TextPair, Judgement | str]:
        """The judgement of each pair, in its orientation; a reason where the judge failed on it."""
        distinct = list(dict.fromkeys(ordered(*pair) for pair in pairs))
        self.asked += len(distinct)
        answers: dict[TextPair, Judgement | str] = {}
        if self.store is not None:
            answers.update(self.store.get_many(self.judge.judge_id, distinct))
            self.from_store += len(answers)
        answers.update(self._judge_missing(neighbours([pair for pair in distinct if pair not in answers])))
        return {pair: _oriented(pair, answers[ordered(*pair)]) for pair in pairs}

    def _judge_missing(self, pairs: list[TextPair]) -> Iterator[tuple[TextPair, Judgement | str]]:
        if not pairs:
            return
        unsaved: list[tuple[TextPair, Judgement]] = []
        saved = monotonic()
        with self.progress("judging pairs", total=len(pairs)) as task:
            try:
                for pair, outcome in judge_each(self.judge, pairs, task):
                    if isinstance(outcome, Judgement):
                        self.from_judge += 1
                        unsaved.append((pair, outcome))
                        if len(unsaved) >= STORE_BATCH or monotonic() - saved >= STORE_SECONDS:
                            self._save(unsaved)
                            saved = monotonic()
                        yield pair, outcome
                    else:
                        if self.store is not None and outcome.raw_answer is not None:
                            self.store.put_answers(self.judge.judge_id, pair, [outcome.raw_answer], outcome.problem)
                        yield pair, outcome.problem
            finally:
                self._save(unsaved)

    def _save(self, unsaved: list[tuple[TextPair, Judgement]]) -> None:
        if self.store is not None and unsaved:
            self.store.put_many(self.judge.judge_id, unsaved)
        unsaved.clear()


def _oriented(pair: TextPair, answer: Judgement | str) -> Judgement | str:
    return answer if isinstance(answer, str) or pair == ordered(*pair) else answer.flipped
