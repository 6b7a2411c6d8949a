"""Contradictions over all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.contradiction import summarise
from likewise.metrics.intervals import pair_share_limits

NAN = math.nan


def test_a_small_group_matches_the_summary_worked_by_hand():
    score = np.array([[0.1, 0.9, NAN], [0.7, 0.8, NAN], [0.0, 0.9, 0.2]])
    relation = np.array([[0, 2, -1], [1, 2, -1], [0, 2, 1]], dtype=np.int8)
    summary = summarise(score, relation)
    assert (summary.pairs, summary.contradictory) == (7, 3)
    assert summary.max == 0.9
    assert summary.mean == pytest.approx((0.1 + 0.9 + 0.7 + 0.8 + 0.0 + 0.9 + 0.2) / 7)
    assert summary.critical == ((0, 1), (2, 1), (1, 1))  # 0.7 itself is not above the threshold
    # Wilson 3 of 7 at 95 %, from the published formula with z = 1.959964.
    z2 = 1.959964**2
    centre = (3 / 7 + z2 / 14) / (1 + z2 / 7)
    reach = 1.959964 / (1 + z2 / 7) * math.sqrt(3 / 7 * 4 / 7 / 7 + z2 / 196)
    assert (summary.share.low, summary.share.high) == pytest.approx((centre - reach, centre + reach), abs=1e-6)


def test_where_the_runs_of_pairs_are_known_the_interval_is_over_runs():
    # Runs 0, 1, 2 and a fourth of which no pair was judged: contradictory 1 of 2, 1 of 2 and 1 of 3 pairs of actions.
    relation = np.array([[0, 2, -1], [1, 2, -1], [0, 2, 1], [-1, -1, -1]], dtype=np.int8)
    pairs = np.array([[0, 1], [0, 2], [1, 2], [0, 3]])
    score = np.where(relation < 0, NAN, relation / 2)
    summary = summarise(score, relation, pairs=pairs, confidence=0.8)
    # Each of the three runs is in two of the three pairs: as much evidence as 3 / 2 pairs.
    low, high = pair_share_limits(np.ones(3), np.array([2.0, 2.0, 3.0]), 1.5, 0.8)
    assert summary.share.value == pytest.approx(3 / 7)
    assert (summary.share.low, summary.share.high) == pytest.approx((low, high))
    assert summary.share.n == 3
    alone = summarise(score, relation, confidence=0.8).share
    assert summary.share.low < alone.low  # pairs that share a run say less than as many that do not
    assert summary.share.high > alone.high


def test_known_runs_of_which_nothing_was_judged_have_no_share():
    nothing = np.full((1, 2), -1, dtype=np.int8)
    assert summarise(np.full((1, 2), NAN), nothing, pairs=np.array([[0, 1]])).share.value is None


def test_ten_pairs_without_contradiction_still_leave_room_for_one():
    summary = summarise(np.zeros((10, 1)), np.zeros((10, 1), dtype=np.int8))
    assert summary.share.value == 0
    assert summary.share.high == pytest.approx(0.2775, abs=5e-5)


@given(st.lists(st.tuples(st.sampled_from([NAN, 0.0, 0.3, 0.71, 1.0]), st.integers(-1, 2)), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_the_summary_equals_counting_cell_by_cell(cells):
    score = np.array([[score for score, _ in cells]])
    relation = np.array([[kind for _, kind in cells]], dtype=np.int8)
    summary = summarise(score, relation)
    judged = [(turn, s, kind) for turn, (s, kind) in enumerate(cells) if kind >= 0]
    scores = [s for _, s, _ in judged if not math.isnan(s)]
    assert summary.pairs == len(judged)
    assert summary.contradictory == sum(kind == 2 for _, _, kind in judged)
    assert summary.max == (max(scores) if scores else None)
    assert set(summary.critical) == {(0, turn) for turn, s, _ in judged if s > 0.7}
    ranked = [score[cell] for cell in summary.critical]
    assert ranked == sorted(ranked, reverse=True)


def test_nothing_judged_is_undefined_and_not_free_of_contradiction():
    summary = summarise(np.full((1, 2), NAN), np.full((1, 2), -1, dtype=np.int8))
    assert summary.share.reason == "no pair of actions was measured"
    assert (summary.pairs, summary.max, summary.mean, summary.critical) == (0, None, None, ())
    assert not summarise(np.empty((0, 3)), np.empty((0, 3), dtype=np.int8)).share.defined


def test_scores_of_pairs_that_were_not_judged_are_ignored():
    summary = summarise(np.array([[0.99, 0.2]]), np.array([[-1, 0]], dtype=np.int8))
    assert (summary.max, summary.critical) == (0.2, ())


def test_a_score_above_one_is_refused():
    with pytest.raises(ValueError, match=r"contradiction scores lie in \[0, 1\]"):
        summarise(np.array([[1.2]]), np.array([[2]], dtype=np.int8))
