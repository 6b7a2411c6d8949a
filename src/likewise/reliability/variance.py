"""Total variance by field: answers embedded, findings clustered by meaning, sources as a set of addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int, Int8

from likewise.core.estimate import Estimate
from likewise.core.labels import Relation
from likewise.core.protocols import Encoder
from likewise.core.rollout import Action
from likewise.core.state_text import canonical_text
from likewise.metrics import equivalence, total_variance
from likewise.metrics.resampling import pair_mean
from likewise.reliability.citations import canonical_sources
from likewise.reliability.clashes import CriticalPair, contradiction_score
from likewise.reliability.fields import MOST_FINDINGS
from likewise.reliability.runs import RunRecord
from likewise.scoring.label import Labeller

__all__ = [
    "FieldVariance",
    "VarianceForm",
    "citations_variance",
    "embedded",
    "embedded_findings",
    "findings_variance",
    "volume",
]


class VarianceForm(StrEnum):
    """Which vectors a total variance is of."""

    CANONICAL = "canonical"
    EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True)
class FieldVariance:
    """Total variance of one field, with its form beside it.

    Attributes:
        estimate: The variance, in [0, 1] (canonical) or [0, n/(n-1)] (embedding), or why it is not measured.
        form: Which form it is.
        per_pair: The half squared distance of each pair of good runs; NaN where not measured.
    """

    estimate: Estimate
    form: VarianceForm
    per_pair: Float[np.ndarray, " pairs"]

    @property
    def value(self) -> float | None:
        """The variance; None where not measured."""
        return self.estimate.value

    def as_json(self) -> dict[str, object]:
        """The estimate, and the form."""
        return {**self.estimate.as_json(), "form": self.form}


def embedded(
    texts: Sequence[str], encoder: Encoder | None, pairs: Int[np.ndarray, "pairs 2"], confidence: float
) -> tuple[Estimate, Float[np.ndarray, " pairs"]]:
    """Embedding variance of texts, and the half squared distance of each pair."""
    none = np.full(len(pairs), np.nan)
    if encoder is None:
        return Estimate.undefined("no encoder was given"), none
    if len(texts) < 2 or not all(text.strip() for text in texts):
        return Estimate.undefined("fewer than two runs, or a run without words"), none
    vectors = np.asarray(encoder.encode([canonical_text(text) for text in texts]), dtype=np.float64)
    halves = np.square(vectors[pairs[:, 0]] - vectors[pairs[:, 1]]).sum(axis=1) / 2
    return total_variance.embedding_total_variance(vectors, confidence), halves


def embedded_findings(
    good: Sequence[RunRecord], encoder: Encoder | None, pairs: Int[np.ndarray, "pairs 2"], confidence: float
) -> FieldVariance:
    """Embedding variance of the findings, all of a run as one text."""
    listed = [record.fields.key_findings if record.fields else None for record in good]
    if any(not findings for findings in listed):
        reason = "a run without findings has no embedding" if encoder else "no encoder was given"
        return FieldVariance(Estimate.undefined(reason), VarianceForm.EMBEDDING, np.full(len(pairs), np.nan))
    texts = ["\n".join(findings or ()) for findings in listed]
    return FieldVariance(*_form(embedded(texts, encoder, pairs, confidence)))


def _form(
    found: tuple[Estimate, Float[np.ndarray, " pairs"]],
) -> tuple[Estimate, VarianceForm, Float[np.ndarray, " pairs"]]:
    return found[0], VarianceForm.EMBEDDING, found[1]


def _set_variance(
    sets: Sequence[frozenset[str] | None], pairs: Int[np.ndarray, "pairs 2"], what: str, confidence: float
) -> FieldVariance:
    """Canonical variance of sets; runs that give no set to measure are left out."""
    halves = np.full(len(pairs), np.nan)
    given = [i for i, members in enumerate(sets) if members is not None]
    if len(given) < 2:
        reason = f"{len(given)} good run(s) list {what}: variance needs at least two"
        return FieldVariance(Estimate.undefined(reason, n=len(given)), VarianceForm.CANONICAL, halves)
    vectors = total_variance.canonical_set_vectors([members for members in sets if members is not None])
    place = {run: row for row, run in enumerate(given)}
    for p, (i, j) in enumerate(pairs.tolist()):
        if i in place and j in place:
            halves[p] = float(np.square(vectors[place[i]] - vectors[place[j]]).sum()) / 2
    return FieldVariance(pair_mean(halves, pairs, 1.0, confidence), VarianceForm.CANONICAL, halves)


def citations_variance(
    good: Sequence[RunRecord], pairs: Int[np.ndarray, "pairs 2"], confidence: float
) -> FieldVariance:
    """Canonical variance of the sources that runs name."""
    listed = [record.fields.sources_used if record.fields else None for record in good]
    sets = [None if sources is None else canonical_sources(sources) for sources in listed]
    return _set_variance(sets, pairs, "sources", confidence)


def findings_variance(
    good: Sequence[RunRecord],
    labeller: Labeller,
    pairs: Int[np.ndarray, "pairs 2"],
    critical_above: float,
    confidence: float,
) -> tuple[FieldVariance, tuple[CriticalPair, ...]]:
    """Variance of the findings over clusters of findings that mean the same, and findings of two runs that clash."""
    listed = [record.fields.key_findings if record.fields else None for record in good]
    none = FieldVariance(
        Estimate.undefined(f"a run lists more than {MOST_FINDINGS} findings: a dump"),
        VarianceForm.CANONICAL,
        np.full(len(pairs), np.nan),
    )
    if any(findings is not None and len(findings) > MOST_FINDINGS for findings in listed):
        return none, ()
    owners: dict[str, list[int]] = {}
    for record, findings in zip(good, listed, strict=True):
        for finding in findings or ():
            owners.setdefault(canonical_text(finding), []).append(record.index)
    if sum(findings is not None for findings in listed) < 2:
        return _set_variance([None] * len(good), pairs, "findings", confidence), ()
    distinct = list(owners)
    crossed = list(combinations(distinct, 2))
    labels = labeller.settle((Action(a), Action(b)) for a, b in crossed)
    relation: Int8[np.ndarray, "runs runs"] = np.full((len(distinct),) * 2, Relation.NEUTRAL, dtype=np.int8)
    place = {text: i for i, text in enumerate(distinct)}
    clashes, failed = [], []
    for a, b in crossed:
        judgement = labels.of(Action(a), Action(b))
        if judgement is None:
            failed.append(labels.failure(Action(a), Action(b)) or "not judged")
            continue
        relation[place[a], place[b]] = relation[place[b], place[a]] = judgement.relation
        score = contradiction_score(judgement)
        if score > critical_above and set(owners[a]) != set(owners[b]):
            clashes.append(_clash(a, b, owners, score, judgement.rule))
    if failed:
        reason = f"{len(failed)} pair(s) of findings could not be judged: {failed[0]}"
        return FieldVariance(Estimate.undefined(reason), VarianceForm.CANONICAL, none.per_pair), ()
    cluster = equivalence.equivalence_classes(relation).classes
    sets = [None if f is None else frozenset(f"cluster {cluster[place[canonical_text(x)]]}" for x in f) for f in listed]
    ranked = tuple(sorted(clashes, key=lambda pair: -pair.score))
    return _set_variance(sets, pairs, "findings", confidence), ranked


def _clash(a: str, b: str, owners: dict[str, list[int]], score: float, rule: str) -> CriticalPair:
    i, j = next((i, j) for i in owners[a] for j in owners[b] if i != j)
    return CriticalPair(*((i, j, a, b) if i < j else (j, i, b, a)), score, rule)


def volume(listed: Sequence[tuple[str, ...] | None], what: str) -> Estimate:
    """How much the number of items differs between runs, in items squared."""
    counts = [len(items) for items in listed if items is not None]
    if len(counts) < 2:
        return Estimate.undefined(f"{len(counts)} good run(s) list {what}: variance needs at least two", n=len(counts))
    value = total_variance.volume_total_variance(np.array(counts, dtype=np.float64))
    return Estimate(value, n=len(counts), reason="no interval: a description of these runs, not of the agent")
