"""What moves the tiny pipeline, and the arms it compares."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ARMS", "TinySettings"]

ARMS = (
    "base",
    "sft",
    "token-entropy",
    "semantic-entropy",
    "rsd-in-group",
    "shuffled",
    "hybrid-0",
    "hybrid-0.25",
    "hybrid-0.5",
    "hybrid-0.75",
    "rsd",
    "rsd-refreshed",
    "rsd-by-turn",
)
"""Every way to train on from the base.

`rsd-in-group` needs no learned metric: it is also the hybrid of lambda 1, and what `shuffled` deals out at random.
`rsd` is the learned metric, fitted once; `rsd-refreshed` fits it anew whenever the policy has drifted from it;
`rsd-by-turn` is `rsd-in-group` with credit for each action on its own.
"""


@dataclass(frozen=True, slots=True)
class TinySettings:
    """How the tiny pipeline is run; the same for every arm.

    Attributes:
        hidden: Width of the policy.
        layers: Its layers.
        demonstrations: Demonstrations of each task that the base learns from.
        warm_steps: Steps of that learning.
        warm_rate: Its learning rate.
        warm_batch: Demonstrations a step.
        runs: Rollouts of each task that the base makes, to fit RSD on.
        gamma: Discount of RSD.
        n: Measured distances in a target of the RSD network.
        fit_steps: Steps of fitting it.
        states: Which states the learned reward scores: "decisions", those acted from (`DecisionRSDReward`), or those
            after each action with, for the last, "score" or "end" (`RSDReward`).
        expert: Successful demonstrations of each task that the arm `sft` learns from.
        expert_steps: Steps of that learning.
        steps: Steps of GRPO.
        rounds: Parts that the steps are in for `rsd-refreshed`; drift is measured between them.
        group: Rollouts of one prompt that are compared with each other.
        prompts: Prompts a step.
        rate: Learning rate of GRPO (and of the arm `sft`).
        anchor: Weight of the divergence from the base (GRPO's beta): a metric learned from the base knows no states far
            from its own.
        trials: Trials of each task in an evaluation.
        blocks: Evaluations of so many trials; their mean is less noisy than one.
    """

    hidden: int = 64
    layers: int = 2
    demonstrations: int = 100
    warm_steps: int = 350
    warm_rate: float = 5e-3
    warm_batch: int = 16
    runs: int = 24
    gamma: float = 0.8
    n: int = 3
    fit_steps: int = 1000
    states: str = "decisions"
    expert: int = 20
    expert_steps: int = 40
    steps: int = 20
    rounds: int = 4
    group: int = 8
    prompts: int = 8
    rate: float = 5e-4
    anchor: float = 0.02
    trials: int = 8
    blocks: int = 4

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: A setting outside its range; it names setting and range.
        """
        for name in ("layers", "demonstrations", "warm_steps", "warm_batch", "fit_steps", "n", "expert",
                     "expert_steps", "steps", "rounds", "prompts", "blocks"):  # fmt: skip
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, got {getattr(self, name)}")
        for name in ("runs", "group", "trials"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} is at least 2, got {getattr(self, name)}")
        for name in ("warm_rate", "rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is above 0, got {getattr(self, name)}")
        if not self.anchor >= 0:
            raise ValueError(f"anchor is at least 0, got {self.anchor}")
        if self.hidden < 8 or self.hidden % 8:
            raise ValueError(f"hidden is a multiple of 8, got {self.hidden}")
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma lies in [0, 1), got {self.gamma}")
        if self.states not in ("decisions", "score", "end"):
            raise ValueError(f"states is decisions, score or end, got {self.states!r}")
