"""Alignment of turns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.alignment import Block, align, aligned_divergence


def unequal(a, b):
    return np.array([[float(x != y) for y in b] for x in a]).reshape(len(a), len(b))


def spans(blocks):
    return [(block.first, block.second) for block in blocks]


def price(blocks, cost, gap, merges):
    """What an alignment costs, block by block, at the cheapest reading of each block."""
    total = 0.0
    for (i0, i1), (j0, j1) in spans(blocks):
        readings = [merges[i0, i1, j0, j1]] if (i0, i1, j0, j1) in merges else []
        if (i1 - i0, j1 - j0) == (1, 1):
            readings.append(cost[i0, j0])
        if (i1 - i0) + (j1 - j0) == 1:
            readings.append(gap)
        total += min(readings)
    return total


def cheapest(cost, gap, merges, i=0, j=0):
    """The cheapest alignment of what remains, by trying everything."""
    n, m = cost.shape
    if (i, j) == (n, m):
        return 0.0
    totals = []
    if i < n and j < m:
        totals.append(cost[i, j] + cheapest(cost, gap, merges, i + 1, j + 1))
    if i < n:
        totals.append(gap + cheapest(cost, gap, merges, i + 1, j))
    if j < m:
        totals.append(gap + cheapest(cost, gap, merges, i, j + 1))
    totals += [
        value + cheapest(cost, gap, merges, i1, j1) for (i0, i1, j0, j1), value in merges.items() if (i0, j0) == (i, j)
    ]
    return min(totals)


def test_a_substituted_turn_leaves_the_others_aligned():
    blocks = align(unequal("ABCA", "ADCA"), gap=0.6)
    assert spans(blocks) == [((i, i + 1), (i, i + 1)) for i in range(4)]


def test_an_inserted_turn_does_not_shift_those_that_follow():
    blocks = align(unequal("ABC", "AXBC"), gap=0.6)
    assert spans(blocks) == [((0, 1), (0, 1)), ((1, 1), (1, 2)), ((1, 2), (2, 3)), ((2, 3), (3, 4))]


def test_one_turn_of_parallel_calls_aligns_with_two_turns_of_one_call_each():
    cost = np.array([[0.5, 0.5, 1.0], [1.0, 1.0, 0.0]])
    blocks = align(cost, gap=0.5, merges={(0, 1, 0, 2): 0.0})
    assert blocks == (Block((0, 1), (0, 2)), Block((1, 2), (2, 3)))


def test_ties_prefer_match_then_merge_then_a_skip_in_the_first_run():
    # A match at 1, two skips at 0.5 each and a merge all cost the same.
    assert spans(align(np.array([[1.0]]), gap=0.5)) == [((0, 1), (0, 1))]
    assert spans(align(np.array([[1.0, 1.0]]), 0.5, {(0, 1, 0, 2): 1.5})) == [((0, 1), (0, 1)), ((1, 1), (1, 2))]
    assert spans(align(np.array([[9.0, 9.0]]), 0.5, {(0, 1, 0, 2): 1.5})) == [((0, 1), (0, 2))]
    assert spans(align(np.array([[9.0]]), gap=0.5)) == [((0, 1), (0, 0)), ((1, 1), (0, 1))]


def test_an_empty_run_skips_all_turns_of_the_other():
    assert spans(align(np.empty((0, 2)), 0.5)) == [((0, 0), (0, 1)), ((0, 0), (1, 2))]
    assert align(np.empty((0, 0)), 0.5) == ()


@st.composite
def problems(draw):
    n, m = draw(st.integers(0, 3)), draw(st.integers(0, 4))
    prices = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    cost = np.array(draw(st.lists(prices, min_size=n * m, max_size=n * m))).reshape(n, m)
    gap = draw(st.sampled_from([0.25, 0.5, 0.75]))
    spans_of = [
        (i0, i1, j0, j1)
        for i0 in range(n)
        for i1 in range(i0 + 1, n + 1)
        for j0 in range(m)
        for j1 in range(j0 + 1, m + 1)
        if (i1 - i0, j1 - j0) != (1, 1)
    ]
    merges = draw(st.dictionaries(st.sampled_from(spans_of), prices, max_size=4)) if spans_of else {}
    return cost, gap, merges


@given(problems())
@settings(max_examples=80, deadline=None)
def test_an_alignment_costs_as_little_as_any_and_covers_both_runs_in_order(problem):
    cost, gap, merges = problem
    blocks = align(cost, gap, merges)
    assert price(blocks, cost, gap, merges) == pytest.approx(cheapest(cost, gap, merges))
    here = (0, 0)
    for first, second in spans(blocks):
        assert (first[0], second[0]) == here
        here = (first[1], second[1])
    assert here == cost.shape


@given(problems())
@settings(max_examples=40, deadline=None)
def test_exchanging_the_runs_costs_the_same(problem):
    cost, gap, merges = problem
    exchanged = {(j0, j1, i0, i1): value for (i0, i1, j0, j1), value in merges.items()}
    there = price(align(cost, gap, merges), cost, gap, merges)
    assert price(align(cost.T, gap, exchanged), cost.T, gap, exchanged) == pytest.approx(there)


def test_aligned_divergence_discounts_by_block():
    assert aligned_divergence(np.array([0.0, 1.0, 0.5]), 0.8) == pytest.approx(0.8 + 0.32)
    assert aligned_divergence(np.array([]), 0.8) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: align(np.array([[-1.0]]), 0.5), "finite and at least 0"),
        (lambda: align(np.array([[np.nan]]), 0.5), "finite and at least 0"),
        (lambda: align(np.array([[1.0]]), -0.5), "finite and at least 0"),
        (lambda: align(np.array([[1.0]]), 0.5, {(0, 0, 0, 1): 0.1}), "two non-empty sides"),
        (lambda: align(np.array([[1.0]]), 0.5, {(0, 1, 0, 2): 0.1}), "two non-empty sides"),
        (lambda: aligned_divergence(np.array([np.nan]), 0.5), "^every block of an alignment has a distance"),
        (lambda: aligned_divergence(np.array([0.5, 1.001]), 0.5), "^every block of an alignment has a distance"),
        (lambda: aligned_divergence(np.array([0.5, -0.001]), 0.5), "^every block of an alignment has a distance"),
    ],
)
def test_impossible_costs_and_merges_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
