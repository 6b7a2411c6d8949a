"""Training a language model of a few billion parameters by a recipe: SFT on expert runs, GRPO on recorded states.

The heavy lifting is TRL's: adapters by PEFT, generation by vLLM, several devices by accelerate or torchrun. Start the
command under a launcher and every process runs the same recipe.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from likewise.core.errors import ConfigError, MissingExtraError
from likewise.core.rollout import Rollout
from likewise.formats.registry import read_rollouts
from likewise.learned.model import RSDModel
from likewise.training.conversations import as_dataset, conversations, states
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.grpo import trainer_class
from likewise.training.guards import RewardWatch
from likewise.training.mixing import HybridReward
from likewise.training.recipe_checks import check_fields, check_model, check_vllm, loaded, made
from likewise.training.recorded_progress import RecordedGoals, WithRecordedProgress
from likewise.training.reward_base import Reward
from likewise.training.rewards import RSDReward
from likewise.training.sft import fine_tune, load_trl
from likewise.training.tiny import load_transformers
from likewise.training.watch import callback_class

__all__ = ["REWARDS", "LargeSettings", "check_recipe", "reward_of", "train_on_experts", "train_on_states", "watch_of"]

REWARDS = ("rsd", "rsd-in-group", "semantic-entropy", "token-entropy")
_GUARDS = ("window", "floor", "settled", "flat", "fall")
LARGEST_TOOLS = 2_000_000
"""Bytes of a file of tool definitions at most."""


@dataclass(frozen=True, slots=True)
class LargeSettings:
    """A recipe for one model and one benchmark.

    Attributes:
        model: Folder or hub id of the policy.
        out: Folder of everything that is made: `sft`, `rsd`, `grpo`.
        runs: Files of the policy's own runs: RSD is fitted on them, and GRPO acts from their states.
        experts: Files of expert runs; the successful ones are learned by SFT.
        tools: JSON file with the tools' definitions in OpenAI's form, which the template shows; none where None.
        judge: Judge of texts, as `--judge` takes it.
        reward: One of REWARDS.
        weight: The lambda of `HybridReward`, in [0, 1]: 1 is the reward alone, 0 the progress that the action makes
            alone, as far as the runs tell it (`RecordedGoals`).
        watch: Fields of `RewardWatch`, and `stop`: whether a collapse ends the training.
        start: Policy that GRPO starts from where it is not `model`, such as what SFT made.
        rsd: Options of fitting RSD, as `likewise fit --set` takes them.
        sft: Fields of trl.SFTConfig.
        grpo: Fields of trl.GRPOConfig.
        lora: Fields of peft.LoraConfig; the whole model is trained where None.
        per_turn: Whether credit goes by turn; with one action a completion it changes nothing.
    """

    model: str
    out: str
    runs: tuple[str, ...] = ()
    experts: tuple[str, ...] = ()
    tools: str | None = None
    judge: str = "embedded"
    reward: str = "rsd"
    weight: float = 1.0
    watch: dict[str, Any] = field(default_factory=dict)
    start: str | None = None
    rsd: dict[str, Any] = field(default_factory=dict)
    sft: dict[str, Any] = field(default_factory=dict)
    grpo: dict[str, Any] = field(default_factory=dict)
    lora: dict[str, Any] | None = None
    per_turn: bool = False

    def __post_init__(self) -> None:
        """Refuse a reward that there is not, a weight or guards that cannot be, and fields that the command sets.

        Raises:
            ValueError: Names it.
        """
        if self.reward not in REWARDS:
            raise ValueError(f"there is no reward {self.reward!r}; there are {', '.join(REWARDS)}")
        if not 0 <= self.weight <= 1:
            raise ValueError(f"weight lies in [0, 1], got {self.weight}")
        try:
            watch_of(self)
        except (TypeError, ValueError) as problem:
            raise ValueError(f"watch cannot be {self.watch}: {problem}") from None
        for name, table in (("sft", self.sft), ("grpo", self.grpo)):
            if "output_dir" in table:
                raise ValueError(f"{name}.output_dir is set by out: {self.out}/{name}")

    def folder(self, stage: str) -> Path:
        """Where a stage keeps what it makes."""
        return Path(self.out) / stage


def watch_of(settings: LargeSettings) -> tuple[RewardWatch, bool]:
    """The guards of a recipe, and whether a collapse ends the training.

    Raises:
        TypeError: A field that guards have not.
        ValueError: A value that cannot be.
    """
    table = dict(settings.watch)
    stop = table.pop("stop", False)
    unknown = [name for name in table if name not in _GUARDS]
    if unknown:
        raise ValueError(f"there is no {unknown[0]!r}; there are {', '.join((*_GUARDS, 'stop'))}")
    return RewardWatch(**table), bool(stop)


def check_recipe(settings: LargeSettings) -> None:
    """Refuse what a later stage would, where its libraries are there: at the first stage, not after hours.

    Raises:
        ConfigError: vLLM is asked for and not installed, a field that a library has not, or a folder of a model that
            is not there.
    """
    check_vllm(settings.grpo, "grpo")
    check_model(settings.model, "model")
    if find_spec("trl") is None or find_spec("torch") is None:
        return
    trl = load_trl()
    check_fields(trl.SFTConfig, settings.sft, "sft")
    check_fields(trl.GRPOConfig, settings.grpo, "grpo")
    _adapter(settings)


def _adapter(settings: LargeSettings) -> Any:  # noqa: ANN401 - peft's
    if settings.lora is None:
        return None
    try:
        from peft import LoraConfig
    except ImportError as problem:
        raise MissingExtraError("training an adapter", "train") from problem
    return made(LoraConfig, settings.lora, "lora", task_type="CAUSAL_LM")


def _tools(settings: LargeSettings) -> list[Any] | None:
    if settings.tools is None:
        return None
    path = Path(settings.tools)
    if not path.is_file():
        raise ConfigError("", f"there is no file {settings.tools}", key="tools")
    if path.stat().st_size > LARGEST_TOOLS:
        raise ConfigError(settings.tools, f"larger than {LARGEST_TOOLS} bytes")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise ConfigError(settings.tools, "not JSON") from None
    if not isinstance(found, list) or not found:
        raise ConfigError(settings.tools, "no list of tools", expected='[{"type": "function", "function": ...}, ...]')
    return found


def _rows(rows: list[dict[str, Any]], settings: LargeSettings, what: str) -> list[dict[str, Any]]:
    if not rows:
        raise ConfigError("", f"the runs hold no {what}; nothing can be learned from them")
    tools = _tools(settings)
    return rows if tools is None else [{**row, "tools": tools} for row in rows]


def _runs(paths: Sequence[str], key: str) -> list[Rollout]:
    if not paths:
        raise ConfigError("", "the recipe names no files of runs", key=key)
    return list(read_rollouts([Path(path) for path in paths]))


def train_on_experts(settings: LargeSettings, *, resume: bool = False) -> list[float]:
    """SFT on the successful expert runs; the model goes to `out/sft`.

    Args:
        settings: The recipe.
        resume: Whether to go on from the last checkpoint.

    Returns:
        The loss at each time of logging.

    Raises:
        ConfigError: A field or a folder that cannot be, no expert runs, or none that was successful.
        MissingExtraError: The extra `train` is not installed.
    """
    load_trl()
    check_recipe(settings)
    rows = _rows(conversations(_runs(settings.experts, "experts")), settings, "successful run")
    tokenizer = loaded(load_transformers().AutoTokenizer.from_pretrained, settings.model, "model")
    return fine_tune(
        settings.model,
        tokenizer,
        rows,
        settings.folder("sft"),
        settings=settings.sft,
        peft_config=_adapter(settings),
        resume=resume,
    )


def reward_of(settings: LargeSettings, rollouts: Sequence[Rollout] = ()) -> Reward:
    """The reward that a recipe names; the learned one from `out/rsd`.

    Args:
        settings: The recipe.
        rollouts: Recorded runs, which tell what progress an action makes.

    Raises:
        CheckpointError: There is no learned metric in `out/rsd` that fits.
        ConfigError: Progress weighs something, and the runs tell nothing of it.
    """
    reward = _consistency(settings)
    goals = RecordedGoals(rollouts)
    if goals.rises > goals.unseen:  # at weight 1 it is watched and moves nothing
        mixed = reward if settings.weight == 1 else HybridReward(reward, settings.weight)
        return WithRecordedProgress(mixed, goals)
    if settings.weight < 1:
        told = "no recorded run comes further by a call, so the progress of an action is not known"
        raise ConfigError("", told, key="weight", expected="runs whose log tells progress, or weight: 1")
    return reward


def _consistency(settings: LargeSettings) -> Reward:
    if settings.reward == "rsd":
        return RSDReward(RSDModel.load(settings.folder("rsd")), normalised=True)
    if settings.reward == "rsd-in-group":
        return RSDReward.in_group(settings.judge, normalised=True)
    return SemanticEntropyReward(settings.judge) if settings.reward == "semantic-entropy" else TokenEntropyReward()


def train_on_states(settings: LargeSettings, *, resume: bool = False) -> list[dict[str, float]]:
    """GRPO: one action from each recorded state, rewarded by how settled the agent is after it.

    Guards watch it: what they find is a `TrainingWarning`.

    Args:
        settings: The recipe.
        resume: Whether to go on from the last checkpoint.

    Returns:
        What the trainer logged.

    Raises:
        ConfigError: A field or a folder that cannot be, or the recipe names no runs.
        CheckpointError: There is no learned metric in `out/rsd` that fits.
        MissingExtraError: The extra `train` is not installed.
    """
    kind = trainer_class()
    from trl import GRPOConfig

    check_recipe(settings)
    start = settings.start or settings.model
    check_model(start, "start")
    args = made(GRPOConfig, settings.grpo, "grpo", output_dir=str(settings.folder("grpo")))
    rollouts = _runs(settings.runs, "runs")
    reward = reward_of(settings, rollouts)
    rows = _rows(states(rollouts), settings, "state")
    tokenizers = load_transformers().AutoTokenizer
    watch, stop = watch_of(settings)
    trainer = kind(
        model=start,
        processing_class=loaded(lambda name: tokenizers.from_pretrained(name, padding_side="left"), start, "model"),
        reward_funcs=[reward],
        args=args,
        train_dataset=as_dataset(rows),
        peft_config=_adapter(settings),
        per_turn=settings.per_turn,
        callbacks=[callback_class()(watch, stop=stop)],
    )
    trainer.train(resume_from_checkpoint=resume)
    trainer.save_model(str(settings.folder("grpo")))
    return [entry for entry in trainer.state.log_history if "reward" in entry]
