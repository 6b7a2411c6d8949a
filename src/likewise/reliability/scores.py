"""Everything measured on the answers of one query: variance, contradiction, classes, and how sure each number is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likewise.core.estimate import Estimate
from likewise.core.protocols import Encoder
from likewise.core.rollout import Action
from likewise.metrics.resampling import pair_mean
from likewise.reliability.answers import Answers, run_pairs
from likewise.reliability.clashes import CriticalPair, quote_clash
from likewise.reliability.consensus import Consensus, find_consensus
from likewise.reliability.runs import RunRecord
from likewise.reliability.variance import (
    FieldVariance,
    VarianceForm,
    citations_variance,
    embedded,
    embedded_findings,
    findings_variance,
    volume,
)
from likewise.scoring.label import Labeller

__all__ = ["Measurement", "VarianceReport", "measure"]


@dataclass(frozen=True, slots=True)
class VarianceReport:
    """Total variance by field; `volume` is of the numbers of findings and of sources, in items squared."""

    answer: FieldVariance
    findings: FieldVariance
    citations: FieldVariance
    answer_embedding: Estimate
    findings_volume: Estimate
    citations_volume: Estimate

    @property
    def measured(self) -> tuple[FieldVariance, ...]:
        """The fields that were measured."""
        return tuple(f for f in (self.answer, self.findings, self.citations) if f.value is not None)

    def as_json(self) -> dict[str, object]:
        """Each field with value, interval or reason."""
        return {
            "answer": self.answer.as_json(),
            "findings": self.findings.as_json(),
            "citations": self.citations.as_json(),
            "answer_embedding": self.answer_embedding.as_json(),
            "findings_volume": self.findings_volume.as_json(),
            "citations_volume": self.citations_volume.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Measurement:
    """What the runs of one query say together.

    Attributes:
        runs: Numbers of the good runs; positions in all that follows refer to them.
        failed: How many runs failed.
        variance: By field.
        reliability: 1 - mean of the measured variances, in [0, 1].
        divergence: Mean distance of two answers (0 alike, 1/2 neutral, 1 contradictory): D of one turn of RSD.
        contradiction: The highest contradiction score of two answers, in [0, 1].
        contradiction_mean: The mean over pairs.
        critical: Pairs above the threshold, the highest first.
        finding_clashes: Findings of two runs that clash: a warning, no part of the score.
        classes: Class of each good run by mutual entailment; -1 where its pairs could not be judged.
        agreement: Share of the largest class.
        entropy: Semantic entropy in nats.
        transitivity_violations: Triples in which the judge is not transitive.
        consensus: The medoid of the largest class.
        unjudged: Why pairs of answers could not be judged, one reason each.
    """

    runs: tuple[int, ...]
    failed: int
    variance: VarianceReport
    reliability: Estimate
    divergence: Estimate
    contradiction: Estimate
    contradiction_mean: Estimate
    critical: tuple[CriticalPair, ...]
    finding_clashes: tuple[CriticalPair, ...]
    classes: tuple[int, ...]
    agreement: Estimate
    entropy: Estimate
    transitivity_violations: int
    consensus: Consensus
    unjudged: tuple[str, ...]


def measure(
    records: Sequence[RunRecord],
    labeller: Labeller,
    encoder: Encoder | None = None,
    *,
    form: VarianceForm = VarianceForm.CANONICAL,
    critical_above: float = 0.7,
    confidence: float = 0.95,
) -> Measurement:
    """Measure the runs of one query. Failed runs are counted and enter no score.

    Args:
        records: All runs, failed ones too.
        labeller: Settles pairs of answers (identical, tool rules, slot guard, judge); remembers what it settled.
        encoder: For the embedding form; None leaves it unmeasured.
        form: Which form feeds the reliability; sources are compared as URLs in either.
        critical_above: Contradiction scores above it are critical.
        confidence: Share of intervals that should hold the true value, in (0, 1).
    """
    good = [record for record in records if record.good]
    numbers = tuple(record.index for record in good)
    actions = [record.action for record in good]
    pairs = run_pairs(len(good))
    answers = Answers.of(actions, labeller, pairs)
    embedding, embedding_pairs = embedded([a.text for a in actions], encoder, pairs, confidence)
    findings, clashes = findings_variance(good, labeller, pairs, critical_above, confidence)
    answer = FieldVariance(answers.variance(len(good), confidence), VarianceForm.CANONICAL, answers.differs(pairs))
    if form is VarianceForm.EMBEDDING:
        answer = FieldVariance(embedding, form, embedding_pairs)
        findings = embedded_findings(good, encoder, pairs, confidence)
    variance = VarianceReport(
        answer,
        findings,
        citations_variance(good, pairs, confidence),
        embedding,
        volume([r.fields.key_findings if r.fields else None for r in good], "findings"),
        volume([r.fields.sources_used if r.fields else None for r in good], "sources"),
    )
    return Measurement(
        runs=numbers,
        failed=len(records) - len(good),
        variance=variance,
        reliability=_reliability(variance, pairs, confidence),
        divergence=answers.divergence(pairs, confidence),
        contradiction=_largest(answers.scores, answers.reason(len(good))),
        contradiction_mean=_mean_score(answers.scores, pairs, confidence),
        critical=_critical(actions, numbers, pairs, answers, labeller, critical_above),
        finding_clashes=clashes,
        classes=answers.classes,
        agreement=answers.agreement(len(good), confidence),
        entropy=answers.entropy(len(good)),
        transitivity_violations=answers.violations,
        consensus=find_consensus(answers.classes, answers.distance),
        unjudged=answers.failures,
    )


def _largest(scores: Float[np.ndarray, " pairs"], reason: str | None) -> Estimate:
    known = scores[~np.isnan(scores)]
    if not known.size:
        return Estimate.undefined(reason or "no pair was judged", n=0)
    return Estimate(float(known.max()), n=len(known), reason="no interval: the highest score seen in these runs")


def _mean_score(scores: Float[np.ndarray, " pairs"], pairs: Int[np.ndarray, "pairs 2"], confidence: float) -> Estimate:
    return pair_mean(scores, pairs, 1.0, confidence)


def _critical(
    actions: Sequence[Action],
    numbers: tuple[int, ...],
    pairs: Int[np.ndarray, "pairs 2"],
    answers: Answers,
    labeller: Labeller,
    above: float,
) -> tuple[CriticalPair, ...]:
    found = []
    for p, (i, j) in enumerate(pairs.tolist()):
        if answers.scores[p] > above:
            quoted = quote_clash(actions[i], actions[j], labeller)
            found.append(CriticalPair(numbers[i], numbers[j], *quoted, float(answers.scores[p]), answers.rules[p]))
    return tuple(sorted(found, key=lambda pair: -pair.score))


def _reliability(variance: VarianceReport, pairs: Int[np.ndarray, "pairs 2"], confidence: float) -> Estimate:
    """1 - mean of the measured variances; the answer must be among them."""
    if variance.answer.value is None:
        return Estimate.undefined(variance.answer.estimate.reason or "answers were not measured")
    measured = variance.measured
    value = 1 - float(np.mean([field.value for field in measured]))
    joint = np.mean([np.minimum(field.per_pair, 1.0) for field in measured], axis=0)
    n = variance.answer.estimate.n
    if not np.isnan(joint).any():
        mean = pair_mean(joint, pairs, 1.0, confidence)
        low, high = mean.low, mean.high
    else:  # not all runs give all fields: the mean of the fields' own intervals, each at a stricter level (Bonferroni)
        strict = 1 - (1 - confidence) / len(measured)
        each = [pair_mean(np.minimum(field.per_pair, 1.0), pairs, 1.0, strict) for field in measured]
        low, high = (float(np.mean([getattr(e, end) for e in each])) for end in ("low", "high"))
    value = min(max(value, 0.0), 1.0)
    if low is None or high is None:
        return Estimate(value, n=n, reason="no interval: too few pairs of runs")
    return Estimate(value, min(max(1 - high, 0.0), value), max(min(1 - low, 1.0), value), n=n)
