from __future__ import annotations

import json

import pytest
import yaml

from likewise.core.errors import ConfigError
from likewise.formats.native import write_rollouts
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.environments.bookings import TOOLS, Bookings
from likewise.training.large import REWARDS, LargeSettings, reward_of, train_on_experts, train_on_states
from likewise.training.recipe import RECIPE
from likewise.training.rewards import InGroupRSDReward
from likewise.training.tiny_experts import EXPERT, MIXED, demonstrations
from training.policies import policy, spelling

QUIET = {
    "use_cpu": True,
    "bf16": False,
    "report_to": "none",
    "disable_tqdm": True,
    "activation_checkpointing": False,
    "dataloader_pin_memory": False,
    "save_strategy": "no",
    "logging_steps": 1,
}
GRPO = {**QUIET, "max_steps": 2, "per_device_train_batch_size": 4, "num_generations": 2, "max_completion_length": 8}


def test_a_reward_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match=f"there are {', '.join(REWARDS)}"):
        LargeSettings("m", "o", reward="praise")


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_where_a_stage_writes_is_not_for_the_trainers_settings_to_say(stage):
    with pytest.raises(ValueError, match=rf"{stage}.output_dir is set by out: o/{stage}"):
        LargeSettings("m", "o", **{stage: {"output_dir": "x"}})


def test_rewards_go_by_their_names():
    made = {name: reward_of(LargeSettings("m", "o", reward=name)) for name in REWARDS if name != "rsd"}
    assert [type(made[name]) for name in REWARDS[1:]] == [InGroupRSDReward, SemanticEntropyReward, TokenEntropyReward]


@pytest.fixture
def recipe(tmp_path):
    """A recipe for the smallest policy on runs of `bookings`, with what it names."""
    write_rollouts(tmp_path / "runs.jsonl", demonstrations(Bookings.tasks[:3], 3, MIXED, 0))
    write_rollouts(tmp_path / "experts.jsonl", demonstrations(Bookings.tasks[:3], 3, EXPERT, 1, successful=True))
    (tmp_path / "tools.json").write_text(json.dumps([tool.definition for tool in TOOLS]))
    table = {
        "model": str(tmp_path / "model"),
        "out": str(tmp_path / "out"),
        "runs": [str(tmp_path / "runs.jsonl")],
        "experts": [str(tmp_path / "experts.jsonl")],
        "tools": str(tmp_path / "tools.json"),
        "rsd": {"steps": 20, "every": 10, "gamma": 0.8, "n": 3},
        "sft": {**QUIET, "max_steps": 2, "per_device_train_batch_size": 2, "max_length": 256},
        "grpo": GRPO,
        "lora": {"r": 2, "target_modules": ["q_proj", "v_proj"]},
    }

    def _recipe(**changes):
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump({"schema": RECIPE, "train": {**table, **changes}}))
        return path, LargeSettings(**{**table, **changes})

    return _recipe


def test_runs_that_hold_nothing_to_learn_from_are_told(recipe, tmp_path):
    _, settings = recipe(experts=[])
    pytest.importorskip("trl")
    with pytest.raises(ConfigError, match="at experts: the recipe names no files of runs"):
        train_on_experts(settings)
    poor = demonstrations(["ann_moves"], 1, MIXED, 0)
    write_rollouts(tmp_path / "experts.jsonl", [each for each in poor if not each.success])
    _, settings = recipe(experts=[str(tmp_path / "runs.jsonl")], tools=str(tmp_path / "recipe.yaml"))
    with pytest.raises(ConfigError, match="not JSON"):
        train_on_experts(settings)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_an_adapter_is_trained_on_expert_runs(recipe, tmp_path):
    policy(0, loud=0.0).save_pretrained(tmp_path / "model")
    spelling().save_pretrained(tmp_path / "model")
    _, settings = recipe()
    losses = train_on_experts(settings)
    assert len(losses) == 2
    assert (tmp_path / "out" / "sft" / "adapter_model.safetensors").exists()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_policy_is_trained_from_recorded_states(recipe, tmp_path):
    policy(0, loud=0.1).save_pretrained(tmp_path / "model")
    spelling().save_pretrained(tmp_path / "model")
    _, settings = recipe(reward="token-entropy", lora=None)
    entries = train_on_states(settings)
    assert [entry["step"] for entry in entries if "step" in entry] or len(entries) == 2
    assert all(entry["reward"] < 0 for entry in entries)
    assert (tmp_path / "out" / "grpo" / "model.safetensors").exists()
