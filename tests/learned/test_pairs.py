from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges import LetterEncoder
from learned.samples import random_task, run_of
from likewise.core.group import LengthPolicy, RolloutGroup
from likewise.learned.options import SameState
from likewise.learned.pairs import measured_parts, pair_table, task_runs
from likewise.learned.state_encoding import StateEncoder
from likewise.metrics.td_targets import td_target, td_targets


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 3, 10**6]), st.sampled_from(list(LengthPolicy)))
def test_measured_parts_are_those_of_the_oracle(seed, n, policy):
    rng = np.random.default_rng(seed)
    runs = random_task(rng, rollouts=3)
    failed = (rng.random(runs.distance.shape) < 0.1) & ~np.isnan(runs.distance)
    runs.distance[failed] = np.nan
    known, steps, ahead = measured_parts(runs, n, 0.8, policy)
    for p, (i, j) in enumerate(runs.pairs):
        for t in range(runs.distance.shape[1]):
            expected = td_target(
                runs.distance[p],
                t,
                lengths=(int(runs.lengths[i]), int(runs.lengths[j])),
                cut=(bool(runs.cut[i]), bool(runs.cut[j])),
                n=n,
                gamma=0.8,
                policy=policy,
            )
            found = None if np.isnan(known[p, t]) else (known[p, t], steps[p, t], ahead[p, t])
            assert found == (None if expected is None else (pytest.approx(expected.known), *expected[1:]))


def test_whole_targets_of_a_table_are_those_of_the_oracle():
    rng = np.random.default_rng(0)
    tasks = [random_task(rng, str(k)) for k in range(4)]
    table = pair_table(tasks, n=2, gamma=0.8)
    guess_of = rng.random((len(table.states), len(table.states)))
    targets = table.known + table.discount * guess_of[table.next_first, table.next_second]
    base, expected = 0, []
    for runs in tasks:
        offsets = base + np.cumsum([0, *(len(each) for each in runs.states)])
        base = offsets[-1]
        states = np.array([len(each) for each in runs.states])
        guess = np.zeros((len(runs.pairs), states.max() + 1))
        for p, (i, j) in enumerate(runs.pairs):
            both = min(states[i], states[j])
            guess[p, :both] = guess_of[offsets[i] + np.arange(both), offsets[j] + np.arange(both)]
        whole = td_targets(runs.distance, runs.pairs, runs.lengths, runs.cut, guess, n=2, gamma=0.8)
        expected += whole[~np.isnan(whole)].tolist()
    assert targets == pytest.approx(expected, rel=1e-5)


def test_no_entry_reaches_over_the_border_of_its_own_runs():
    rng = np.random.default_rng(1)
    tasks = [random_task(rng, str(k)) for k in range(5)]
    table = pair_table(tasks)
    owner = np.concatenate(
        [np.full(len(s), 100 * k + r) for k, runs in enumerate(tasks) for r, s in enumerate(runs.states)]
    )
    guessed = table.discount > 0
    assert guessed.any()
    assert (owner[table.first] // 100 == owner[table.second] // 100).all()
    assert (owner[table.first] != owner[table.second]).all()
    for now, then in ((table.first, table.next_first), (table.second, table.next_second)):
        assert (owner[now[guessed]] == owner[then[guessed]]).all()
        # Ahead, but at the last turn before a cut, where the same states are guessed from.
        assert (then[guessed] >= now[guessed]).all()
    assert (
        table.next_first[guessed] - table.first[guessed] == table.next_second[guessed] - table.second[guessed]
    ).all()


@pytest.mark.parametrize("n", [1, 3, 10])
def test_nothing_is_guessed_from_states_that_have_no_target_of_their_own(n):
    """Runs that were all cut, whether what followed the last action was recorded or not: each guess is trained, too."""
    tasks = [random_task(np.random.default_rng(seed), str(seed)) for seed in range(6)]
    tasks = [replace(runs, cut=np.ones(len(runs.lengths), dtype=np.bool_)) for runs in tasks]
    table = pair_table(tasks, n=n)
    trained = set(zip(table.first.tolist(), table.second.tolist(), strict=True))
    guessed = table.discount > 0
    assert guessed.all()  # nothing ended
    assert set(zip(table.next_first.tolist(), table.next_second.tolist(), strict=True)) <= trained


def test_an_entry_of_ended_runs_guesses_nothing():
    runs = random_task(np.random.default_rng(2), cuts=False, turns=3)
    table = pair_table([runs], n=3)
    assert (table.discount[table.turn == 0] == 0).all()  # three turns measured, then both have ended
    assert (table.discount == 0).all()


def test_tasks_pairs_and_turns_are_drawn_evenly():
    rng = np.random.default_rng(3)
    small, large = random_task(rng, "s", rollouts=2, turns=2, cuts=False), random_task(rng, "l", 6, turns=5, cuts=False)
    table = pair_table([small, large])
    batch = table.draw(20_000, rng)
    assert np.mean(table.task[batch.entry] == 0) == pytest.approx(0.5, abs=0.02)
    turns = table.turn[batch.entry][table.task[batch.entry] == 1]
    assert np.bincount(turns) / len(turns) == pytest.approx(0.2, abs=0.02)


def test_a_share_of_a_batch_comes_from_pairs_of_one_state_each_task_as_often():
    rng = np.random.default_rng(3)
    small, large = random_task(rng, "s", rollouts=2, turns=2, cuts=False), random_task(rng, "l", 6, turns=5, cuts=False)
    none = random_task(rng, "n", 3, turns=4, cuts=False)
    none.same[:] = False
    table = pair_table([small, none, large])
    drawn = table.draw(20_000, rng, own=0.5).entry
    alike, rest = drawn[:10_000], drawn[10_000:]
    assert table.same[alike].all()
    assert np.bincount(table.task[alike], minlength=3) / 1e4 == pytest.approx([0.5, 0.0, 0.5], abs=0.02)
    assert np.bincount(table.task[rest]) / 1e4 == pytest.approx(1 / 3, abs=0.02)
    assert not pair_table([none]).same[pair_table([none]).draw(50, rng, own=1.0).entry].any()  # there is nothing else


def test_the_order_of_the_rollouts_does_not_move_the_measured_parts():
    rng = np.random.default_rng(4)
    runs = random_task(rng, rollouts=4)
    known, *_ = measured_parts(runs, 3, 0.8, LengthPolicy.ABSORB)
    order = np.array([2, 0, 3, 1])
    where = {frozenset(pair): p for p, pair in enumerate(runs.pairs.tolist())}
    picked = [where[frozenset((int(order[i]), int(order[j])))] for i, j in runs.pairs]
    shuffled = type(runs)(
        "t",
        tuple(runs.states[k] for k in order),
        runs.pairs,
        runs.distance[picked],
        runs.lengths[order],
        runs.cut[order],
        runs.same[picked],
    )
    again, *_ = measured_parts(shuffled, 3, 0.8, LengthPolicy.ABSORB)
    assert sorted(known[~np.isnan(known)].tolist()) == pytest.approx(sorted(again[~np.isnan(again)].tolist()))


def group_of(*runs):
    return RolloutGroup("t", tuple(run_of(*turns, run=str(k)) for k, turns in enumerate(runs)))


def test_which_histories_count_as_one_state_is_a_matter_of_the_option():
    group = group_of([("a", "x"), ("b", "y")], [("a", "x"), ("c", "y")], [("z", "x"), ("b", "q")])
    distance = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])  # pairs 01, 02, 12
    states = StateEncoder(LetterEncoder())

    def same(option):
        return task_runs(group, distance, states, option).same.tolist()

    assert same(SameState.TEXT) == [[True, False, False], [False, False, False], [False, False, False]]
    assert same(SameState.START) == [[True, False, False], [True, False, False], [True, False, False]]
    assert same(SameState.EQUIVALENT) == [[True, True, True], [True, True, False], [True, True, False]]
    # At turn 1 the first and the third were told "b"; after the last nothing was said.
    assert same(SameState.SEEN) == [[True, False, False], [True, True, False], [True, False, False]]
    assert same(SameState.TURN) == [[True, True, True]] * 3


def test_siblings_are_pairs_of_the_same_two_states():
    group = group_of(*[[("a", "x"), (said, "y")] for said in "bcbc"])
    distance = np.zeros((6, 2))
    table = pair_table([task_runs(group, distance, StateEncoder(LetterEncoder()))])
    opening = table.turn == 0
    assert (table.bucket_count[opening] == 6).all()  # all six pairs are of one state
    later = sorted(table.bucket_count[~opening].tolist())
    # At turn 1 there are two states: b-b, c-c, and the four b-c pairs.
    assert later == [1, 1, 4, 4, 4, 4]
    batch = table.draw(50, np.random.default_rng(0), siblings=4)
    assert batch.targets.shape == (50, 4)
    assert (table.turn[batch.targets] == table.turn[batch.entry][:, None]).all()


def test_refuses_a_task_of_one_run_and_tasks_without_a_pair():
    with pytest.raises(ValueError, match="a pair needs two"):
        task_runs(group_of([("a", "x")]), np.zeros((0, 1)), StateEncoder(LetterEncoder()))
    nothing = random_task(np.random.default_rng(0), rollouts=2)
    nothing.distance[:] = np.nan
    with pytest.raises(ValueError, match="nothing to learn from"):
        pair_table([nothing])
