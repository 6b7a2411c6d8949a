"""Monte Carlo divergence of recorded rollouts."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.estimate import Estimate
from likewise.core.group import LengthPolicy
from likewise.metrics.divergence import (
    as_share,
    discounted_sum,
    divergence_band,
    first_unmeasured_turn,
    largest_divergence,
    monte_carlo_rsd,
    normalised,
    per_turn_mean,
    relation_shares,
    rsd_from_turn,
    turn_distances,
)

NAN = math.nan
ABSORB, TRUNCATE = LengthPolicy.ABSORB, LengthPolicy.TRUNCATE
PAIR = np.array([[0, 1]])


def all_pairs(n):
    return np.array(list(combinations(range(n), 2)), dtype=np.int64).reshape(-1, 2)


@pytest.mark.parametrize(
    ("lengths", "cut", "distance", "absorbed", "unmeasured_from", "truncated", "unmeasured_truncated"),
    [
        # both ended together
        ((2, 2), (0, 0), [0.5, 1, NAN, NAN], [0.5, 1, 0, 0], -1, [0.5, 1, NAN, NAN], -1),
        # one ended earlier: END against action is 1, END against END is 0
        ((1, 3), (0, 0), [0.5, NAN, NAN, NAN], [0.5, 1, 1, 0], -1, [0.5, NAN, NAN, NAN], -1),
        # the longer was cut: END against action until the cut, then unknown
        ((1, 3), (0, 1), [0.5, NAN, NAN, NAN], [0.5, 1, 1, NAN], 3, [0.5, NAN, NAN, NAN], -1),
        # the shorter was cut
        ((1, 3), (1, 0), [0.5, NAN, NAN, NAN], [0.5, NAN, NAN, NAN], 1, [0.5, NAN, NAN, NAN], 1),
        # both cut, at different turns
        ((3, 2), (1, 1), [0, 0.5, NAN, NAN], [0, 0.5, NAN, NAN], 2, [0, 0.5, NAN, NAN], 2),
        # cut where the other ended
        ((2, 2), (0, 1), [0, 0.5, NAN, NAN], [0, 0.5, NAN, NAN], 2, [0, 0.5, NAN, NAN], -1),
        # a rollout without any action
        ((0, 2), (0, 0), [NAN, NAN, NAN, NAN], [1, 1, 0, 0], -1, [NAN, NAN, NAN, NAN], -1),
    ],
)
def test_turns_after_an_end_or_a_cut_match_the_table_worked_by_hand(
    lengths, cut, distance, absorbed, unmeasured_from, truncated, unmeasured_truncated
):
    lengths, cut, distance = np.array(lengths), np.array(cut, dtype=bool), np.array([distance], dtype=float)
    for policy, turns, first in ((ABSORB, absorbed, unmeasured_from), (TRUNCATE, truncated, unmeasured_truncated)):
        np.testing.assert_array_equal(turn_distances(distance, PAIR, lengths, cut, policy), [turns])
        assert first_unmeasured_turn(PAIR, lengths, cut, policy).tolist() == [first]
    assert first_unmeasured_turn(PAIR, lengths, cut).tolist() == [unmeasured_from]


def test_discounted_sum_matches_a_sum_worked_by_hand():
    turns = np.array([[1.0, 0.5, 0.0, 1.0], [0.0, NAN, NAN, NAN]])
    assert discounted_sum(turns, 0.5) == pytest.approx([1 + 0.25 + 0.125, 0.0])
    assert discounted_sum(turns, 0.0) == pytest.approx([1.0, 0.0])


def test_the_band_of_a_pair_cut_at_turn_two_adds_all_that_may_follow():
    turns = np.array([[1.0, 0.5, NAN], [1.0, 0.5, 0.5]])
    low, high = divergence_band(turns, np.array([2, -1]), 0.8)
    assert low == pytest.approx([1.4, 1.72])
    assert high == pytest.approx([1.4 + 0.64 / 0.2, 1.72])


def test_the_standard_error_of_three_rollouts_is_a_jackknife_worked_by_hand():
    # Divergences 0, 1, 1 at gamma 0: mean 2/3; without rollout 0, 1, 2: 1, 1, 0.
    turns = np.array([[0.0], [1.0], [1.0]])
    rsd = monte_carlo_rsd(turns, all_pairs(3), 3, 0.0)
    stderr = math.sqrt(2 / 3 * ((1 / 3) ** 2 + (1 / 3) ** 2 + (2 / 3) ** 2))
    assert rsd.value == pytest.approx(2 / 3)
    assert rsd.stderr == pytest.approx(stderr)
    assert rsd.n == 3
    # Limits where 1.5 KL(2/3 || m) = log(40): m = .0098 (by hand) and .9999.
    assert (rsd.low, rsd.high) == pytest.approx((0.0098, 0.9999), abs=3e-4)


def test_the_standard_error_of_monte_carlo_rsd_is_a_jackknife_by_deletion():
    generator = np.random.default_rng(5)
    n, gamma = 12, 0.6
    positions = generator.random((n, 7))
    pairs = all_pairs(n)
    turns = np.abs(positions[pairs[:, 0]] - positions[pairs[:, 1]])
    rsd = monte_carlo_rsd(turns, pairs, n, gamma, confidence=0.9)
    by_pair = {
        (i, j): sum(gamma**t * abs(positions[i, t] - positions[j, t]) for t in range(7))
        for i, j in combinations(range(n), 2)
    }
    without = [np.mean([d for pair, d in by_pair.items() if left_out not in pair]) for left_out in range(n)]
    stderr = math.sqrt((n - 1) ** 2 / n * np.var(without, ddof=1))
    assert rsd.value == pytest.approx(np.mean(list(by_pair.values())))
    assert rsd.stderr == pytest.approx(stderr)


def test_the_interval_holds_the_true_value_at_least_as_often_as_it_says():
    # One turn, distance |x - y| of two uniform numbers: the true mean is 1/3.
    generator = np.random.default_rng(2)
    pairs, held = all_pairs(10), 0
    for _ in range(100):
        x = generator.random(10)
        rsd = monte_carlo_rsd(np.abs(x[pairs[:, 0]] - x[pairs[:, 1]])[:, None], pairs, 10, 0.0)
        held += rsd.low <= 1 / 3 <= rsd.high
    assert held >= 95


def test_per_turn_mean_leaves_out_what_was_not_measured():
    turns = np.array([[0.5, NAN, NAN], [1.0, 0.0, NAN]])
    np.testing.assert_array_equal(per_turn_mean(turns), [0.75, 0.0, NAN])


def test_rsd_from_turn_matches_tails_worked_by_hand():
    turns = np.array([[1.0, 0.5, NAN, NAN], [0.0, 0.5, 1.0, NAN]])
    # Column means with NaN as 0: 0.5, 0.5, 0.5.
    np.testing.assert_allclose(rsd_from_turn(turns, 0.5), [0.875, 0.75, 0.5, NAN])


def test_relation_shares_count_the_measured_pairs_of_each_turn():
    relation = np.array([[0, 2, -1], [1, -1, -1], [0, 1, -1], [2, 1, -1]], dtype=np.int8)
    np.testing.assert_allclose(relation_shares(relation), [[0.5, 0.25, 0.25], [0, 2 / 3, 1 / 3], [NAN, NAN, NAN]])


@st.composite
def groups(draw):
    """Lengths, cuts and distances of a small group, with NaN where a rollout has no action."""
    n = draw(st.integers(2, 5))
    lengths = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    cut = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    pairs = all_pairs(n)
    cells = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=5 * len(pairs), max_size=5 * len(pairs))
    distance = np.array(draw(cells)).reshape(len(pairs), 5)
    for row, (i, j) in enumerate(pairs):
        distance[row, min(lengths[i], lengths[j]) :] = NAN
    return distance, pairs, lengths, cut


def one_turn(distance, ended_i, ended_j, unknown):
    """What a turn counts as, spelled out for one pair."""
    if unknown:
        return NAN
    if ended_i and ended_j:
        return 0.0
    return 1.0 if ended_i or ended_j else distance


@given(groups())
@settings(max_examples=60, deadline=None)
def test_absorbed_turns_equal_the_rule_spelled_out_pair_by_pair(group):
    distance, pairs, lengths, cut = group
    filled = turn_distances(distance, pairs, lengths, cut, ABSORB)
    for row, (i, j) in enumerate(pairs):
        for turn in range(5):
            unknown = (cut[i] and turn >= lengths[i]) or (cut[j] and turn >= lengths[j])
            expected = one_turn(distance[row, turn], turn >= lengths[i], turn >= lengths[j], unknown)
            np.testing.assert_equal(filled[row, turn], expected)


@given(groups(), st.floats(0, 0.95))
@settings(max_examples=60, deadline=None)
def test_a_band_holds_every_way_the_cut_rollouts_could_have_gone_on(group, gamma):
    distance, pairs, lengths, cut = group
    filled = turn_distances(distance, pairs, lengths, cut, ABSORB)
    low, high = divergence_band(filled, first_unmeasured_turn(pairs, lengths, cut), gamma)
    assert (low >= 0).all()
    assert (high <= 1 / (1 - gamma) + 1e-9).all()
    for unknown in (0.0, 0.5, 1.0):
        possible = np.where(np.isnan(filled), unknown, filled)
        assert (discounted_sum(possible, gamma) >= low - 1e-12).all()
        assert (discounted_sum(possible, gamma) <= high + 1e-9).all()


@given(groups(), st.floats(0, 0.95), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_rsd_is_bounded_and_does_not_depend_on_the_order_of_pairs(group, gamma, random):
    distance, pairs, lengths, cut = group
    filled = turn_distances(distance, pairs, lengths, cut, ABSORB)
    rsd = monte_carlo_rsd(filled, pairs, len(lengths), gamma)
    assert 0 <= rsd.value <= 1 / (1 - gamma)
    assert rsd.value == pytest.approx(rsd_from_turn(filled, gamma)[0] if not np.isnan(filled).all() else 0.0)
    share = normalised(rsd, gamma)
    assert 0 <= share.value <= 1
    if rsd.low is not None:
        assert 0 <= rsd.low <= rsd.value <= rsd.high <= 1 / (1 - gamma) + 1e-9
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = monte_carlo_rsd(filled[order], pairs[order][:, ::-1], len(lengths), gamma)
    assert shuffled.value == pytest.approx(rsd.value)
    if rsd.low is not None:
        assert (shuffled.low, shuffled.high) == pytest.approx((rsd.low, rsd.high), abs=1e-9)


@given(groups(), st.floats(0.1, 0.95), st.data())
@settings(max_examples=60, deadline=None)
def test_one_label_flipped_to_a_larger_distance_raises_rsd(group, gamma, data):
    distance, pairs, lengths, cut = group
    judged = np.argwhere(distance < 1)
    if not len(judged):
        return
    pair, turn = judged[data.draw(st.integers(0, len(judged) - 1))]
    flipped = distance.copy()
    flipped[pair, turn] += 0.5
    before = monte_carlo_rsd(turn_distances(distance, pairs, lengths, cut, ABSORB), pairs, len(lengths), gamma)
    after = monte_carlo_rsd(turn_distances(flipped, pairs, lengths, cut, ABSORB), pairs, len(lengths), gamma)
    assert after.value == pytest.approx(before.value + 0.5 * gamma**turn / len(pairs))


def test_two_rollouts_give_an_interval_that_leaves_almost_everything_open():
    rsd = monte_carlo_rsd(np.array([[1.0, 0.5]]), PAIR, 2, 0.8)
    assert rsd.value == pytest.approx(1.4)
    # One pair: no stake can refute a mean of more than a fortieth of the value at 1 in 40 (Markov).
    assert 0 < rsd.low <= 1.4 / 40
    assert 5 - (5 - 1.4) / 40 <= rsd.high < 5
    assert rsd.stderr is None


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_rollouts_are_undefined_not_consistent(n):
    rsd = monte_carlo_rsd(np.empty((0, 3)), all_pairs(n), n, 0.8)
    assert not rsd.defined
    assert "at least two" in rsd.reason
    assert normalised(rsd, 0.8) == rsd


def test_identical_rollouts_do_not_claim_certainty():
    rsd = monte_carlo_rsd(np.zeros((10, 3)), all_pairs(5), 5, 0.8)
    assert (rsd.value, rsd.low) == (0.0, 0.0)
    assert rsd.high == pytest.approx(5 * (1 - 0.025**0.4), abs=2e-3)


def test_normalised_keeps_reason_and_scales_the_interval():
    assert normalised(Estimate(1.0, 0.5, 2.0, 0.25, 4), 0.5) == Estimate(0.5, 0.25, 1.0, 0.125, 4)
    assert normalised(Estimate(1.0, n=2, reason="two"), 0.5) == Estimate(0.5, n=2, reason="two")


def test_a_judged_turn_that_is_missing_is_refused_with_its_pair():
    with pytest.raises(ValueError, match="rollouts 0 and 1 at turn 1: both act but no distance was measured"):
        turn_distances(np.array([[0.5, NAN]]), PAIR, np.array([2, 2]), np.array([False, False]), ABSORB)


def test_a_distance_without_two_actions_is_refused():
    with pytest.raises(ValueError, match="rollouts 0 and 1 at turn 1: a distance without two actions"):
        turn_distances(np.array([[0.5, 0.0]]), PAIR, np.array([1, 2]), np.array([False, False]), ABSORB)


def test_fewer_columns_than_turns_are_refused():
    with pytest.raises(ValueError, match="the longest rollout has 3 turns, the distances only 2"):
        turn_distances(np.array([[0.5, 0.5]]), PAIR, np.array([2, 3]), np.array([False, False]), ABSORB)


def test_a_distance_above_one_is_refused():
    with pytest.raises(ValueError, match=r"distances lie in \[0, 1\]"):
        turn_distances(np.array([[1.5]]), PAIR, np.array([1, 1]), np.array([False, False]), ABSORB)


@pytest.mark.parametrize("gamma", [-0.1, 1.0, NAN])
def test_a_discount_outside_its_range_is_refused(gamma):
    with pytest.raises(ValueError, match=r"a discount lies in \[0, 1\)"):
        discounted_sum(np.array([[1.0]]), gamma)


def test_pairs_that_are_not_all_pairs_are_refused():
    with pytest.raises(ValueError, match="RSD of 3 rollouts takes all 3 pairs"):
        monte_carlo_rsd(np.array([[1.0], [1.0], [1.0]]), np.array([[0, 1], [0, 2], [0, 2]]), 3, 0.8)


@pytest.mark.parametrize(("gamma", "largest"), [(0.0, 1.0), (0.5, 2.0), (0.8, 5.0), (0.9, 10.0), (0.75, 4.0)])
def test_the_largest_divergence_is_a_round_number_where_it_is_one(gamma, largest):
    assert largest_divergence(gamma) == largest


def test_the_largest_divergence_is_never_below_the_sum_of_a_long_contradiction():
    for gamma in (0.1, 0.77, 0.8, 0.93, 0.9999):
        assert sum(gamma**t for t in range(5000)) <= largest_divergence(gamma) + 1e-9


@pytest.mark.parametrize(("turns", "largest"), [(1, 1.0), (2, 1.8), (3, 2.44), (40, 4.99933)])
def test_few_turns_allow_less_than_the_largest_divergence(turns, largest):
    # 1, 1 + 0.8, 1 + 0.8 + 0.64; by 40 turns nearly the 5 of runs without end
    assert largest_divergence(0.8, turns) == pytest.approx(largest, abs=1e-5)
    assert largest_divergence(0.8, turns) == pytest.approx(sum(0.8**t for t in range(turns)))
    assert largest_divergence(0.0, turns) == 1.0


def test_no_turn_has_no_largest_divergence():
    with pytest.raises(ValueError, match="at least one turn, got 0"):
        largest_divergence(0.8, 0)


def test_the_interval_of_one_turn_ends_at_what_one_turn_can_be():
    apart = monte_carlo_rsd(np.ones((6, 1)), all_pairs(4), 4, 0.8, largest=largest_divergence(0.8, 1))
    assert (apart.value, apart.high) == (1.0, 1.0)
    alike = monte_carlo_rsd(np.zeros((6, 1)), all_pairs(4), 4, 0.8, largest=largest_divergence(0.8, 1))
    # four equal runs are two pairs' worth of evidence: 1 - 0.025^(2/4)
    assert (alike.value, alike.high) == (0.0, pytest.approx(1 - 0.025**0.5, abs=2e-3))


def test_a_divergence_above_the_largest_is_refused():
    with pytest.raises(ValueError, match=r"pair values lie in \[0, 1\]"):
        monte_carlo_rsd(np.ones((1, 2)), PAIR, 2, 0.8, largest=1.0)


def test_a_share_is_of_what_the_turns_allow():
    assert as_share(Estimate(1.0, 0.5, 2.0, 0.25, 4), 2.0) == Estimate(0.5, 0.25, 1.0, 0.125, 4)
    assert as_share(Estimate.undefined("one run", n=1), 1.8) == Estimate.undefined("one run", n=1)
    assert as_share(Estimate(1.8 * (1 + 1e-15), n=2, reason="two"), 1.8).value == 1.0
    with pytest.raises(ValueError, match="is above 0, got 0"):
        as_share(Estimate(0.0, n=2, reason="two"), 0.0)


@given(groups(), st.floats(0.05, 0.95))
@settings(max_examples=40, deadline=None)
def test_shares_lie_between_zero_and_one_for_whole_runs(group, gamma):
    distance, pairs, lengths, _ = group
    whole = np.zeros(len(lengths), dtype=bool)
    shared = np.arange(distance.shape[1]) < lengths[pairs].min(axis=1, initial=10**9)[:, None]
    distance = np.where(shared, np.nan_to_num(distance), np.nan)
    largest = largest_divergence(gamma, max(1, int(lengths.max(initial=0))))
    filled = turn_distances(distance, pairs, lengths, whole, ABSORB)
    share = as_share(monte_carlo_rsd(filled, pairs, len(lengths), gamma, largest=largest), largest)
    if share.defined:
        assert 0 <= share.low <= share.value <= share.high <= 1
