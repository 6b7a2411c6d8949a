"""A learned metric in use: how far would two futures from here diverge? One forward pass, no rollouts, no judge.

Source: arXiv:2610.33012, Algorithm 2: RSD(s) = U(s, s) = 2 alpha |phi(z_s)|^2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Float64

from likewise.core.errors import CheckpointError
from likewise.core.estimate import Estimate
from likewise.core.protocols import Encoder
from likewise.core.rollout import Observation, Rollout, Turn
from likewise.learned.calibrated import Calibration
from likewise.learned.checkpoint import JSON_NAME, Checkpoint, read_checkpoint, write_checkpoint
from likewise.learned.familiar import nearest
from likewise.learned.forward import forward, pair_distance, self_distance
from likewise.learned.state_encoding import LiveState, StateEncoder, state_width
from likewise.metrics import bounds
from likewise.metrics.divergence import largest_divergence

__all__ = ["RSDModel", "Score"]


@dataclass(frozen=True, slots=True)
class Score:
    """What the model says of one state.

    Attributes:
        value: RSD of the state, in [0, 1/(1-gamma)].
        normalised: The same as a share of the largest possible.
        spread: Standard deviation over the heads; None where there is one.
        distance: Distance to the nearest state of the training tasks.
        familiar: Whether that is as near as tasks of the training are to each other; a score of another state is a
            guess.
        corrected: The measured divergence that goes with the score on held-out tasks; None without calibration.
        upper: Upper limit from held-out tasks; None without one.
        let_through: Whether the score is within the calibrated threshold; None without one.
    """

    value: float
    normalised: float
    spread: float | None
    distance: float
    familiar: bool
    corrected: float | None = None
    upper: float | None = None
    let_through: bool | None = None

    @property
    def estimate(self) -> Estimate:
        """The value with its limits from held-out tasks, or without and why."""
        if self.upper is None:
            return Estimate(self.value, reason="no interval: the model was not calibrated on enough held-out tasks")
        return Estimate(self.value, 0.0, max(self.upper, self.value))

    def bounds(self) -> dict[str, bounds.Bound]:
        """The theorems at the upper limit where there is one, at the bare score otherwise; each says which."""
        u, safe = self.estimate, self.upper is not None
        return {
            "trajectory_agreement": bounds.trajectory_agreement_at_root(u, conservative=safe),
            "immediate_contradiction": bounds.immediate_contradiction(u, conservative=safe),
            "dominant_class": bounds.dominant_class(u, conservative=safe),
            "dominant_class_sharp": bounds.dominant_class_sharp(u, conservative=safe),
        }

    def as_json(self) -> dict[str, object]:
        """The fields by name, and the bounds."""
        names = ("value", "normalised", "spread", "distance", "familiar", "corrected", "upper", "let_through")
        return {name: getattr(self, name) for name in names} | {
            "bounds": {name: bound.as_json() for name, bound in self.bounds().items()}
        }


class RSDModel:
    """A trained metric and the encoder that its states are made with."""

    def __init__(self, checkpoint: Checkpoint, encoder: Encoder | None = None) -> None:
        """Put checkpoint and encoder together.

        Args:
            checkpoint: What training gave.
            encoder: The encoder it was trained with; the embedded one where None.

        Raises:
            CheckpointError: The encoder is another one, or the checkpoint's widths do not fit together.
        """
        if encoder is None:
            from likewise.backends.onnx_encoder import embedded_encoder

            encoder = embedded_encoder()
        self.facts, self.weights = checkpoint.facts, checkpoint.weights
        self.references, self.path = checkpoint.references, checkpoint.path
        where = str(Path(self.path) / JSON_NAME)
        if self.facts["encoder"] != encoder.encoder_id:
            raise CheckpointError(where, "encoder", encoder.encoder_id, str(self.facts["encoder"]))
        if self.facts["width"] != state_width(self.facts["dimensions"]):
            expected = str(state_width(self.facts["dimensions"]))
            raise CheckpointError(where, "width", expected, str(self.facts["width"]))
        self.states = StateEncoder(encoder)
        stored = self.facts["calibration"]
        self.calibration = None if stored is None else Calibration.from_json(stored, where)
        self._last: tuple[tuple[Turn, ...], LiveState] | None = None

    @classmethod
    def load(cls, folder: str | Path, encoder: Encoder | None = None) -> RSDModel:
        """Read a model; PyTorch is not needed.

        Raises:
            CheckpointError: It is missing, broken, foreign, or does not fit; names the field.
        """
        return cls(read_checkpoint(folder), encoder)

    def save(self, folder: str | Path) -> None:
        """Write the model into a folder, whole or not at all."""
        calibration = None if self.calibration is None else self.calibration.as_json()
        write_checkpoint(Checkpoint({**self.facts, "calibration": calibration}, self.weights, self.references), folder)

    @property
    def largest(self) -> float:
        """The largest value there is, 1/(1-gamma)."""
        return largest_divergence(self.facts["gamma"])

    def start(self) -> LiveState:
        """An empty history to feed turn by turn; `score_live` scores it."""
        return self.states.start()

    def score(self, history: Rollout | Sequence[Turn], observations: Iterable[Observation] = ()) -> Score:
        """Score the state at the end of a history.

        A history that continues the one scored last costs its new turns only.

        Args:
            history: Turns so far; of a rollout also what was observed after its last action.
            observations: What was observed since.

        Raises:
            ValueError: Nothing was observed or done yet.
        """
        turns = history.turns if isinstance(history, Rollout) else tuple(history)
        live = self._continued(turns)
        last = history.last_observations if isinstance(history, Rollout) else ()
        live.observe((*last, *observations))
        return self.score_live(live)

    def _continued(self, turns: tuple[Turn, ...]) -> LiveState:
        known, live = self._last or ((), self.start())
        if turns[: len(known)] != known:
            known, live = (), self.start()
        live = live.copy()
        for turn in turns[len(known) :]:
            live.observe(turn.observations)
            live.act(turn.action)
        self._last = (turns, live)
        return live.copy()

    def score_live(self, live: LiveState) -> Score:
        """Score a history as it stands."""
        return self.score_states(live.vector[None])[0]

    def score_turns(self, rollout: Rollout) -> list[Score]:
        """Score the state before each action of a run (and the last one of a run that was cut, where it is known)."""
        return self.score_states(self.states.states(rollout))

    def score_states(self, states: Float32[np.ndarray, "states width"]) -> list[Score]:
        """Score states by their vectors.

        Raises:
            CheckpointError: The encoder gives vectors of another width than training had.
        """
        values, distance = self.values(states), nearest(states, self.references)
        spread = values.std(axis=0, ddof=1) if len(values) > 1 else None
        scores = []
        for k, raw in enumerate(values.mean(axis=0).tolist()):
            value = min(raw, self.largest)
            corrected, upper, let_through = self._calibrated(value)
            scores.append(
                Score(
                    value=value,
                    normalised=value / self.largest,
                    spread=None if spread is None else float(spread[k]),
                    distance=float(distance[k]),
                    familiar=bool(distance[k] <= self.facts["familiar"]),
                    corrected=corrected,
                    upper=upper,
                    let_through=let_through,
                )
            )
        return scores

    def _calibrated(self, value: float) -> tuple[float | None, float | None, bool | None]:
        """Correction, upper limit, and whether the score is let through; None where calibration does not say."""
        found = self.calibration
        if found is None:
            return None, None, None
        upper = None if found.margin is None else min(max(value + found.margin, value), self.largest)
        return found.correct(value), upper, None if found.threshold is None else value <= found.threshold

    def values(self, states: Float32[np.ndarray, "states width"]) -> Float64[np.ndarray, "heads states"]:
        """U(s, s) by each head, not limited above.

        Raises:
            CheckpointError: The vectors have another width than training had.
        """
        if states.shape[1] != self.facts["width"]:
            where = str(Path(self.path) / JSON_NAME)
            raise CheckpointError(where, "width", str(states.shape[1]), str(self.facts["width"]))
        return self_distance(forward(self.weights, states), self.facts["alpha"])

    def between(
        self, first: Float32[np.ndarray, "states width"], second: Float32[np.ndarray, "states width"]
    ) -> Float[np.ndarray, " states"]:
        """U(s, s') of states by their vectors: symmetric, at least 0; the mean over the heads."""
        a, b = forward(self.weights, first), forward(self.weights, second)
        return np.asarray(pair_distance(a, b, self.facts["alpha"], self.facts["beta"]).mean(axis=0))
