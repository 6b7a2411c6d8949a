"""Faults of the published reliability layer, each beside what it did: the published behaviour fails these tests.

`published_*` restate what the published listing does, so that each test shows that it can fail. FAULTS names the test
of each fault, here or elsewhere: those of a service (CORS, fetching URLs for the caller) belong to the service's tests,
label order to the judges'.
"""

from __future__ import annotations

import ast
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.metrics.total_variance import embedding_total_variance
from likewise.reliability.citations import canonical_sources
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.verdict import Label

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reliability.md"
HERE, LAYER = "reliability/test_published_faults.py", "reliability/test_layer.py"

FAULTS: dict[str, tuple[str, ...]] = {
    "all runs failed is 1.0 HIGH": (f"{HERE}::test_all_runs_failed_is_no_evidence",),
    "one run is 1.0 HIGH": (f"{HERE}::test_one_run_is_no_evidence",),
    "a failed run shifts the others' fields": (
        f"{HERE}::test_a_failed_run_leaves_the_fields_of_the_others_in_place",
        "reliability/test_runner.py::test_a_failed_run_does_not_shift_the_others",
    ),
    "two runs thrown away when adaptive escalates": (
        f"{LAYER}::test_adaptive_goes_on_where_two_runs_contradict_each_other_and_reuses_them",
    ),
    "standard and full do the same": (f"{LAYER}::test_full_measures_more_than_standard",),
    "consensus by exact string": (f"{HERE}::test_consensus_is_no_vote_of_strings",),
    "agreement by bag of words": (f"{HERE}::test_safe_does_not_agree_with_not_safe",),
    "audit text cut to 300 characters": (f"{LAYER}::test_the_audit_trail_is_never_cut",),
    "citations embedded": (f"{HERE}::test_citations_are_compared_as_addresses_not_as_sentences",),
    "one joined text": (
        f"{LAYER}::test_two_directions_are_asked_as_a_pair_of_texts",
        "backends/test_hf_nli.py::test_the_two_texts_are_a_true_pair_not_one_string",
    ),
    "label order assumed": (
        "backends/test_hf_nli.py::test_the_label_order_is_read_from_the_config",
        "backends/test_onnx_nli.py::test_the_label_order_comes_from_the_config",
    ),
    "one direction only": (f"{LAYER}::test_two_directions_are_asked_as_a_pair_of_texts",),
    "both models loaded on every request": (f"{LAYER}::test_models_load_with_the_first_query_and_once",),
    "a default mode that the code rejects": (
        "reliability/test_policy.py::test_the_defaults_are_the_published_ones",
        "reliability/test_policy.py::test_every_mode_that_is_offered_works",
    ),
    "asyncio.run inside a running loop": (
        "reliability/test_runner.py::test_it_works_inside_a_running_loop_from_both_sides",
    ),
    "CORS for all with credentials": ("service/test_limits.py::test_no_other_origin_may_read_answers",),
    "any URL fetched for the caller": (
        "service/security/test_outbound.py::test_no_spelling_of_what_is_not_listed_is_dialled",
        "service/security/test_allow_list.py::test_a_spelling_of_an_address_that_is_not_listed_is_refused",
    ),
    "a measured contradiction overwritten with 0.0": (
        f"{LAYER}::test_a_measured_contradiction_is_kept_through_escalation",
    ),
    "a contradiction that reads 0.81 MEDIUM": (f"{HERE}::test_a_contradiction_is_critical_even_where_most_runs_agree",),
    "twice the total variance": (f"{HERE}::test_the_listing_returns_twice_the_total_variance",),
}
"""Fault of the published code to the tests that hold it off."""

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


def functions(file):
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("name", sorted({name for names in FAULTS.values() for name in names}))
def test_every_test_that_is_said_to_hold_a_fault_is_there(name):
    file, _, function = name.partition("::")
    assert function in functions(file)


def test_the_page_names_the_tests_of_each_fault():
    rows = [f"| {fault} | {', '.join(f'`{name}`' for name in names)} |" for fault, names in FAULTS.items()]
    table = PAGE.read_text(encoding="utf-8").split("| fault | test |\n|---|---|\n")[1]
    assert table.splitlines()[: len(rows) + 1] == rows


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
