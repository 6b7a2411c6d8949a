"""Tool sequences and arguments."""

import math
from collections import Counter
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.tool_sequences import (
    argument_consistency,
    mean_sequence_similarity,
    sequence_similarity,
    unique_paths,
)

sequences = st.text("ABC", max_size=5)


@pytest.mark.parametrize(
    ("a", "b", "similarity"),
    [
        ("ABCA", "ADCA", 0.75),
        ("ABCA", "ABCA", 1.0),
        ("ABC", "AXBC", 0.75),
        ("AA", "A", 0.5),  # two equal calls are two calls
        ("AB", "BA", 0.0),  # order counts between turns
        ("ABC", "", 0.0),
        ("", "", None),  # no calls say nothing about tools
    ],
)
def test_similarities_match_the_table_worked_by_hand(a, b, similarity):
    assert sequence_similarity(tuple(a), tuple(b)) == similarity


def edit_distance(a, b):
    """Levenshtein by its recursive definition."""

    @cache
    def rest(i, j):
        if i == len(a) or j == len(b):
            return len(a) - i + len(b) - j
        return min(rest(i + 1, j) + 1, rest(i, j + 1) + 1, rest(i + 1, j + 1) + (a[i] != b[j]))

    return rest(0, 0)


@given(sequences, sequences)
@settings(deadline=None)
def test_similarity_equals_the_recursive_definition_and_is_symmetric(a, b):
    similarity = sequence_similarity(a, b)
    assert similarity == sequence_similarity(b, a)
    if a or b:
        assert similarity == pytest.approx(1 - edit_distance(a, b) / max(len(a), len(b)))
        assert 0 <= similarity <= 1


def test_mean_similarity_of_three_runs_matches_one_worked_by_hand():
    estimate = mean_sequence_similarity([tuple("ABCA"), tuple("ADCA"), tuple("ABCA")])
    assert estimate.value == pytest.approx((0.75 + 1 + 0.75) / 3)
    # Without each run: 0.75, 1, 0.75.
    squares = 2 * (0.75 - 5 / 6) ** 2 + (1 - 5 / 6) ** 2
    assert estimate.stderr == pytest.approx(math.sqrt(2 / 3 * squares))


@given(st.lists(sequences, min_size=2, max_size=5))
@settings(max_examples=50, deadline=None)
def test_mean_similarity_leaves_out_pairs_without_calls(runs):
    known = [1 - edit_distance(a, b) / max(len(a), len(b)) for a, b in combinations(runs, 2) if a or b]
    estimate = mean_sequence_similarity(runs)
    assert estimate.value == (pytest.approx(sum(known) / len(known)) if known else None)


def test_runs_that_call_no_tool_are_not_perfectly_similar():
    estimate = mean_sequence_similarity([(), (), ()])
    assert not estimate.defined
    assert "calls a tool" in estimate.reason
    assert not mean_sequence_similarity([]).defined


def test_a_run_with_calls_against_one_without_is_a_difference():
    assert mean_sequence_similarity([("A",), ()]).value == 0.0


def test_argument_consistency_matches_a_group_worked_by_hand():
    calls = [
        {"search": ["x", "x"], "book": ["1"]},
        {"search": ["x", "x"], "book": ["2"]},
        {"search": ["x"], "cancel": ["9"]},
    ]
    # search: one of three pairs is equal; book: none of one; cancel has one caller.
    estimate = argument_consistency(calls)
    assert estimate.value == pytest.approx((1 / 3 + 0) / 2)
    # Without run 0, 1, 2: search 0 of 1; search 0 of 1; search 1 and book 0, so 0.5.
    squares = 2 * (1 / 6) ** 2 + (1 / 2 - 1 / 6) ** 2
    assert estimate.stderr == pytest.approx(math.sqrt(2 / 3 * squares))
    assert estimate.n == 3


def test_the_interval_of_a_share_does_not_leave_zero_to_one():
    # Nine runs book alike and one does not: without it all 36 pairs are equal, without another 28 of 36.
    calls = [{"book": ["1"]}] * 9 + [{"book": ["2"]}]
    estimate = argument_consistency(calls)
    assert estimate.value == pytest.approx(36 / 45)
    assert estimate.high == 1.0
    assert argument_consistency([{"book": [str(n)]} for n in (1, 1, 2, 3, 4)]).low == 0.0


def test_equal_calls_of_one_tool_are_equal_and_twice_is_not_once():
    assert argument_consistency([{"search": ["x", "x"]}, {"search": ["x", "x"]}]).value == 1.0
    assert argument_consistency([{"search": ["x", "x"]}, {"search": ["x"]}]).value == 0.0


def test_the_order_of_calls_within_a_tool_is_ignored():
    assert argument_consistency([{"weather": ["LA", "NY"]}, {"weather": Counter(["NY", "LA"])}]).value == 1.0


@given(st.lists(st.dictionaries(st.sampled_from("st"), st.lists(st.sampled_from("xy"), max_size=2)), max_size=5))
@settings(max_examples=50, deadline=None)
def test_argument_consistency_equals_counting_pairs(calls):
    shares = []
    for tool in "st":
        lists = [sorted(run[tool]) for run in calls if run.get(tool)]
        pairs = list(combinations(lists, 2))
        if pairs:
            shares.append(sum(a == b for a, b in pairs) / len(pairs))
    estimate = argument_consistency(calls)
    assert estimate.value == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert argument_consistency(calls[::-1]).value == pytest.approx(estimate.value)


def test_tools_that_no_two_runs_share_have_no_consistency():
    estimate = argument_consistency([{"a": ["1"]}, {"b": ["1"]}, {}])
    assert (estimate.value, estimate.n, estimate.reason) == (None, 0, "no tool is called by two runs")


def test_runs_that_share_no_tool_do_not_count_as_evidence():
    assert argument_consistency([{"a": ["1"]}, {"a": ["1"]}, {"a": ["2"]}, {"b": ["1"]}, {}]).n == 3


def test_two_runs_give_a_reason_in_place_of_an_interval():
    estimate = argument_consistency([{"a": ["1"]}, {"a": ["1"]}])
    assert (estimate.value, estimate.low) == (1.0, None)
    assert estimate.reason.startswith(
        "without one of the runs no tool is shared: an interval needs at least three runs"
    )
    assert estimate.n == 2


def test_paths_are_counted_once_each():
    assert unique_paths([("a", "b"), ("a", "b"), ("b", "a"), (), ()]) == 3
    assert unique_paths([]) == 0
