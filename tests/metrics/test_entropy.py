"""Semantic entropy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from likewise.metrics.entropy import normalised_entropy, semantic_entropy, unique_string_weights

PARIS = ("Paris", "Paris", "Paris", "It's Paris", "London")
PARIS_CLASSES = (0, 0, 0, 0, 1)
classes_of_runs = st.lists(st.integers(0, 4), min_size=2, max_size=10)


def test_entropies_match_values_worked_by_hand():
    assert semantic_entropy((0, 0, 0)) == 0.0
    assert semantic_entropy((0, 1)) == pytest.approx(math.log(2))
    assert semantic_entropy(PARIS_CLASSES) == pytest.approx(-(0.8 * math.log(0.8) + 0.2 * math.log(0.2)))
    assert normalised_entropy((0, 1, 2)) == pytest.approx(1.0)
    assert normalised_entropy((0, 0, 1, 1)) == pytest.approx(0.5)


def test_likelihood_weights_count_each_string_once():
    weights = unique_string_weights(PARIS, (0.6, 0.6, 0.6, 0.3, 0.1))
    assert weights == pytest.approx([0.6, 0.0, 0.0, 0.3, 0.1])
    expected = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    assert semantic_entropy(PARIS_CLASSES, weights) == pytest.approx(expected)
    assert 0 <= normalised_entropy(PARIS_CLASSES, weights) <= 1


@given(classes_of_runs)
@settings(deadline=None)
def test_entropy_equals_that_of_scipy_and_is_bounded(classes):
    shares = np.unique(classes, return_counts=True)[1] / len(classes)
    assert semantic_entropy(classes) == pytest.approx(stats.entropy(shares), abs=1e-12)
    assert 0 <= semantic_entropy(np.array(classes)) <= math.log(len(shares)) + 1e-12
    assert 0 <= normalised_entropy(classes) <= 1


@given(classes_of_runs, st.integers(0, 4))
@settings(deadline=None)
def test_renaming_classes_and_reordering_runs_changes_nothing(classes, shift):
    renamed = [(kind * 3 + shift) for kind in reversed(classes)]
    assert semantic_entropy(renamed) == pytest.approx(semantic_entropy(classes))


def test_runs_that_were_not_measured_are_left_out():
    assert semantic_entropy((0, -1, 1)) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: semantic_entropy(()), "no run was measured: entropy is undefined, not 0"),
        (lambda: semantic_entropy((-1, -1)), "no run was measured"),
        (lambda: normalised_entropy((0,)), "at least two measured runs"),
        (lambda: semantic_entropy((0, 1), np.array([-1.0, 2.0])), "weights are finite, at least 0"),
        (lambda: semantic_entropy((0, 1), np.array([1.0])), "2 runs need as many weights, got 1"),
        (lambda: unique_string_weights(("a",), (0.0,)), "likelihoods sum to 0"),
        (lambda: unique_string_weights(("a", "b"), (0.5,)), "2 texts need as many likelihoods, got 1"),
    ],
)
def test_what_has_no_entropy_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
