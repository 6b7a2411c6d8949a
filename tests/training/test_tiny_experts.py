from __future__ import annotations

import numpy as np
import pytest

from likewise.core.rollout import StopReason
from likewise.training.environments.bookings import Bookings
from likewise.training.tiny import action_words
from likewise.training.tiny_experts import EXPERT, MIXED, Ways, demonstrations


def test_experts_succeed_in_several_ways():
    made = demonstrations(Bookings.tasks, 20, EXPERT, 0, successful=True)
    assert all(run.success for run in made)
    assert len(made) == 20 * len(Bookings.tasks)
    openings = {action_words(run.turns[0].action) for run in made if run.task_id == "ann_moves"}
    assert "find_booking(guest=Ann)" in openings
    assert len(openings) > 2


def test_the_mixture_is_competent_and_inconsistent():
    made = demonstrations(Bookings.tasks, 50, MIXED, 0)
    success = np.mean([run.success for run in made])
    assert 0.6 < success < 0.95
    assert all(run.stop is not StopReason.INVALID for run in made)
    assert {round(run.reward, 2) for run in made} >= {0.0, 1.0}


def test_the_same_seed_gives_the_same_runs():
    first, again, other = (demonstrations(["ann_moves"], 20, MIXED, seed) for seed in (3, 3, 4))
    assert [run.turns for run in first] == [run.turns for run in again]
    assert [run.turns for run in first] != [run.turns for run in other]


def test_one_way_alone_is_always_the_same():
    only = Ways(find=1, ask=0, leave=0)
    made = demonstrations(["ann_moves"], 10, only, 0)
    assert {tuple(bool(action.tool_calls) for action in run.actions) for run in made} == {(True, True, False)}


def test_ways_that_never_succeed_are_told():
    with pytest.raises(ValueError, match="only 0 of 100 demonstrations of ann_moves succeeded"):
        demonstrations(["ann_moves"], 1, Ways(find=0, ask=0, guess=1, muddle=(0, 0, 0, 1)), 0, successful=True)
