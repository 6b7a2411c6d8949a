"""Faults of the published reliability layer, each beside what it did: the published behaviour fails these tests.

`published_*` restate what the published listing does, so that each test shows that it can fail. Faults of a service
(CORS, fetching URLs for the caller) belong to the service's tests; label order to the judges' (tests/backends).
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.metrics.total_variance import embedding_total_variance
from likewise.reliability.citations import canonical_sources
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.verdict import Label

SAFE, UNSAFE = "The drug is safe.", "The drug is not safe."


def published_reliability(outputs):
    """No pair, no variance: 1.0."""
    good = [text for text in outputs if text]
    pairs = list(combinations(good, 2))
    return 1.0 if not pairs else 1 - sum(a != b for a, b in pairs) / len(pairs)


def published_agreement(first, second):
    """Bags of words: shared share, without `not`."""
    a, b = ({word.strip(".") for word in text.lower().split()} for text in (first, second))
    return len(a & b) / len(a | b)


def layer(judge=None):
    return ReliabilityLayer(judge=judge or TableJudge(), encoder=LetterEncoder())


def test_all_runs_failed_is_no_evidence():
    assert published_reliability(["", "", ""]) == 1.0
    with pytest.raises(AgentError, match="all 3"):
        layer().score(["", "", ""])


def test_one_run_is_no_evidence():
    assert published_reliability(["yes", "", ""]) == 1.0
    verdict = layer().score(["yes", "", ""])
    assert verdict.reliability is None
    assert verdict.label is Label.NOT_MEASURED


def test_a_contradiction_is_critical_even_where_most_runs_agree():
    outputs = [SAFE] * 9 + [UNSAFE]
    assert published_reliability(outputs) == pytest.approx(0.8)  # "0.80, MEDIUM"
    verdict = layer(TableJudge({(SAFE, UNSAFE): Relation.CONTRADICTORY})).score(outputs)
    assert verdict.reliability == pytest.approx(0.8)
    assert verdict.label is Label.CRITICAL


def test_safe_does_not_agree_with_not_safe():
    assert published_agreement(SAFE, UNSAFE) == 0.8
    verdict = layer(TableJudge({(SAFE, UNSAFE): Relation.CONTRADICTORY})).score([SAFE, UNSAFE, SAFE])
    assert verdict.runs_agreed == "2/3"


def test_consensus_is_no_vote_of_strings():
    meant = ["Growth of 2%.", "It grew by 2%.", "2% growth."]
    outputs = [UNSAFE, meant[0], UNSAFE, meant[1], meant[2]]
    assert Counter(outputs).most_common(1)[0][0] == UNSAFE
    judge = TableJudge({(a, b): Relation.EQUIVALENT for a in meant for b in meant if a != b})
    assert layer(judge).score(outputs).consensus_answer in meant


def test_the_listing_returns_twice_the_total_variance():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    published = np.mean([np.sum((a - b) ** 2) for a, b in combinations(vectors, 2)])
    assert embedding_total_variance(vectors).value == pytest.approx(published / 2)


def test_citations_are_compared_as_addresses_not_as_sentences():
    one, other = "https://example.com/report?id=1", "https://example.com/report?id=2"
    vectors = LetterEncoder().encode([one, other])
    assert float(vectors[0] @ vectors[1]) > 0.99  # embedded, the two sources are one
    assert canonical_sources([one]) != canonical_sources([other])
    assert canonical_sources([one]) == canonical_sources(["http://EXAMPLE.com/report?id=1#top"])


def test_a_failed_run_leaves_the_fields_of_the_others_in_place():
    outputs = ["", {"main_answer": "a", "sources_used": ["https://a.org"]}, {"main_answer": "b", "sources_used": []}]
    parsed_published = [fields for fields in outputs if fields]  # position 0 is now run 1
    assert parsed_published[0]["main_answer"] == "a"
    records = layer().score(outputs).records
    assert [record.index for record in records] == [0, 1, 2]
    assert records[1].fields.main_answer == "a"
    assert not records[0].good
