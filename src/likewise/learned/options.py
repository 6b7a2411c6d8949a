"""What moves a learned metric, by name. docs/learned.md says what each does, and what was measured of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from likewise.core.group import LengthPolicy
from likewise.metrics.divergence import largest_divergence

__all__ = ["MICO_BETA", "FitOptions", "Loss", "SameState", "parse_options"]

MICO_BETA = 0.1 * math.pi
"""The published MICo's weight of the angle, 0.1 a radian, for an angle that runs from 0 to 1."""

LARGEST_COMPONENTS = 65_536
"""The width of a state vector is no larger."""


class Loss(StrEnum):
    """How a miss is weighed."""

    SQUARED = "squared"
    HUBER = "huber"
    POISSON = "poisson"
    """Deviance of a Poisson count: has the mean as its best guess, as the squared one has, and weighs a miss by what it
    is beside the value. Sums of rare disagreements spread as their mean does; and near 0, where the slope of a squared
    miss of a squared length vanishes, this one still has one."""


class SameState(StrEnum):
    """Which two histories count as one state: their pair trains U(s, s) itself, without an angle."""

    TEXT = "text"
    """Those that read the same."""
    START = "start"
    """Those, and all openings of one task."""
    SEEN = "seen"
    """Those, and all of one task at one turn to which the environment last said the same."""
    EQUIVALENT = "equivalent"
    """Those, and all of one task whose actions were equivalent so far, whatever the environment answered."""
    TURN = "turn"
    """All of one task at one turn: U(s, s) then learns what Monte Carlo measures from a turn on, runs that have parted
    included, and there is no angle."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How a learned metric is trained.

    Attributes:
        gamma: Discount in [0, 1).
        n: Measured distances in a target before the rest is guessed.
        alpha: Weight of the norms.
        beta: Weight of the angle (which runs from 0 to 1); 1/(1-gamma) where None.
        angle: Whether there is an angle at all.
        loss: Squared error, or Huber's.
        length_policy: What the turns after a rollout's own end count as.
        same_state: Which histories count as one state.
        clamp: Whether targets are kept within [0, 1/(1-gamma)].
        siblings: Pairs of one pair of states whose targets are averaged; 1 takes the sampled pair alone.
        heads: Networks over one first layer, each shown other tasks more often; their spread is the uncertainty.
        standardise: Whether state vectors are centred and scaled by what training saw (folded into the first layer).
        components: Principal axes of the embeddings that training sees (folded in likewise); 0 lets it see all.
        own: Share of a batch drawn from pairs that count as one state, which train U(s, s) itself; the rest is drawn
            from all pairs.
        rate: Learning rate of AdamW.
        anneal: Whether the rate falls to 0 over the steps, by half a cosine.
        decay: Its weight decay.
        clip: Largest norm of a gradient.
        batch: Pairs a step.
        mix: Share of the network that the target network takes over at each step.
        steps: Most steps.
        every: Steps between two looks at the held-out tasks.
        patience: Looks without a better one after which training ends.
        hold_out: Share of tasks held out.
        seed: Seed of everything random.
    """

    gamma: float = 0.8
    n: int = 3
    alpha: float = 0.5
    beta: float | None = None
    angle: bool = True
    loss: Loss = Loss.SQUARED
    length_policy: LengthPolicy = LengthPolicy.ABSORB
    same_state: SameState = SameState.START
    clamp: bool = True
    siblings: int = 1
    heads: int = 1
    standardise: bool = True
    components: int = 0
    own: float = 0.0
    rate: float = 1e-4
    anneal: bool = False
    decay: float = 1e-5
    clip: float = 1.0
    batch: int = 32
    mix: float = 0.005
    steps: int = 6000
    every: int = 250
    patience: int = 8
    hold_out: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            ValueError: An option outside its range; it names option and range.
        """
        largest_divergence(self.gamma)
        for name in ("n", "siblings", "heads", "batch", "steps", "every", "patience"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, got {getattr(self, name)}")
        for name in ("alpha", "rate", "clip"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} is a number above 0, got {getattr(self, name)}")
        for name, low, high in (
            ("decay", 0, 1),
            ("mix", 1e-9, 1),
            ("hold_out", 0, 0.9),
            ("own", 0, 1),
            ("components", 0, LARGEST_COMPONENTS),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} lies in [{low}, {high}], got {getattr(self, name)}")
        if self.beta is not None and not 0 <= self.beta < math.inf:
            raise ValueError(f"beta is a number of at least 0, got {self.beta}")
        if self.seed < 0:
            raise ValueError(f"a seed is at least 0, got {self.seed}")

    @property
    def angle_weight(self) -> float:
        """The weight of the angle in use; 0 without an angle."""
        if not self.angle:
            return 0.0
        return self.largest if self.beta is None else self.beta

    @property
    def largest(self) -> float:
        """1/(1-gamma)."""
        return largest_divergence(self.gamma)

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.rate * (0.5 + 0.5 * math.cos(math.pi * step / self.steps)) if self.anneal else self.rate

    def as_json(self) -> dict[str, object]:
        """The options by name; `beta` is the number in use."""
        return {**asdict(self), "beta": self.angle_weight, "loss": str(self.loss)} | {
            "length_policy": str(self.length_policy),
            "same_state": str(self.same_state),
        }


def parse_options(settings: Iterable[str], **given: Any) -> FitOptions:  # noqa: ANN401 - fields of many kinds
    """Options from texts such as "n=5", "loss=huber", "angle=false".

    Args:
        settings: Names and values; beta also takes "mico".
        given: Options that have their value already, which no text may set again.

    Raises:
        ValueError: An unknown name, one given twice, or a value that cannot be.
    """
    kinds = {field.name: str(field.type) for field in fields(FitOptions)}
    values: dict[str, Any] = dict(given)
    for setting in settings:
        name, equals, text = setting.partition("=")
        name, text = name.strip(), text.strip()
        if not equals or name not in kinds:
            raise ValueError(f"{setting!r} sets no option; there are {', '.join(kinds)}")
        if name in values:
            raise ValueError(f"{name} is given twice")
        values[name] = _value(name, kinds[name], text)
    return FitOptions(**values)


def _value(name: str, kind: str, text: str) -> Any:  # noqa: ANN401 - fields of many kinds
    if name == "beta" and text == "mico":
        return MICO_BETA
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text.lower()]
        if kind == "int":
            return int(text)
        if kind.startswith("float"):
            return float(text)
        return {"Loss": Loss, "SameState": SameState, "LengthPolicy": LengthPolicy}[kind](text)
    except (ValueError, KeyError):
        raise ValueError(f"{name} cannot be {text!r}") from None
