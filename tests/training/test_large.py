from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec

import pytest
import yaml

from likewise.core.errors import CheckpointError, ConfigError
from likewise.formats.native import write_rollouts
from likewise.training.conversations import states
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.environments.bookings import TOOLS, Bookings
from likewise.training.guards import RewardWatch
from likewise.training.large import (
    REWARDS,
    LargeSettings,
    check_recipe,
    reward_of,
    train_on_experts,
    train_on_states,
    watch_of,
)
from likewise.training.recipe import RECIPE, read_recipe, recipe_names, settings_from
from likewise.training.rewards import InGroupRSDReward
from likewise.training.tiny_experts import EXPERT, MIXED, demonstrations
from training.batches import called
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


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"weight": 1.5}, r"weight lies in \[0, 1\], got 1.5"),
        ({"weight": math.nan}, r"weight lies in \[0, 1\]"),
        ({"watch": {"height": 3}}, "there is no 'height'; there are window, floor, settled, flat, fall, stop"),
        ({"watch": {"floor": 3}}, r"floor lies in \[0, 1\], got 3"),
        ({"watch": {"window": "long"}}, "watch cannot be"),
    ],
)
def test_a_weight_and_guards_that_cannot_be_are_refused(wrong, told):
    with pytest.raises(ValueError, match=told):
        LargeSettings("m", "o", **wrong)


def test_guards_are_those_of_the_recipe():
    watch, stop = watch_of(LargeSettings("m", "o", watch={"floor": 0.3, "window": 5, "stop": True}))
    assert (watch.floor, watch.window, watch.fall, stop) == (0.3, 5, 0.1, True)
    assert watch_of(LargeSettings("m", "o")) == (RewardWatch(), False)


def test_rewards_go_by_their_names():
    made = {name: reward_of(LargeSettings("m", "o", reward=name)) for name in REWARDS if name != "rsd"}
    assert [type(made[name]) for name in REWARDS[1:]] == [InGroupRSDReward, SemanticEntropyReward, TokenEntropyReward]


def test_a_learned_reward_without_a_learned_metric_is_refused_at_once(tmp_path):
    with pytest.raises(CheckpointError, match="rsd"):
        reward_of(LargeSettings("m", str(tmp_path)))


def test_a_weight_mixes_in_the_progress_that_recorded_runs_tell_of():
    runs = demonstrations(Bookings.tasks[:1], 2, EXPERT, 1, successful=True)
    half = LargeSettings("m", "o", reward="rsd-in-group", weight=0.5)
    rows = [row for row in states(runs) if row["reached"] == 0][:1] * 2
    moved = next(t.action for t, a, b in steps(runs[0]) if b > a).tool_calls[0]
    said = [[called(moved.name, moved.arguments)], [{"role": "assistant", "content": "Hm."}]]
    columns = {name: [row[name] for row in rows] for name in ("task_id", "reached")}
    prompts = [row["prompt"] for row in rows]
    mixed, alone = (reward_of(each, runs)(prompts, said, **columns) for each in (half, replace(half, weight=1.0)))
    gain = next(b - a for _, a, b in steps(runs[0]) if b > a)
    assert alone[0] == alone[1] < 0  # a call against words: neutral, for both
    assert mixed == pytest.approx([0.5 * alone[0] + 0.5 * gain, 0.5 * alone[1]])


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name in recipe_names() if name != "tiny"])
def test_the_packages_recipes_name_fields_that_the_libraries_have(name):
    settings = settings_from(LargeSettings, read_recipe(name)["train"], name, "train")
    check_recipe(replace(settings, grpo={**settings.grpo, "use_vllm": False}))  # vLLM need not be here


@pytest.mark.skipif(find_spec("vllm") is not None, reason="vLLM is here")
def test_vllm_that_is_not_there_is_told_at_the_first_stage_before_the_model_is_looked_for():
    with pytest.raises(ConfigError, match=r"at grpo.use_vllm: vLLM is not installed"):
        check_recipe(LargeSettings("./nowhere", "o", grpo={"use_vllm": True}))


def steps(rollout):
    curve = rollout.meta["progress"]
    return list(zip(rollout.turns, curve, curve[1:], strict=False))


def test_progress_that_no_run_tells_of_cannot_be_mixed_in():
    bare = [replace(each, meta={}) for each in demonstrations(Bookings.tasks[:1], 1, MIXED, 0)]
    with pytest.raises(ConfigError, match="at weight: no recorded run comes further by a call"):
        reward_of(LargeSettings("m", "o", reward="rsd-in-group", weight=0.5), bare)


@pytest.mark.parametrize(("field", "stage"), [("sft", train_on_experts), ("grpo", train_on_states)])
@pytest.mark.torch
def test_a_field_that_trl_has_not_is_told_before_runs_are_read(field, stage, tmp_path):
    settings = LargeSettings("org/m", str(tmp_path), runs=("no-runs",), experts=("none",), **{field: {"learning": 1}})
    with pytest.raises(ConfigError, match=f"at {field}.learning: (SFT|GRPO)Config has no such field .*learning_rate"):
        stage(settings)


@pytest.mark.torch
def test_a_value_that_trl_refuses_and_a_model_that_is_not_there_are_told(tmp_path):
    odd = {**GRPO, "per_device_train_batch_size": 3}
    with pytest.raises(ConfigError, match=r"at grpo: GRPOConfig refuses it: .*divisible"):
        train_on_states(LargeSettings("org/m", str(tmp_path), runs=("r",), reward="rsd-in-group", grpo=odd))
    with pytest.raises(ConfigError, match=r"at model: there is no folder ./m"):
        train_on_states(LargeSettings("./m", str(tmp_path), runs=("r",), grpo=GRPO))
    with pytest.raises(ConfigError, match=r"at lora.rank: LoraConfig has no such field"):
        check_recipe(LargeSettings("org/m", str(tmp_path), lora={"rank": 2}))


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
