"""Classes of runs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.equivalence import EquivalenceClasses, dominant_share, equivalence_classes


def relation_of(n, equivalent=(), missing=()):
    """Neutral everywhere but for the pairs given."""
    relation = np.ones((n, n), dtype=np.int8)
    for pairs, kind in ((equivalent, 0), (missing, -1)):
        for i, j in pairs:
            relation[i, j] = relation[j, i] = kind
    return relation


def test_classes_are_numbered_by_their_first_member():
    result = equivalence_classes(relation_of(5, [(1, 3), (0, 4)]))
    assert result == EquivalenceClasses((0, 1, 2, 1, 0), 0, (2, 2, 1))


def test_a_chain_is_one_class_and_its_open_end_is_counted():
    assert equivalence_classes(relation_of(3, [(0, 1), (1, 2)])) == EquivalenceClasses((0, 0, 0), 1, (3,))
    # 0-1-2-3 in a row: the triples 0 1 2 and 1 2 3 are open.
    assert equivalence_classes(relation_of(4, [(0, 1), (1, 2), (2, 3)])).transitivity_violations == 2
    # A star of three leaves: each pair of leaves is open.
    assert equivalence_classes(relation_of(4, [(0, 1), (0, 2), (0, 3)])).transitivity_violations == 3


def test_an_open_end_that_was_not_measured_is_no_violation():
    assert equivalence_classes(relation_of(3, [(0, 1), (1, 2)], [(0, 2)])).transitivity_violations == 0


def test_a_run_without_an_action_has_no_class():
    result = equivalence_classes(relation_of(4, [(0, 3)], [(1, 0), (1, 2), (1, 3)]))
    assert result == EquivalenceClasses((0, -1, 1, 0), 0, (2, 1))


def test_the_diagonal_is_ignored():
    relation = relation_of(3, [(0, 2)])
    for value in (-1, 0, 2):
        np.fill_diagonal(relation, value)
        assert equivalence_classes(relation).classes == (0, 1, 0)


def closure(relation):
    """Classes by repeated merging of sets."""
    n = len(relation)
    classes = [{i} for i in range(n)]
    for i, j in combinations(range(n), 2):
        if relation[i, j] == 0:
            a, b = (next(c for c in classes if run in c) for run in (i, j))
            if a is not b:
                classes.remove(b)
                a |= b
    return {frozenset(members) for members in classes}


@st.composite
def relations(draw):
    n = draw(st.integers(2, 6))
    relation = np.ones((n, n), dtype=np.int8)
    for i, j in combinations(range(n), 2):
        relation[i, j] = relation[j, i] = draw(st.sampled_from([0, 0, 1, 2]))
    return relation


@given(relations())
@settings(max_examples=60, deadline=None)
def test_classes_and_violations_equal_brute_force(relation):
    result = equivalence_classes(relation)
    members = {
        frozenset(run for run, kind in enumerate(result.classes) if kind == each) for each in set(result.classes)
    }
    assert members == closure(relation)
    violations = sum(
        sorted(int(relation[a, b] == 0) for a, b in combinations(triple, 2)) == [0, 1, 1]
        for triple in combinations(range(len(relation)), 3)
    )
    assert result.transitivity_violations == violations
    assert sum(result.sizes) == len(relation)
    first_members = [result.classes.index(kind) for kind in range(len(result.sizes))]
    assert first_members == sorted(first_members)


@given(relations(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_reordering_the_runs_keeps_sizes_and_violations(relation, random):
    order = list(range(len(relation)))
    random.shuffle(order)
    shuffled = equivalence_classes(relation[np.ix_(order, order)])
    original = equivalence_classes(relation)
    assert sorted(shuffled.sizes) == sorted(original.sizes)
    assert shuffled.transitivity_violations == original.transitivity_violations


def test_four_of_five_agree_with_a_wide_interval():
    share = dominant_share((0, 0, 1, 0, 0))
    assert share.value == 0.8
    assert (share.low, share.high) == pytest.approx((0.3755, 0.9638), abs=5e-5)  # Wilson 4/5, published tables
    assert dominant_share(np.array([0, 0, 1, 0, 0])) == share
    assert dominant_share(EquivalenceClasses((0, 0, 1, 0, 0), 0, (4, 1))) == share


def test_runs_without_a_class_leave_the_share():
    assert dominant_share((0, -1, 1, 0)).value == pytest.approx(2 / 3)
    assert dominant_share((-1, -1)).reason == "no run was measured"


def test_a_relation_that_depends_on_direction_is_refused():
    relation = relation_of(3)
    relation[0, 2] = 2
    with pytest.raises(ValueError, match="runs 0 and 2 differ by direction"):
        equivalence_classes(relation)
