"""Forks of runs."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.metrics.forks import divergence_behind_fork, first_fork_turn, history_classes

NAN = math.nan
class_tables = st.integers(1, 5).flatmap(
    lambda runs: st.lists(st.lists(st.integers(-1, 2), min_size=runs, max_size=runs), min_size=1, max_size=5)
)


@pytest.mark.parametrize(
    ("classes", "turn"),
    [
        ([[0, 0, 0], [0, 0, 1], [0, 1, 2]], 1),
        ([[0, 0], [0, 0]], None),
        ([[0, -1], [0, -1]], None),  # a run that was not measured parts from nobody
        ([[-1, -1], [0, 1]], 1),
        ([[0, 1]], 0),
    ],
)
def test_the_first_fork_matches_the_table(classes, turn):
    assert first_fork_turn(np.array(classes)) == turn


def test_a_b_c_a_and_a_d_c_a_part_at_the_second_step():
    assert first_fork_turn(np.array([[0, 0], [0, 1], [0, 0], [0, 0]])) == 1


def test_runs_that_meet_again_stay_apart_in_the_fork_tree():
    classes = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1]])
    assert history_classes(classes).tolist() == [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 0, 1], [0, 1, 2, 1]]


def test_a_run_that_ended_leaves_the_fork_tree_for_good():
    assert history_classes(np.array([[0, 0, 1], [-1, 0, 0], [0, 0, 0]])).tolist() == [[0, 0, 1], [-1, 0, 1], [-1, 0, 1]]


@given(class_tables)
@settings(max_examples=80, deadline=None)
def test_the_fork_tree_equals_comparing_whole_histories(table):
    classes = np.array(table)
    tree = history_classes(classes)
    for turn in range(len(classes)):
        columns = classes[: turn + 1].T
        for i, j in combinations(range(classes.shape[1]), 2):
            measured = (columns[i] >= 0).all() and (columns[j] >= 0).all()
            together = measured and (columns[i] == columns[j]).all()
            assert (tree[turn, i] >= 0) == (columns[i] >= 0).all()
            assert (tree[turn, i] == tree[turn, j] and tree[turn, i] >= 0) == together
        numbers = [number for number in tree[turn] if number >= 0]
        assert list(dict.fromkeys(numbers)) == list(range(len(set(numbers))))


def test_divergence_behind_the_fork_matches_a_share_worked_by_hand():
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    turns = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 1.0], [0.0, 1.0, NAN]])
    # From turn 1 at gamma 0.5: 0.25, 1.5, 1.0; runs 0 and 1 stay together at the fork.
    share = divergence_behind_fork(turns, pairs, np.array([0, 0, 1]), 1, 0.5)
    assert share == pytest.approx(2.5 / 2.75)
    # Which number a class has says nothing: the others may be the later one, too.
    assert divergence_behind_fork(turns, pairs, np.array([1, 1, 0]), 1, 0.5) == pytest.approx(2.5 / 2.75)


def test_pairs_without_a_class_at_the_fork_did_not_separate_there():
    share = divergence_behind_fork(np.array([[1.0]]), np.array([[0, 1]]), np.array([0, -1]), 0, 0.5)
    assert share == 0.0


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=9, max_size=9),
    st.lists(st.integers(0, 2), min_size=3, max_size=3),
    st.integers(0, 2),
)
@settings(max_examples=60, deadline=None)
def test_the_share_behind_a_fork_lies_between_zero_and_one(cells, classes, turn):
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    turns = np.array(cells).reshape(3, 3)
    share = divergence_behind_fork(turns, pairs, np.array(classes), turn, 0.8)
    if share is None:
        assert not turns[:, turn:].any()
    else:
        assert 0 <= share <= 1 + 1e-12
        if len(set(classes)) == 3:
            assert share == pytest.approx(1.0)


def test_no_divergence_from_the_fork_on_has_no_share():
    assert divergence_behind_fork(np.array([[1.0, 0.0]]), np.array([[0, 1]]), np.array([0, 1]), 1, 0.5) is None


def test_a_fork_after_the_last_turn_is_refused():
    with pytest.raises(ValueError, match="the fork lies in turns 0 to 1, got 2"):
        divergence_behind_fork(np.array([[1.0, 0.0]]), np.array([[0, 1]]), np.array([0, 1]), 2, 0.5)
