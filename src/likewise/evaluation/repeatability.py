"""How often a judge repeats itself: the noise of the meter, told apart from the noise of the agent."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from likewise.backends.judge_each import judge_each
from likewise.core.estimate import Estimate
from likewise.core.labels import Judgement, Relation
from likewise.metrics.resampling import wilson_share
from likewise.scoring.stored_judge import StoredJudge, TextPair

__all__ = ["SAMPLE", "Repeatability", "measure_repeatability"]

SAMPLE = 50
"""Pairs that are read again and again, unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Several readings of the same pairs by one judge.

    Attributes:
        readings: How often each pair was read.
        agreeing: Share of pairs on which all readings gave one relation.
        failed: Pairs of the sample of which a reading failed; they are not in the share.
    """

    readings: int
    agreeing: Estimate
    failed: int

    def as_json(self) -> dict[str, object]:
        """The fields by name."""
        return {"readings": self.readings, "agreeing": self.agreeing.as_json(), "failed": self.failed}


def measure_repeatability(
    judge: StoredJudge, pairs: Sequence[TextPair], readings: int, sample: int = SAMPLE, seed: int = 0
) -> Repeatability:
    """Read a sample of pairs several times, past the label store, and count where the readings agree.

    Answers in words are kept in the store as evidence; no reading becomes a judgement there.

    Args:
        judge: The judge, with its store.
        pairs: What it was asked about.
        readings: How often each pair of the sample is read, at least 2.
        sample: Pairs drawn at most.
        seed: Seed of the draw.

    Raises:
        ValueError: Fewer than two readings.
        BackendError: The judge does not work.
    """
    if readings < 2:
        raise ValueError(f"to compare readings takes at least 2, got {readings}")
    distinct = sorted(set(pairs))
    drawn = random.Random(seed).sample(distinct, min(sample, len(distinct)))
    relations: dict[TextPair, list[Relation]] = {pair: [] for pair in drawn}
    for _ in range(readings):
        with judge.progress("reading again", total=len(drawn)) as task:
            for pair, outcome in judge_each(judge.judge, drawn, task):
                if isinstance(outcome, Judgement):
                    relations[pair].append(outcome.relation)
                _keep(judge, pair, outcome)
    complete = [said for said in relations.values() if len(said) == readings]
    return Repeatability(
        readings,
        wilson_share(
            sum(len(set(said)) == 1 for said in complete), len(complete), "pair that the judge was asked about"
        ),
        len(drawn) - len(complete),
    )


def _keep(judge: StoredJudge, pair: TextPair, outcome: object) -> None:
    if judge.store is not None and isinstance(outcome, Judgement):
        judge.store.put_answers(judge.judge.judge_id, pair, outcome.answers)
