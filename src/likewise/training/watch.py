"""The guards of a training as a callback of transformers and TRL."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

from likewise.core.errors import MissingExtraError
from likewise.training.guards import RewardWatch, TrainingWarning

__all__ = ["TrainingWarning", "callback_class"]


class _Watching:
    """What is put in front of `transformers.TrainerCallback`."""

    def __init__(self, watch: RewardWatch | None = None, *, stop: bool = False) -> None:
        """Take the guards.

        Args:
            watch: The guards and their limits.
            stop: Whether a collapse (RSD falling while progress falls) ends the training; it is told in any case.
        """
        super().__init__()
        self.watch, self.stop, self.told = watch or RewardWatch(), stop, list[str]()

    def on_log(
        self,
        args: Any,  # noqa: ANN401 - the trainer's own
        state: Any,  # noqa: ANN401 - the trainer's own
        control: Any,  # noqa: ANN401 - the trainer's own
        logs: Mapping[str, Any] | None = None,
        **others: Any,  # noqa: ANN401 - the trainer's own
    ) -> None:
        """Look at what a step logged."""
        del args, others
        if logs is None or "reward" not in logs:  # a summary, or an evaluation
            return
        numbers = {name: _number(logs, name) for name in ("frac_reward_zero_std", "rsd", "progress")}
        step = int(state.global_step)
        found = self.watch.observe(
            step, flat=numbers["frac_reward_zero_std"], rsd=numbers["rsd"], progress=numbers["progress"]
        )
        self.told += found
        for sentence in found:
            warnings.warn(sentence, TrainingWarning, stacklevel=2)
        if self.stop and any("while progress fell" in sentence for sentence in found):
            control.should_training_stop = True


def _number(logs: Mapping[str, Any], name: str) -> float | None:
    value = logs.get(name)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


@cache
def callback_class() -> type[Any]:
    """A `transformers.TrainerCallback` over `RewardWatch`; its sentences are warnings, and kept in `told`.

    Raises:
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers import TrainerCallback
    except ImportError:
        raise MissingExtraError("watching a training", "train") from None
    return type("WatchCallback", (_Watching, TrainerCallback), {"__module__": __name__, "__doc__": _Watching.__doc__})


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute can be anything
    """Make the callback on first use."""
    if name == "WatchCallback":
        return callback_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
