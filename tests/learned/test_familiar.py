from __future__ import annotations

import numpy as np
import pytest

from likewise.learned.familiar import KEPT, familiar_up_to, nearest, reference_states


def test_the_nearest_reference_is_found():
    states = np.array([[0.0, 0.0], [3.0, 4.0]], dtype=np.float32)
    assert nearest(states, np.array([[0.0, 0.0]], dtype=np.float32)) == pytest.approx([0, 5])


def test_each_task_keeps_its_share_of_the_references():
    tasks = [np.full((1000, 2), k, dtype=np.float32) for k in range(4)]
    kept = reference_states(tasks, 0)
    assert len(kept) == KEPT
    assert np.unique(kept[:, 0], return_counts=True)[1].tolist() == [128] * 4


def test_states_of_a_task_left_out_are_mostly_familiar_and_strange_ones_are_not():
    rng = np.random.default_rng(0)
    tasks = [rng.normal(size=(50, 4)).astype(np.float32) for _ in range(8)]
    limit = familiar_up_to(tasks, 0)
    fresh = rng.normal(size=(200, 4)).astype(np.float32)
    assert np.mean(nearest(fresh, reference_states(tasks, 0)) <= limit) > 0.85
    assert (nearest(fresh + 20, reference_states(tasks, 0)) > limit).all()


def test_a_single_task_makes_nothing_familiar_but_itself():
    assert familiar_up_to([np.zeros((3, 2), dtype=np.float32)], 0) == 0.0
