"""TRL's GRPO trainer with what rewards of consistency need: entropy by token as a column, and credit by turn.

`from likewise.training.grpo import ConsistencyGRPOTrainer` loads TRL; the module itself does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from likewise.core.errors import MissingExtraError
from likewise.learned.network import load_torch
from likewise.training.entropy import TOKEN_ENTROPY
from likewise.training.siblings import everywhere
from likewise.training.token_entropy import by_turn, token_entropies
from likewise.training.turn_credit import segments, spread_advantages, turn_advantages

__all__ = ["trainer_class"]


class _ConsistencyTraining:
    """What is put in front of `trl.GRPOTrainer`."""

    def __init__(self, *arguments: Any, per_turn: bool = False, **options: Any) -> None:  # noqa: ANN401 - TRL's own
        """Make a trainer.

        Args:
            arguments: Those of `trl.GRPOTrainer`.
            per_turn: Whether each action gets the advantage of its own score among its siblings at that turn. Off,
                all tokens of a completion share one, as in TRL.
            options: Those of `trl.GRPOTrainer`.

        Raises:
            ValueError: Credit by turn with a reward that scores no turns.
        """
        super().__init__(*arguments, **options)
        self.per_turn = per_turn
        self._written: tuple[list[list[int]], list[list[int]], list[list[int]]] = ([], [], [])
        self._by_turn: list[list[float | None]] = []
        dumb = [name for reward, name in self._rewards() if not hasattr(reward, "turn_scores")]
        if per_turn and dumb:
            raise ValueError(f"credit by turn needs rewards that score turns; {', '.join(dumb)} does not")

    def _rewards(self) -> list[tuple[Any, str]]:
        trainer: Any = self
        return list(zip(trainer.reward_funcs, trainer.reward_func_names, strict=True))

    def _generate(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - TRL's own
        """Keep which tokens the policy wrote."""
        trainer: Any = super()
        generated = trainer._generate(*arguments, **options)
        prompt_ids, completion_ids, mask = generated[:3]
        written = mask if mask is not None else [[1] * len(ids) for ids in completion_ids]
        self._written = ([list(ids) for ids in prompt_ids], [list(ids) for ids in completion_ids], written)
        return generated

    def _calculate_rewards(self, inputs: list[dict[str, Any]], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """Add columns before rewards are asked; ask them for turns where credit goes by turn."""
        trainer: Any = super()
        if any(TOKEN_ENTROPY in getattr(reward, "needs", ()) for reward, _ in self._rewards()):
            for row, entropies in zip(inputs, self._token_entropies(), strict=True):
                row[TOKEN_ENTROPY] = entropies
        rewards = trainer._calculate_rewards(inputs, *arguments, **options)
        if self.per_turn:
            self._by_turn = self._turn_scores(inputs, *arguments, **options)
        return rewards

    def _token_entropies(self) -> list[list[list[float]]]:
        trainer: Any = self
        prompts, completions, written = self._written
        with trainer.accelerator.autocast():
            entropies = token_entropies(
                trainer.model,
                prompts,
                completions,
                temperature=trainer.temperature,
                batch=trainer.args.per_device_train_batch_size,
            )
        return [by_turn(row, mask) for row, mask in zip(entropies, written, strict=True)]

    def _turn_scores(
        self,
        inputs: Sequence[dict[str, Any]],
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Any],
    ) -> list[list[float | None]]:
        """The weighted sum of what the rewards say of each action; None where one of them does not say."""
        trainer: Any = self
        names = [name for name in inputs[0] if name not in ("prompt", "completion", "completion_ids")]
        columns = {name: [row[name] for row in inputs] for name in names} | {"trainer_state": trainer.state}
        weights = trainer.reward_weights.tolist()
        whole: list[list[float | None]] | None = None
        for weight, (reward, _) in zip(weights, self._rewards(), strict=True):
            scores = reward.turn_scores(prompts, completions, completion_ids, **columns)
            weighed = [[None if score is None else weight * score for score in row] for row in scores]
            whole = weighed if whole is None else [_added(a, b) for a, b in zip(whole, weighed, strict=True)]
        return whole or []

    def _generate_and_score_completions(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - TRL's own
        """Replace the one advantage a completion by one a token where credit goes by turn."""
        trainer: Any = super()
        batch = trainer._generate_and_score_completions(*arguments, **options)
        if self.per_turn:
            batch["advantages"] = self._spread(batch)
        return batch

    def _spread(self, batch: dict[str, Any]) -> Any:  # noqa: ANN401 - a tensor
        trainer: Any = self
        mode = "train" if trainer.model.training else "eval"
        size = trainer.num_generations if mode == "train" else trainer.num_generations_eval
        everyone, own = everywhere(self._by_turn)
        advantages = turn_advantages(everyone, size, scale=trainer.scale_rewards != "none")[own]
        written = np.zeros(tuple(batch["completion_ids"].shape), dtype=np.int64)
        for row, mask in enumerate(self._written[2]):
            written[row, : len(mask)] = mask[: written.shape[1]]
        whole = batch["advantages"]
        spread, kept = spread_advantages(
            whole.float().cpu().numpy(), advantages, [len(row) for row in self._by_turn], segments(written)
        )
        trainer._metrics[mode]["turn_credit/whole"].append(kept / max(len(spread), 1))
        return load_torch().tensor(spread, dtype=whole.dtype, device=whole.device)


def _added(first: Sequence[float | None], second: Sequence[float | None]) -> list[float | None]:
    if len(first) != len(second):
        return []
    return [None if a is None or b is None else a + b for a, b in zip(first, second, strict=True)]


@cache
def trainer_class() -> type[Any]:
    """`trl.GRPOTrainer` with the column of token entropies and the option `per_turn`.

    Raises:
        MissingExtraError: TRL is not installed.
    """
    try:
        from trl import GRPOTrainer
    except ImportError:
        raise MissingExtraError("training with GRPO", "train") from None
    names = {"__module__": __name__, "__doc__": _ConsistencyTraining.__doc__}
    return type("ConsistencyGRPOTrainer", (_ConsistencyTraining, GRPOTrainer), names)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute can be anything
    """Make the trainer on first use."""
    if name == "ConsistencyGRPOTrainer":
        return trainer_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
