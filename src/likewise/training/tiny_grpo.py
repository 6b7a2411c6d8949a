"""What TRL's GRPOTrainer asks of a policy in an environment: prompts in, finished conversations out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from likewise.core.rollout import StopReason
from likewise.training.environments.protocol import Environment
from likewise.training.episode import Episode, chat_messages
from likewise.training.reward_base import Reward
from likewise.training.tiny_sampler import LONGEST_ACTION, play

__all__ = ["EnvironmentRollouts", "prompt_rows", "train_grpo"]


def prompt_rows(make: Callable[[], Environment], tasks: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """A row for each task: its first messages as `prompt`, and its id."""
    environment = make()
    rows = []
    for task in tasks or environment.tasks:
        first = environment.reset(task)
        rows.append({"prompt": chat_messages((), first), "task_id": task})
    return rows


class EnvironmentRollouts:
    """A rollout function: plays the task of each prompt, and hands on what rewards read.

    Attributes:
        last: The episodes of the last call, for whoever wants to look at them.
    """

    def __init__(
        self,
        make: Callable[[], Environment],
        tokenizer: Any,  # noqa: ANN401 - a tokenizer
        seed: int,
        tasks: Sequence[str] | None = None,
    ) -> None:
        """Remember which prompt begins which task.

        Args:
            make: Makes a fresh environment.
            tokenizer: The policy's.
            seed: Seed of all chance.
            tasks: Tasks to train on; all where None.

        Raises:
            ValueError: Two tasks begin with the same words.
        """
        self._make, self._tokenizer, self._seed = make, tokenizer, seed
        rows = prompt_rows(make, tasks)
        self._tasks = {_key(row["prompt"]): row["task_id"] for row in rows}
        if len(self._tasks) < len(rows):
            raise ValueError("two tasks begin with the same words; a prompt must tell its task")
        self.last: list[Episode] = []

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:  # noqa: ANN401 - TRL's
        """One finished conversation for each prompt given; prompts come repeated for each member of a group."""
        episodes = [
            Episode(self._make(), self._tasks[_key(prompt)], f"{trainer.state.global_step}-{number}")
            for number, prompt in enumerate(prompts)
        ]
        model = trainer.accelerator.unwrap_model(trainer.model)
        # A stream for each step and process: a training that is taken up again draws what it would have drawn.
        rng = np.random.default_rng((self._seed, trainer.state.global_step, trainer.accelerator.process_index))
        runs = play(model, self._tokenizer, episodes, rng, temperature=trainer.temperature)
        self.last = episodes
        return {
            "prompt_ids": [run.prompt for run in runs],
            "completion_ids": [run.tokens for run in runs],
            "logprobs": None,
            "env_mask": [run.own for run in runs],
            "transcript": [self._transcript(run.episode) for run in runs],
            "progress": [list(run.episode.progress) for run in runs],
            "stop": ["cut" if run.episode.stop is StopReason.CUT else "finished" for run in runs],
        }

    def _transcript(self, episode: Episode) -> list[dict[str, Any]]:
        """The messages after the prompt."""
        first = len(chat_messages((), episode.turns[0].observations))
        return chat_messages(episode.turns, episode.observations)[first:]


def _key(prompt: Any) -> str:  # noqa: ANN401 - messages or text
    return prompt if isinstance(prompt, str) else "\x00".join(f"{each['role']}\x01{each['content']}" for each in prompt)


def train_grpo(
    model: Any,  # noqa: ANN401 - a model
    tokenizer: Any,  # noqa: ANN401 - a tokenizer
    make: Callable[[], Environment],
    reward: Reward,
    folder: str | Path,
    *,
    seed: int,
    group: int,
    settings: Mapping[str, Any],
    tasks: Sequence[str] | None = None,
    per_turn: bool = False,
    callbacks: Sequence[Any] = (),
) -> list[dict[str, float]]:
    """Train a tiny policy in an environment by TRL's GRPO.

    Args:
        model: The policy, changed in place.
        tokenizer: Its tokenizer.
        make: Makes the environment.
        reward: What is to be had more of.
        folder: Where the trainer keeps checkpoints.
        seed: Seed of everything random.
        group: Rollouts of one prompt that are compared with each other.
        settings: Further fields of trl.GRPOConfig.
        tasks: Tasks to train on; all where None.
        per_turn: Whether credit goes by turn.
        callbacks: The trainer's, beside its own.

    Returns:
        What the trainer logged, one entry a step.

    Raises:
        MissingExtraError: The extra `train` is not installed.
    """
    from likewise.training.grpo import trainer_class

    kind = trainer_class()
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig

    longest = make().turn_limit * 2 * LONGEST_ACTION  # what the loss divides by; episodes end by themselves
    args = GRPOConfig(
        output_dir=str(folder),
        seed=seed,
        num_generations=group,
        max_completion_length=longest,
        logging_steps=1,
        **{"lr_scheduler_type": "constant", "temperature": 1.0, "beta": 0.0, **settings},
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "You are using 'rollout_func'")  # that it may change is known
        trainer = kind(
            model=model,
            processing_class=tokenizer,
            reward_funcs=[reward],
            args=args,
            train_dataset=Dataset.from_list(prompt_rows(make, tasks)),
            rollout_func=EnvironmentRollouts(make, tokenizer, seed, tasks),
            per_turn=per_turn,
            callbacks=list(callbacks),
        )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    kept = ("step", "reward", "reward_std", "entropy", "loss", "completions/mean_length")
    return [
        {name: float(entry[name]) for name in kept if name in entry}
        for entry in trainer.state.log_history
        if "reward" in entry
    ]
