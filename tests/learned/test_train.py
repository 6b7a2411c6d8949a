from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from learned.samples import random_task
from likewise.learned.forward import forward, self_distance
from likewise.learned.options import FitOptions, Loss
from likewise.learned.pairs import TaskRuns
from likewise.learned.train import hold_out, train

QUICK = FitOptions(steps=40, every=10, batch=16, hold_out=0.25)


def tasks(seed=0, n=5):
    rng = np.random.default_rng(seed)
    return [random_task(rng, str(k)) for k in range(n)]


def test_whole_tasks_are_held_out_one_at_least_and_none_of_two():
    learn, held = hold_out(20, FitOptions(hold_out=0.2))
    assert len(held) == 4
    assert sorted(learn + held) == list(range(20))
    assert len(hold_out(3, FitOptions(hold_out=0.01))[1]) == 1
    assert hold_out(2, FitOptions(hold_out=0.5))[1] == []
    assert hold_out(9, FitOptions(hold_out=0.0))[1] == []
    assert hold_out(20, FitOptions(seed=1)) != hold_out(20, FitOptions(seed=2))


@pytest.mark.torch
def test_the_same_seed_gives_the_same_weights_to_the_bit():
    one, again = train(tasks(), QUICK), train(tasks(), QUICK)
    other = train(tasks(), replace(QUICK, seed=1))
    assert all(np.array_equal(one.weights[name], again.weights[name]) for name in one.weights)
    assert not np.array_equal(one.weights["third.bias"], other.weights["third.bias"])


@pytest.mark.torch
@pytest.mark.parametrize("heads", [1, 3])
def test_a_training_taken_up_again_ends_where_it_would_have(heads):
    options, kept = replace(QUICK, heads=heads), []
    whole = train(tasks(), options, save=lambda snapshot: kept.append(copy.deepcopy(snapshot)))
    assert [snapshot.step for snapshot in kept] == [10, 20, 30, 40]
    again = train(tasks(), options, resume=kept[1])
    assert all(np.array_equal(whole.weights[name], again.weights[name]) for name in whole.weights)
    assert whole.looks == again.looks


@pytest.mark.torch
def test_training_ends_when_the_held_out_tasks_get_no_better():
    found = train(tasks(), replace(QUICK, steps=4000, every=5, patience=3, rate=0.5))
    assert found.stopped_early
    later = [look for look in found.looks if look.step > found.best_step]
    assert len(later) == 3
    best = min(look.held_out for look in found.looks)
    assert next(look for look in found.looks if look.step == found.best_step).held_out == best


def sure_and_unsure(rng):
    """Tasks of two kinds of state, told apart by their vector: runs that never differ, and runs that always do."""
    made = []
    for k in range(12):
        unsure = k % 2
        pairs = np.array([(0, 1), (0, 2), (1, 2)])
        where = np.zeros(8)
        where[unsure] = 1
        states = tuple((where + 0.05 * rng.normal(size=(6, 8))).astype(np.float32) for _ in range(3))
        distance = np.full((3, 5), float(unsure))
        same = np.zeros((3, 6), dtype=np.bool_)
        same[:, 0] = True
        made.append(TaskRuns(str(k), states, pairs, distance, np.full(3, 5), np.ones(3, dtype=np.bool_), same))
    return made


@pytest.mark.torch
def test_it_learns_which_states_are_settled():
    """Cut runs that contradict each other at every turn diverge by 1/(1 - 0.5) = 2 from every state on; others by 0."""
    rng = np.random.default_rng(0)
    options = FitOptions(gamma=0.5, steps=400, every=50, rate=2e-3, mix=0.05)
    found = train(sure_and_unsure(rng), options)
    sure, unsure = np.eye(8, dtype=np.float32)[:2]
    values = self_distance(forward(found.weights, np.stack([sure, unsure])), options.alpha)[0]
    assert values[0] == pytest.approx(0.0, abs=0.1)
    assert values[1] == pytest.approx(2.0, abs=0.3)


@pytest.mark.torch
def test_runs_that_never_differ_are_scored_zero_up_to_their_cut():
    """Twelve turns, then cut: no state after them is guessed from, so nothing is left of where the weights started."""
    rng = np.random.default_rng(1)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])
    tasks = []
    for k in range(6):
        states = np.cumsum(0.3 * rng.normal(size=(13, 8)), axis=0).astype(np.float32)
        same, cut = np.ones((3, 13), dtype=np.bool_), np.ones(3, dtype=np.bool_)
        tasks.append(TaskRuns(str(k), (states,) * 3, pairs, np.zeros((3, 12)), np.full(3, 12), cut, same))
    options = FitOptions(
        gamma=0.5, steps=400, every=200, rate=2e-3, mix=0.05, hold_out=0.0, loss=Loss.POISSON, anneal=True
    )
    found = train(tasks, options)
    values = self_distance(forward(found.weights, np.concatenate([runs.states[0][:12] for runs in tasks])), 0.5)
    assert values.max() < 0.01


@pytest.mark.torch
@pytest.mark.parametrize(
    "changes",
    [
        {"loss": Loss.HUBER},
        {"loss": Loss.POISSON},
        {"own": 0.5},
        {"anneal": True},
        {"angle": False},
        {"clamp": False},
        {"siblings": 4},
        {"n": 1},
        {"heads": 5},
        {"standardise": False},
        {"components": 1},
        {"beta": 0.314},
    ],
    ids=str,
)
def test_every_option_moves_the_weights_and_leaves_them_finite(changes):
    base, found = train(tasks(), QUICK), train(tasks(), replace(QUICK, **changes))
    assert all(np.isfinite(array).all() for array in found.weights.values())
    moved = any(
        base.weights[name].shape != array.shape or not np.array_equal(base.weights[name], array)
        for name, array in found.weights.items()
    )
    assert moved or changes == {"clamp": False}  # within the range there is nothing to clamp


@pytest.mark.torch
def test_scaling_is_folded_into_the_first_layer():
    """Weights of standardised states work on states as they are: a constant shift of a column moves no score."""
    shifted = [replace(runs, states=tuple(s + 100.0 for s in runs.states)) for runs in tasks()]
    one, other = train(tasks(), QUICK), train(shifted, QUICK)
    z = tasks()[0].states[0]
    a = self_distance(forward(one.weights, z), 0.5)
    b = self_distance(forward(other.weights, (z + 100.0).astype(np.float32)), 0.5)
    assert a == pytest.approx(b, rel=0.05, abs=1e-3)


@pytest.mark.torch
def test_refuses_tasks_without_a_pair():
    nothing = random_task(np.random.default_rng(0), rollouts=2)
    nothing.distance[:] = np.nan
    with pytest.raises(ValueError, match="nothing to learn from"):
        train([nothing], QUICK)
