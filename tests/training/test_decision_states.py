from __future__ import annotations

import numpy as np
import pytest

from likewise import RSDReward
from likewise.training.decision_states import DecisionRSDReward
from training.batches import conversation, model, prompt

COMPLETIONS = [conversation("a", "b", "c", closing=True), conversation("a", closing=True), conversation("c", "c")]
PROMPTS = [prompt()] * 3


def opening(metric):
    live = metric.start()
    from likewise.core.rollout import Observation

    live.observe([Observation("user", prompt()[0]["content"])])
    return -metric.score_live(live).value


def test_the_mean_is_over_the_states_acted_from():
    metric = model()
    after = RSDReward(metric).turn_scores(PROMPTS, COMPLETIONS, [[1]] * 3)
    values = DecisionRSDReward(metric)(PROMPTS, COMPLETIONS, [[1]] * 3)
    first = opening(metric)
    assert values[0] == pytest.approx(np.mean([first, after[0][0], after[0][1]]), abs=1e-6)
    assert values[1] == pytest.approx(first, abs=1e-6)
    assert values[2] == pytest.approx(np.mean([first, after[2][0]]), abs=1e-6)


def test_ending_is_no_merit():
    """The action that ends a run is scored by the state that it was taken from."""
    metric = model()
    turns = DecisionRSDReward(metric).turn_scores(PROMPTS, COMPLETIONS, [[1]] * 3)
    after = RSDReward(metric).turn_scores(PROMPTS, COMPLETIONS, [[1]] * 3)
    assert turns[0] == pytest.approx([after[0][0], after[0][1], after[0][1]], abs=1e-6)
    assert turns[1] == pytest.approx([opening(metric)], abs=1e-6)


def test_a_run_of_one_action_is_measured():
    """A completion that no reward measured teaches nothing: giving up at once would go unpunished."""
    assert DecisionRSDReward(model())(PROMPTS[:1], COMPLETIONS[1:2], [[1]])[0] is not None


def test_normalised_values_are_a_share_of_the_largest():
    metric = model()
    plain, share = (DecisionRSDReward(metric, normalised=n)(PROMPTS, COMPLETIONS, [[1]] * 3) for n in (False, True))
    assert share == pytest.approx([value / metric.largest for value in plain], abs=1e-6)
    assert all(-1 <= value <= 0 for value in share)


def test_no_completions_are_no_scores():
    assert DecisionRSDReward(model())([], [], []) == []
