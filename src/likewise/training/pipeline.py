"""The whole of it in small: warm up a policy, collect, fit RSD, train on with each reward, evaluate.

Everything is written as soon as it is there, and what is there is not made again: a pipeline that was stopped goes on
with the arm it was at. One folder is one seed.

Source: arXiv:2610.33012, section 6 and A.3, at the scale of a laptop.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from likewise.core.protocols import Judge
from likewise.core.rollout import Rollout
from likewise.formats.native import read, write_rollouts
from likewise.learned.model import RSDModel
from likewise.training.decision_states import DecisionRSDReward
from likewise.training.entropy import SemanticEntropyReward, TokenEntropyReward
from likewise.training.environments.bookings import Bookings
from likewise.training.environments.bookings_words import BookingsJudge
from likewise.training.episode import Episode
from likewise.training.mixing import HybridReward, ProgressReward, ShuffledReward
from likewise.training.refresh import measure_drift
from likewise.training.reward_base import Reward
from likewise.training.rewards import RSDReward
from likewise.training.sft import fine_tune
from likewise.training.tiny import TinySize, load_tiny, messages_of, save_tiny, tiny_model, tiny_tokenizer
from likewise.training.tiny_experts import EXPERT, MIXED, demonstrations
from likewise.training.tiny_grpo import train_grpo
from likewise.training.tiny_sampler import play
from likewise.training.tiny_settings import ARMS, TinySettings

__all__ = ["Fit", "TinyPipeline"]


class Fit(Protocol):
    """Fits a learned metric; the application that does so is handed in from above (`evaluation.fit`)."""

    def __call__(self, rollouts: Sequence[Rollout], judge: Judge, settings: TinySettings, seed: int) -> RSDModel:
        """A metric learned from rollouts."""
        ...


class TinyPipeline:
    """One seed of the pipeline in `bookings`.

    Attributes:
        folder: Where everything is kept.
        seed: Seed of everything random.
        settings: How it is run.
        judge: Gives the relation of two messages.
    """

    def __init__(
        self,
        folder: str | Path,
        seed: int,
        settings: TinySettings,
        fit: Fit,
        *,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make the folder.

        Raises:
            ValueError: The folder holds a pipeline of another seed or other settings.
        """
        self.folder, self.seed, self.settings = Path(folder), seed, settings
        self.judge: Judge = BookingsJudge()
        self._fit, self._say = fit, say
        self.folder.mkdir(parents=True, exist_ok=True)
        made = json.dumps({"seed": seed, **{name: getattr(settings, name) for name in settings.__slots__}}, indent=1)
        facts = self.folder / "settings.json"
        if facts.exists() and facts.read_text(encoding="utf-8") != made:
            raise ValueError(f"{self.folder} holds a pipeline of another seed or other settings; name another folder")
        facts.write_text(made, encoding="utf-8")

    def base(self) -> tuple[Any, Any]:
        """The policy that all arms start from, and its tokenizer: warmed up on inconsistent demonstrations."""
        where = self.folder / "policy"
        if not (where / "tokenizer.json").exists():
            settings = self.settings
            demos = demonstrations(Bookings.tasks, settings.demonstrations, MIXED, self.seed)
            size = TinySize(settings.hidden, settings.layers)
            tokenizer = tiny_tokenizer(demos, size)
            model = tiny_model(tokenizer, self.seed, size)
            self._learn(model, tokenizer, demos, settings.warm_steps, settings.warm_rate, "cosine")
            save_tiny(model, tokenizer, where)
            self._say("base warmed up")
        return load_tiny(where)

    def _learn(
        self,
        model: Any,  # noqa: ANN401 - a model
        tokenizer: Any,  # noqa: ANN401 - a tokenizer
        demos: Sequence[Rollout],
        steps: int,
        rate: float,
        schedule: str,
    ) -> None:
        rows = [{"messages": messages_of(rollout)} for rollout in demos]
        random.Random(self.seed).shuffle(rows)
        more = {"per_device_train_batch_size": self.settings.warm_batch, "max_length": 512, "logging_steps": steps}
        plan = {"max_steps": steps, "learning_rate": rate, "lr_scheduler_type": schedule, "seed": self.seed}
        fine_tune(model, tokenizer, rows, self.folder / "trainer", settings={**_QUIET, **plan, **more})

    def collected(self) -> list[Rollout]:
        """Runs of the base at temperature 1, from which RSD is learned."""
        where = self.folder / "collected.jsonl"
        if not where.exists():
            model, tokenizer = self.base()
            write_rollouts(where, self._play(model, tokenizer, self.settings.runs, 1.0, 1))
        return list(read(where, "").rollouts)

    def _play(self, model: Any, tokenizer: Any, runs: int, temperature: float, stream: int) -> list[Rollout]:  # noqa: ANN401
        episodes = [Episode(Bookings(), task, str(k)) for task in Bookings.tasks for k in range(runs)]
        rng = np.random.default_rng((self.seed, stream))
        return [run.episode.rollout() for run in play(model, tokenizer, episodes, rng, temperature=temperature)]

    def metric(self) -> RSDModel:
        """The learned metric of the base."""
        where = self.folder / "metric"
        if not (where / "model.json").exists():
            model = self._fit(self.collected(), self.judge, self.settings, self.seed)
            model.save(where)
            self._say("RSD fitted")
        return RSDModel.load(where)

    def reward(self, arm: str) -> Reward:
        """The reward of an arm.

        Raises:
            ValueError: The arm has none.
        """
        if arm == "token-entropy":
            return TokenEntropyReward()
        if arm == "semantic-entropy":
            return SemanticEntropyReward(self.judge)
        if arm == "hybrid-0":
            return ProgressReward()
        if arm == "rsd":
            return self._learned(self.metric())
        in_group = RSDReward.in_group(self.judge, gamma=self.settings.gamma, normalised=True)
        if arm in ("rsd-in-group", "rsd-by-turn"):
            return in_group
        if arm == "shuffled":
            return ShuffledReward(in_group, self.seed)
        if arm in ("hybrid-0.25", "hybrid-0.5", "hybrid-0.75"):
            return HybridReward(in_group, float(arm.removeprefix("hybrid-")))
        raise ValueError(f"arm {arm!r} has no reward of its own")

    def _learned(self, metric: RSDModel) -> RSDReward:
        if self.settings.states == "decisions":
            return DecisionRSDReward(metric, normalised=True)
        return RSDReward(metric, normalised=True, last="end" if self.settings.states == "end" else "score")

    def arm(self, name: str) -> dict[float, list[Rollout]]:
        """Train an arm and evaluate it; what was done already is read.

        Returns:
            Rollouts by temperature: 1 (`blocks` times `trials` of each task) and 0.

        Raises:
            ValueError: There is no such arm.
        """
        if name not in ARMS:
            raise ValueError(f"no arm {name!r}; there are {', '.join(ARMS)}")
        return self._evaluated(name, lambda: self._trained(name))

    def rewarded(self, name: str, reward: Reward) -> dict[float, list[Rollout]]:
        """Train the base on with any other reward and evaluate it as an arm is; what was done already is read.

        Args:
            name: A name of its own, for its folder.
            reward: What is to be had more of.

        Raises:
            ValueError: The name is an arm's.
        """
        if name in ARMS:
            raise ValueError(f"{name!r} is one of the pipeline's own arms; take another name")
        return self._evaluated(name, lambda: self._rewarded(name, reward))

    def _evaluated(self, name: str, trained: Callable[[], tuple[Any, Any]]) -> dict[float, list[Rollout]]:
        where = self.folder / "arms" / name
        files = {1.0: where / "temperature-1.jsonl", 0.0: where / "temperature-0.jsonl"}
        if not all(path.exists() for path in files.values()):
            where.mkdir(parents=True, exist_ok=True)
            model, tokenizer = trained()
            runs = {1.0: self.settings.trials * self.settings.blocks, 0.0: self.settings.trials}
            for temperature, path in files.items():
                write_rollouts(path, self._play(model, tokenizer, runs[temperature], temperature, 2))
            self._say(f"arm {name} evaluated")
        return {temperature: list(read(path, "").rollouts) for temperature, path in files.items()}

    def _rewarded(self, name: str, reward: Reward) -> tuple[Any, Any]:
        model, tokenizer = self.base()
        log = self._reinforce(model, tokenizer, reward, self.settings.steps, self.seed)
        _write(self.folder / "arms" / name / "training.json", json.dumps(log))
        return model, tokenizer

    def _trained(self, name: str) -> tuple[Any, Any]:
        model, tokenizer = self.base()
        settings = self.settings
        if name == "sft":
            experts = demonstrations(Bookings.tasks, settings.expert, EXPERT, self.seed + 1_000_003, successful=True)
            self._learn(model, tokenizer, experts, settings.expert_steps, settings.rate, "constant")
        elif name != "base":
            log = self._refreshed(model, tokenizer) if name == "rsd-refreshed" else self._once(model, tokenizer, name)
            _write(self.folder / "arms" / name / "training.json", json.dumps(log))
        return model, tokenizer

    def _once(self, model: Any, tokenizer: Any, name: str) -> list[dict[str, Any]]:  # noqa: ANN401 - a model
        steps, by_turn = self.settings.steps, name == "rsd-by-turn"
        return self._reinforce(model, tokenizer, self.reward(name), steps, self.seed, by_turn=by_turn)

    def _refreshed(self, model: Any, tokenizer: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a model
        """Train in rounds; after each, fit the metric anew where the policy has drifted from it."""
        settings, metric = self.settings, self.metric()
        log: list[dict[str, Any]] = []
        for number, steps in enumerate(_parts(settings.steps, settings.rounds)):
            if number:
                runs = self._play(model, tokenizer, settings.runs, 1.0, 100 + number)
                drift = measure_drift(metric, runs, self.judge)
                reason = drift.reason()
                log.append({**drift.as_json(), "reason": reason})
                if reason is not None:
                    self._say(f"RSD fitted anew: {reason}")
                    metric = self._fit(runs, self.judge, settings, self.seed + number)
            log += self._reinforce(model, tokenizer, self._learned(metric), steps, self.seed + number)
        return log

    def _reinforce(
        self,
        model: Any,  # noqa: ANN401 - a model
        tokenizer: Any,  # noqa: ANN401 - a tokenizer
        reward: Reward,
        steps: int,
        seed: int,
        *,
        by_turn: bool = False,
    ) -> list[dict[str, float]]:
        settings = self.settings
        plan = {
            **_QUIET,
            "max_steps": steps,
            "learning_rate": settings.rate,
            "beta": settings.anchor,
            "per_device_train_batch_size": settings.group * settings.prompts,
        }
        return train_grpo(
            model,
            tokenizer,
            Bookings,
            reward,
            self.folder / "trainer",
            seed=seed,
            group=settings.group,
            settings=plan,
            per_turn=by_turn,
        )


_QUIET = {
    "use_cpu": True,
    "bf16": False,
    "report_to": "none",
    "save_strategy": "no",
    "activation_checkpointing": False,
    "disable_tqdm": True,
}


def _parts(steps: int, rounds: int) -> list[int]:
    """Steps of each round, as even as can be; no round is empty."""
    rounds = min(rounds, steps)
    return [steps // rounds + (number < steps % rounds) for number in range(rounds)]


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
