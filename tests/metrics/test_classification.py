from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.metrics.classification import (
    ClassScore,
    accuracy,
    class_scores,
    confusion_matrix,
    macro_f1,
    mean_distance_error,
)

# rows: truth; columns: guess
MATRIX = np.array([[5, 1, 0], [2, 3, 1], [0, 0, 0]])


def test_confusion_counts_truth_by_row_and_guess_by_column():
    truth, guess = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 0, 0])
    assert confusion_matrix(truth, guess, 3).tolist() == [[1, 1, 0], [0, 1, 0], [2, 0, 0]]


def test_no_rows_make_a_matrix_of_zeros():
    empty = np.array([], dtype=np.int64)
    assert confusion_matrix(empty, empty, 3).tolist() == [[0] * 3] * 3


def test_accuracy_is_the_share_on_the_diagonal_with_wilsons_interval():
    estimate = accuracy(np.diag([6, 4, 0]))
    assert (estimate.value, estimate.n, estimate.high) == (1.0, 10, 1.0)
    assert estimate.low == pytest.approx(0.7225, abs=1e-4)  # 10 of 10
    assert accuracy(MATRIX).value == 8 / 12


def test_class_scores_are_those_worked_out_by_hand():
    first, second, third = class_scores(MATRIX)
    # class 0: guessed 7, true 6, hit 5; class 1: guessed 4, true 6, hit 3; class 2: guessed once, never true
    assert first == ClassScore(5 / 7, 5 / 6, 10 / 13, 6)
    assert second == ClassScore(3 / 4, 3 / 6, 6 / 10, 6)
    assert third == ClassScore(0.0, None, 0.0, 0)


def test_a_class_that_is_neither_true_nor_guessed_has_no_score():
    assert class_scores(np.diag([1, 1, 0]))[2] == ClassScore(None, None, None, 0)


def test_macro_f1_leaves_out_classes_without_examples():
    assert macro_f1(MATRIX).value == pytest.approx((10 / 13 + 6 / 10) / 2)


def test_a_class_that_is_never_found_counts_zero():
    assert macro_f1(np.array([[4, 0], [1, 0]])).value == pytest.approx((8 / 9 + 0) / 2)


def test_the_error_of_distances_is_half_a_step_for_a_neighbour_and_one_for_the_opposite():
    # Four of twelve rows are one class off: 4 * 0.5 / 12.
    assert mean_distance_error(MATRIX).value == pytest.approx(2 / 12)
    # Of ten rows one equivalent pair is called contradictory, and one contradictory pair neutral: (1 + 0.5) / 10.
    assert mean_distance_error(np.array([[4, 0, 1], [0, 2, 0], [0, 1, 2]])).value == pytest.approx(0.15)


@pytest.mark.parametrize("figure", [macro_f1, mean_distance_error])
def test_an_interval_is_that_of_rows_drawn_with_replacement(figure):
    matrix = np.array([[50, 10, 2], [8, 40, 5], [1, 6, 30]])
    rows = np.repeat(np.arange(9), matrix.ravel())
    drawn = np.random.default_rng(3).choice(rows, (2000, len(rows)))
    each = [figure(np.bincount(row, minlength=9).reshape(3, 3), resamples=1).value for row in drawn]
    found = figure(matrix, confidence=0.5)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(each, (0.25, 0.75))), abs=0.004)
    assert found.n == 152


def test_without_rows_there_is_a_reason_and_no_number():
    nothing = np.zeros((3, 3), dtype=np.int64)
    for figure in (accuracy, macro_f1, mean_distance_error):
        assert figure(nothing).reason == "no pair was judged"
        assert (figure(nothing).value, figure(nothing).n) == (None, 0)


def test_the_same_seed_gives_the_same_interval():
    assert macro_f1(MATRIX, seed=1) == macro_f1(MATRIX, seed=1)
    assert macro_f1(MATRIX, seed=1) != macro_f1(MATRIX, seed=2)


labels = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30)


def plain_macro_f1(rows):
    """By definition from the rows, class by class, without a matrix."""
    scores = []
    for c in {truth for truth, _ in rows}:
        hit = sum(truth == guess == c for truth, guess in rows)
        wrong = sum((truth == c) != (guess == c) for truth, guess in rows)
        scores.append(2 * hit / (2 * hit + wrong))
    return sum(scores) / len(scores)


@given(labels)
def test_scores_equal_their_definition_row_by_row(rows):
    truth, guess = (np.array(column) for column in zip(*rows, strict=True))
    matrix = confusion_matrix(truth, guess, 3)
    assert macro_f1(matrix, resamples=1).value == pytest.approx(plain_macro_f1(rows))
    assert accuracy(matrix).value == pytest.approx(np.mean(truth == guess))
    assert mean_distance_error(matrix, resamples=1).value == pytest.approx(np.mean(np.abs(truth - guess)) / 2)


@given(labels)
def test_the_interval_holds_the_value(rows):
    truth, guess = (np.array(column) for column in zip(*rows, strict=True))
    estimate = macro_f1(confusion_matrix(truth, guess, 3), resamples=200)
    if estimate.low is None:
        assert "no spread" in estimate.reason
        return
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
