"""Warnings before the numbers."""

from likewise.core.group import RolloutGroup
from likewise.core.rollout import Rollout
from likewise.evaluation.cautions import cautions


def group(*metas, reward=None, success=None):
    rollouts = [Rollout("8", str(i), (), reward=reward, success=success, meta=meta) for i, meta in enumerate(metas)]
    return RolloutGroup("8", tuple(rollouts))


def test_runs_of_two_models_in_one_task_are_named():
    (warning,) = cautions([group({"model": "gpt-4o"}, {"model": "grok-3-mini"}, {"model": "gpt-4o"})])
    assert 'task 8: "gpt-4o", "grok-3-mini"' in warning


def test_runs_of_one_model_or_of_none_known_bring_no_warning():
    assert cautions([group({"model": "gpt-4o"}, {"model": "gpt-4o"}), group({}, {})]) == ()


def test_a_run_that_does_not_say_its_model_is_not_another_model():
    assert cautions([group({"model": "gpt-4o"}, {})]) == ()


def test_rewards_without_outcomes_say_what_to_add():
    (warning,) = cautions([group({}, {}, reward=1.0)])
    assert warning.startswith("2 run(s) have a reward but no success")
    assert cautions([group({}, {}, reward=1.0, success=True)]) == ()
