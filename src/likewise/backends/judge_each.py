"""Asks a judge for pairs so that one failed pair costs that pair alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from likewise.core.errors import LabelError
from likewise.core.labels import Judgement
from likewise.core.protocols import Judge, ProgressTask

__all__ = ["judge_each"]

TextPair: TypeAlias = tuple[str, str]


def judge_each(
    judge: Judge, pairs: Sequence[TextPair], progress: ProgressTask | None = None
) -> Iterator[tuple[TextPair, Judgement | LabelError]]:
    """Each pair with its judgement or its failure, as they become known.

    An iterator of the judge's that can go on after a `LabelError` is asked for the next pair; one that cannot (a
    generator) is given up, and the judge is asked anew for the pairs that are left.

    Args:
        judge: Asked for all pairs.
        pairs: Pairs of texts, each once.
        progress: Counts judged pairs (by the judge itself) and failed ones (here).

    Raises:
        LabelError: A failure of a pair that was not asked for.
        ValueError: The judge gives fewer or more answers than there are pairs.
    """
    remaining = list(pairs)
    while remaining:
        answers, answered, after_failure = iter(judge.judge(remaining, progress)), 0, False
        while answered < len(remaining):
            pair = remaining[answered]
            try:
                outcome: Judgement | LabelError = next(answers)
            except StopIteration:
                if after_failure:
                    break
                raise ValueError(f"{judge.judge_id}: the answers are shorter than the {len(remaining)} pairs") from None
            except LabelError as failure:
                failed = (failure.first, failure.second)
                if failed != pair and failed not in remaining[answered:]:
                    raise
                if progress is not None:
                    progress.advance()
                after_failure, outcome = failed == pair, failure
                if failed != pair:  # ahead of its turn: what comes next from this iterator is anyone's guess
                    remaining.remove(failed)
                    yield failed, failure
                    break
            else:
                after_failure = False
            answered += 1
            yield pair, outcome
        else:
            if not after_failure and next(answers, None) is not None:
                raise ValueError(f"{judge.judge_id}: the answers are longer than the {len(remaining)} pairs")
        remaining = remaining[answered:]
