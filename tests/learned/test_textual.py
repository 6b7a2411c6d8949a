from __future__ import annotations

import numpy as np

from likewise.core.rollout import StopReason
from likewise.learned.exact import random_process
from likewise.learned.textual import action_words, state_words, textual_tasks


def test_states_and_actions_have_sentences_of_their_own():
    assert len({state_words(s) for s in range(80)}) == 80
    assert len({action_words(a) for a in range(32)}) == 32


def test_runs_are_cut_and_say_where_they_were_and_what_was_done():
    process = random_process(6, np.random.default_rng(0))
    (task,) = textual_tasks(process, [3], runs=3, turns=4, rng=np.random.default_rng(1))
    assert task.distance.shape == (3, 4)
    assert task.visited.shape == (3, 5)
    for run, rollout in enumerate(task.group.rollouts):
        assert rollout.stop is StopReason.CUT
        said = [turn.observations[0].text for turn in rollout.turns] + [rollout.last_observations[0].text]
        assert said == [state_words(s) for s in task.visited[run]]
    assert (task.visited[:, 0] == 3).all()


def test_equal_sentences_have_distance_nought():
    process = random_process(6, np.random.default_rng(0))
    (task,) = textual_tasks(process, [0], runs=6, turns=10, rng=np.random.default_rng(1))
    for p, (i, j) in enumerate(task.group.pairs):
        a, b = task.group.rollouts[i].actions, task.group.rollouts[j].actions
        assert all(task.distance[p, t] == 0 for t in range(10) if a[t] == b[t])
