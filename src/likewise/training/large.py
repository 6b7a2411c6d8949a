"""Training a language model of a few billion parameters by a recipe: SFT on expert runs, GRPO on recorded states.

The heavy lifting is TRL's: adapters by PEFT, generation by vLLM, several devices by accelerate or torchrun. Start the
command under a launcher and every process runs the same recipe.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from likewise.core.errors import ConfigError, MissingExtraError
from likewise.core.rollout import Rollout
from likewise.formats.registry import read_rollouts
from likewise.training.conversations import as_dataset, conversations, states
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.grpo import trainer_class
from likewise.training.reward_base import Reward
from likewise.training.rewards import RSDReward
from likewise.training.sft import fine_tune, load_trl
from likewise.training.tiny import load_transformers

__all__ = ["REWARDS", "LargeSettings", "reward_of", "train_on_experts", "train_on_states"]

REWARDS = ("rsd", "rsd-in-group", "semantic-entropy", "token-entropy")
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
    start: str | None = None
    rsd: dict[str, Any] = field(default_factory=dict)
    sft: dict[str, Any] = field(default_factory=dict)
    grpo: dict[str, Any] = field(default_factory=dict)
    lora: dict[str, Any] | None = None
    per_turn: bool = False

    def __post_init__(self) -> None:
        """Refuse a reward that there is not, and fields that the command sets itself.

        Raises:
            ValueError: Names it.
        """
        if self.reward not in REWARDS:
            raise ValueError(f"there is no reward {self.reward!r}; there are {', '.join(REWARDS)}")
        for name, table in (("sft", self.sft), ("grpo", self.grpo)):
            if "output_dir" in table:
                raise ValueError(f"{name}.output_dir is set by out: {self.out}/{name}")

    def folder(self, stage: str) -> Path:
        """Where a stage keeps what it makes."""
        return Path(self.out) / stage


def _adapter(settings: LargeSettings) -> Any:  # noqa: ANN401 - peft's
    if settings.lora is None:
        return None
    try:
        from peft import LoraConfig
    except ImportError as problem:
        raise MissingExtraError("training an adapter", "train") from problem
    return LoraConfig(task_type="CAUSAL_LM", **settings.lora)


def _tools(settings: LargeSettings) -> list[Any] | None:
    if settings.tools is None:
        return None
    path = Path(settings.tools)
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
        raise ConfigError(settings.out, f"the runs hold no {what}; nothing can be learned from them")
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
        ConfigError: The recipe names no expert runs, or none was successful.
        MissingExtraError: The extra `train` is not installed.
    """
    load_trl()
    rows = _rows(conversations(_runs(settings.experts, "experts")), settings, "successful run")
    tokenizer = load_transformers().AutoTokenizer.from_pretrained(settings.model)
    return fine_tune(
        settings.model,
        tokenizer,
        rows,
        settings.folder("sft"),
        settings=settings.sft,
        peft_config=_adapter(settings),
        resume=resume,
    )


def reward_of(settings: LargeSettings) -> Reward:
    """The reward that a recipe names; the learned one from `out/rsd`."""
    if settings.reward == "rsd":
        return RSDReward(settings.folder("rsd"), normalised=True)
    if settings.reward == "rsd-in-group":
        return RSDReward.in_group(settings.judge, normalised=True)
    return SemanticEntropyReward(settings.judge) if settings.reward == "semantic-entropy" else TokenEntropyReward()


def train_on_states(settings: LargeSettings, *, resume: bool = False) -> list[dict[str, float]]:
    """GRPO: one action from each recorded state, rewarded by how settled the agent is after it.

    Args:
        settings: The recipe.
        resume: Whether to go on from the last checkpoint.

    Returns:
        What the trainer logged.

    Raises:
        ConfigError: The recipe names no runs.
        CheckpointError: There is no learned metric in `out/rsd` that fits.
        MissingExtraError: The extra `train` is not installed.
    """
    kind = trainer_class()
    from trl import GRPOConfig

    rows = _rows(states(_runs(settings.runs, "runs")), settings, "state")
    start = settings.start or settings.model
    trainer = kind(
        model=start,
        processing_class=load_transformers().AutoTokenizer.from_pretrained(start, padding_side="left"),
        reward_funcs=[reward_of(settings)],
        args=GRPOConfig(output_dir=str(settings.folder("grpo")), **settings.grpo),
        train_dataset=as_dataset(rows),
        peft_config=_adapter(settings),
        per_turn=settings.per_turn,
    )
    trainer.train(resume_from_checkpoint=resume)
    trainer.save_model(str(settings.folder("grpo")))
    return [entry for entry in trainer.state.log_history if "reward" in entry]
