"""Sentences of arXiv:2602.23271 and of the blog post as tests."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.total_variance import (
    answer_total_variance,
    canonical_answer_vectors,
    canonical_set_vectors,
    embedding_total_variance,
    normalise_rows,
    total_variance,
    volume_total_variance,
)

nonempty_sets = st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1), min_size=2, max_size=6)


@given(nonempty_sets)
@settings(max_examples=50, deadline=None)
def test_equation_6_is_the_double_sum_over_runs(sets):
    x = canonical_set_vectors(sets)
    n = len(x)
    double = sum(float(np.sum((x[i] - x[j]) ** 2)) for i in range(n) for j in range(n)) / (2 * n * (n - 1))
    assert total_variance(x) == pytest.approx(double)
    assert -1e-12 <= total_variance(x) <= 1 + 1e-12


@given(st.lists(st.integers(0, 20), min_size=2, max_size=6))
@settings(max_examples=50, deadline=None)
def test_equation_7_is_the_same_form_on_counts(counts):
    n = len(counts)
    double = sum((a - b) ** 2 for a in counts for b in counts) / (2 * n * (n - 1))
    assert volume_total_variance(np.array(counts)) == pytest.approx(double)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8))
@settings(max_examples=50, deadline=None)
def test_equation_13_answer_variance_is_the_probability_that_two_runs_disagree(answers):
    pairs = list(combinations(answers, 2))
    disagree = sum(a != b for a, b in pairs) / len(pairs)
    assert total_variance(canonical_answer_vectors(np.array(answers))) == pytest.approx(disagree)
    assert answer_total_variance(np.array(answers)).value == pytest.approx(disagree)


@given(nonempty_sets)
@settings(max_examples=50, deadline=None)
def test_equation_15_set_variance_is_one_minus_the_mean_overlap_where_no_set_is_empty(sets):
    overlaps = [len(a & b) / math.sqrt(len(a) * len(b)) for a, b in combinations(sets, 2)]
    assert total_variance(canonical_set_vectors(sets)) == pytest.approx(1 - sum(overlaps) / len(overlaps))


def test_equation_15_does_not_hold_for_an_empty_set_and_equation_6_does():
    # Overlap with nothing would make Eq. 15 give 1; Eq. 6 gives half the squared length of the other.
    assert total_variance(canonical_set_vectors([frozenset(), frozenset("abc")])) == pytest.approx(0.5)


def test_one_missing_finding_weighs_less_the_more_findings_there_are():
    hundred, ten = frozenset(map(str, range(100))), frozenset(map(str, range(10)))
    assert round(total_variance(canonical_set_vectors([hundred, hundred - {"0"}])), 3) == 0.005
    assert round(total_variance(canonical_set_vectors([ten, ten - {"0"}])), 3) == 0.051


@pytest.mark.parametrize("n", [2, 5, 8])
def test_the_posts_formula_is_right_and_its_listing_returns_twice_that(n):
    x = normalise_rows(np.random.default_rng(n).normal(size=(n, 6)))
    listing = float(np.mean([np.sum((x[i] - x[j]) ** 2) for i in range(n) for j in range(i + 1, n)]))
    assert listing == pytest.approx(2 * total_variance(x))
    closed_form = n / (n - 1) * (1 - float(np.sum(x.mean(axis=0) ** 2)))
    assert embedding_total_variance(x).value == pytest.approx(closed_form)


def test_two_opposite_embeddings_have_variance_two_so_one_minus_it_is_negative():
    assert embedding_total_variance(np.array([[0.6, 0.8], [-0.6, -0.8]])).value == pytest.approx(2.0)
