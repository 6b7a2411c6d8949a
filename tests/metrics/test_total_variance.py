"""Total variance of runs, canonical and embedding."""

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

answers = st.lists(st.integers(0, 3), min_size=2, max_size=8)
finding_sets = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=2, max_size=6)


def double_sum(vectors):
    """Eq. 6 as it is written."""
    n = len(vectors)
    return sum(np.sum((x - y) ** 2) for x in vectors for y in vectors) / (2 * n * (n - 1))


def test_two_opposite_vectors_have_total_variance_two():
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert total_variance(vectors) == pytest.approx(2.0)
    assert embedding_total_variance(vectors).value == pytest.approx(2.0)


def test_two_orthogonal_vectors_have_total_variance_one_and_not_two():
    # The published listing, a mean over i < j of |x - y|^2, gives twice the formula: 2 here.
    vectors = np.eye(2)
    listing = np.mean([np.sum((x - y) ** 2) for x, y in combinations(vectors, 2)])
    assert listing == 2.0
    assert total_variance(vectors) == pytest.approx(1.0)


def test_a_hundred_findings_against_ninety_nine_of_them():
    hundred = frozenset(map(str, range(100)))
    assert total_variance(canonical_set_vectors([hundred, hundred - {"7"}])) == pytest.approx(1 - math.sqrt(0.99))


def test_ten_findings_against_nine_of_them():
    ten = frozenset(map(str, range(10)))
    assert round(total_variance(canonical_set_vectors([ten, ten - {"7"}])), 3) == 0.051


def test_an_empty_set_against_findings_is_half():
    assert total_variance(canonical_set_vectors([frozenset(), frozenset("ab")])) == pytest.approx(0.5)


def test_canonical_vectors_match_those_written_by_hand():
    assert canonical_answer_vectors(np.array([4, 2, 4])).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert canonical_answer_vectors(np.array([4, 2, 4])).dtype == np.float64
    root = 1 / math.sqrt(2)
    expected = [[root, root, 0], [0, 0, 1], [0, 0, 0]]
    assert canonical_set_vectors([frozenset("ba"), frozenset("c"), frozenset()]) == pytest.approx(np.array(expected))
    assert canonical_set_vectors([frozenset(), frozenset()]).shape == (2, 0)


def test_volume_variance_of_counts_is_their_sample_variance():
    assert volume_total_variance(np.array([2, 4, 9])) == pytest.approx((9 + 1 + 16) / 2)


def test_answers_three_to_one_disagree_in_half_of_the_pairs():
    estimate = answer_total_variance(np.array([0, 0, 0, 1]))
    assert estimate.value == pytest.approx(0.5)  # 3 of 6 pairs
    # Without one of the three: 2 of 3 pairs; without the odd one: none.
    stderr = math.sqrt(3 / 4 * (3 * (1 / 6) ** 2 + (1 / 2) ** 2))
    assert estimate.stderr == pytest.approx(stderr)
    # Limits where 2 KL(1/2 || m) = log(40): m (1 - m) = 1/160.
    assert (estimate.low, estimate.high) == pytest.approx((0.00629, 0.99371), abs=1e-4)
    assert estimate.n == 4


@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_total_variance_equals_the_double_sum_and_the_closed_form(n, dim, seed):
    vectors = np.random.default_rng(seed).normal(size=(n, dim))
    assert total_variance(vectors) == pytest.approx(double_sum(vectors))
    unit = normalise_rows(vectors)
    closed = n / (n - 1) * (1 - np.sum(unit.mean(axis=0) ** 2))
    assert total_variance(unit) == pytest.approx(closed)
    assert embedding_total_variance(unit).value == pytest.approx(closed)


@given(answers)
@settings(max_examples=50, deadline=None)
def test_answer_variance_is_the_share_of_pairs_that_disagree(classes):
    pairs = list(combinations(classes, 2))
    share = sum(a != b for a, b in pairs) / len(pairs)
    estimate = answer_total_variance(np.array(classes))
    assert estimate.value == pytest.approx(share)
    assert total_variance(canonical_answer_vectors(np.array(classes))) == pytest.approx(share)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high


@given(finding_sets)
@settings(max_examples=50, deadline=None)
def test_set_variance_lies_between_zero_and_one_and_ignores_the_order_of_runs(sets):
    value = total_variance(canonical_set_vectors(sets))
    assert -1e-12 <= value <= 1 + 1e-12
    assert total_variance(canonical_set_vectors(sets[::-1])) == pytest.approx(value)


def test_one_answer_flipped_away_from_a_majority_raises_the_variance():
    values = [answer_total_variance(np.array([0] * (6 - k) + list(range(1, k + 1)))).value for k in range(6)]
    assert values == sorted(values)
    assert values[-1] == 1.0


def test_five_equal_answers_leave_room_for_disagreement():
    estimate = answer_total_variance(np.zeros(5, dtype=np.int64))
    assert (estimate.value, estimate.low) == (0.0, 0.0)
    assert estimate.high == pytest.approx(1 - 0.025 ** (2 / 5), abs=1e-3)


def test_an_even_split_whose_jackknife_has_no_spread_gets_a_wide_interval():
    estimate = answer_total_variance(np.array([0, 0, 1, 1]))
    assert estimate.value == pytest.approx(2 / 3)
    assert estimate.high - estimate.low > 0.5


def test_embedding_variance_of_equal_rows_is_zero_with_an_upper_limit():
    estimate = embedding_total_variance(np.tile([0.6, 0.8], (6, 1)))
    assert estimate.value == pytest.approx(0.0)
    assert 0 < estimate.high <= 6 / 5


def test_runs_without_an_answer_leave_the_variance():
    assert answer_total_variance(np.array([0, -1, 1, 1])) == answer_total_variance(np.array([0, 1, 1]))


def test_two_runs_leave_almost_everything_open_and_one_run_gives_no_number():
    two, one = answer_total_variance(np.array([0, 1])), answer_total_variance(np.array([0, -1]))
    # One pair that differs: the limit is the m at which that has probability 1/40.
    assert (two.value, two.low, two.high) == pytest.approx((1.0, 0.025, 1.0), abs=1e-4)
    assert not one.defined
    assert "at least two" in one.reason
    alone = embedding_total_variance(np.array([[1.0, 0.0]]))
    assert (alone.value, alone.n) == (None, 1)
    assert alone.reason == "1 measured run(s): total variance needs at least two"


def test_opposite_embeddings_that_are_a_little_too_long_differ_by_two_and_not_more():
    # 1 + 1e-5 is within what counts as length 1; (2 + 2e-5)^2 / 2 would be above 2.
    two = np.array([[1.00001, 0.0], [-1.00001, 0.0]])
    assert embedding_total_variance(two).value == 2.0


def test_zero_rows_stay_zero():
    assert normalise_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_one_run_is_refused():
    with pytest.raises(ValueError, match="total variance needs at least two runs, got 1"):
        total_variance(np.array([[1.0]]))


def test_a_run_without_an_answer_is_no_class():
    with pytest.raises(ValueError, match="not measured; leave it out"):
        canonical_answer_vectors(np.array([0, -1]))


def test_embeddings_that_are_not_normalised_are_refused():
    with pytest.raises(ValueError, match="embeddings have length 1"):
        embedding_total_variance(np.array([[2.0, 0.0], [1.0, 0.0]]))


def test_negative_counts_are_refused():
    with pytest.raises(ValueError, match="counts are at least 0"):
        volume_total_variance(np.array([1, -1]))
