from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from likewise import RSDReward
from likewise.training.completions import read_completions
from likewise.training.environments.bookings import Bookings
from likewise.training.environments.bookings_words import BookingsJudge
from likewise.training.mixing import ProgressReward
from likewise.training.tiny_grpo import EnvironmentRollouts, prompt_rows, train_grpo
from training.policies import policy, spelling

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]
TASKS = ["ann_moves", "ben_cancels"]
QUIET = {"use_cpu": True, "bf16": False, "report_to": "none", "save_strategy": "no", "disable_tqdm": True,
         "activation_checkpointing": False, "dataloader_pin_memory": False}  # fmt: skip


def test_a_prompt_tells_its_task():
    rows = prompt_rows(Bookings, TASKS)
    assert [row["task_id"] for row in rows] == TASKS
    assert [row["prompt"][-1]["content"] for row in rows] == [
        "Hi, I am Ann. Please move my booking to Fri.",
        "Hi, I am Ben. Please cancel my booking.",
    ]
    assert len(prompt_rows(Bookings)) == len(Bookings.tasks)


def test_tasks_that_begin_alike_are_refused():
    class Twins(Bookings):
        def reset(self, task_id):
            return super().reset("ann_moves")

    with pytest.raises(ValueError, match="two tasks begin with the same words"):
        EnvironmentRollouts(Twins, None, 0, TASKS)


def trainer_at(step, model):
    accelerator = SimpleNamespace(unwrap_model=lambda model: model, process_index=0)
    return SimpleNamespace(
        model=model, accelerator=accelerator, temperature=1.0, state=SimpleNamespace(global_step=step)
    )


@pytest.mark.torch
def test_each_prompt_gets_one_finished_conversation_that_rewards_can_read():
    prompts = [row["prompt"] for row in prompt_rows(Bookings, TASKS) for _ in range(3)]
    rollouts = EnvironmentRollouts(Bookings, spelling(), 0, TASKS)
    out = rollouts(prompts, trainer_at(0, policy()))
    assert {len(column) for name, column in out.items() if name != "logprobs"} == {6}
    for ids, mask in zip(out["completion_ids"], out["env_mask"], strict=True):
        assert len(ids) == len(mask)
        assert mask[0] == mask[-1] == 1
    completions = read_completions(prompts, [""] * 6, out)
    for completion, episode in zip(completions, rollouts.last, strict=True):
        rollout = episode.rollout()
        assert completion.rollout.actions == rollout.actions
        assert completion.rollout.stop is rollout.stop
        assert completion.rollout.last_observations == rollout.last_observations
    assert [len(curve) for curve in out["progress"]] == [len(each.rollout.turns) + 1 for each in completions]
    columns = {name: out[name] for name in ("transcript", "progress", "stop")}
    values = ProgressReward()(prompts, [""] * 6, out["completion_ids"], **columns)
    assert values == [(curve[-1] - curve[0]) / (len(curve) - 1) for curve in out["progress"]]


@pytest.mark.torch
def test_a_step_draws_what_it_would_have_drawn_and_the_next_another():
    prompts = [row["prompt"] for row in prompt_rows(Bookings, TASKS)]
    rollouts, model = EnvironmentRollouts(Bookings, spelling(), 0, TASKS), policy()
    first, again, later = (rollouts(prompts, trainer_at(step, model))["completion_ids"] for step in (3, 3, 4))
    assert first == again
    assert first != later


@pytest.mark.torch
def test_a_policy_learns_what_is_rewarded(tmp_path):
    """Reward for short actions, which a policy without training can learn in a few steps."""
    from likewise.training.reward_base import CompletionScore, Reward

    class Short(Reward):
        lowest = -24.0

        def measure(self, completions, columns):
            values = [-float(np.mean([len(a.text) for a in each.rollout.actions])) for each in completions]
            return [
                CompletionScore(v, (v,) * len(e.rollout.turns), {}) for v, e in zip(values, completions, strict=True)
            ]

    model = policy(5, loud=0.1)
    settings = {**QUIET, "max_steps": 8, "learning_rate": 1e-2, "per_device_train_batch_size": 16}
    log = train_grpo(model, spelling(), Bookings, Short(), tmp_path, seed=0, group=8, settings=settings, tasks=TASKS)
    assert [entry["step"] for entry in log] == list(range(1, 9))
    assert np.mean([entry["reward"] for entry in log[-2:]]) > np.mean([entry["reward"] for entry in log[:2]])


@pytest.mark.torch
def test_credit_by_turn_trains_too(tmp_path):
    settings = {**QUIET, "max_steps": 1, "learning_rate": 1e-3, "per_device_train_batch_size": 8}
    reward = RSDReward.in_group(BookingsJudge(), normalised=True)
    log = train_grpo(
        policy(), spelling(), Bookings, reward, tmp_path, seed=0, group=4, settings=settings, tasks=TASKS, per_turn=True
    )
    assert len(log) == 1
    assert -1 <= log[0]["reward"] <= 0
