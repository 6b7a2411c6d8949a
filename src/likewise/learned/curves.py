"""The learned metric along recorded runs: a score at every turn, and the turns at which it jumps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from likewise.core.protocols import Progress, no_progress
from likewise.core.rollout import Rollout
from likewise.core.state_text import action_text
from likewise.learned.model import RSDModel, Score

__all__ = ["Curve", "Curves", "score_runs"]


@dataclass(frozen=True, slots=True)
class Curve:
    """One run: the score of the state before each action.

    Attributes:
        task_id: Its task.
        run_id: The run.
        success: Whether it solved its task, where known.
        scores: One a turn.
        actions: Canonical text of each action.
        jumps: Turns at which the score rose by at least the size asked for.
        alarm: First turn above the calibrated threshold; None where there is none, or no threshold.
    """

    task_id: str
    run_id: str
    success: bool | None
    scores: tuple[Score, ...]
    actions: tuple[str, ...]
    jumps: tuple[int, ...]
    alarm: int | None


@dataclass(frozen=True, slots=True)
class Curves:
    """All runs, what was left out, and how the numbers were made."""

    runs: tuple[Curve, ...]
    excluded: int
    largest: float
    threshold: float | None
    claim: str
    signature: str
    demo: str | None

    @property
    def unfamiliar(self) -> int:
        """States unlike those of the training."""
        return sum(not score.familiar for run in self.runs for score in run.scores)

    @property
    def states(self) -> int:
        """States scored."""
        return sum(len(run.scores) for run in self.runs)

    def as_json(self) -> dict[str, object]:
        """Everything by name; a run's scores in order of its turns."""
        return {
            "schema": "likewise.scores/1",
            "signature": self.signature,
            "demo": self.demo,
            "largest": self.largest,
            "threshold": self.threshold,
            "claim": self.claim,
            "states": self.states,
            "unfamiliar": self.unfamiliar,
            "excluded_count": self.excluded,
            "runs": [
                {
                    "task_id": run.task_id,
                    "run_id": run.run_id,
                    "success": run.success,
                    "jumps": list(run.jumps),
                    "alarm": run.alarm,
                    "turns": [{"turn": t, **score.as_json()} for t, score in enumerate(run.scores)],
                }
                for run in self.runs
            ],
        }


def score_runs(
    model: RSDModel, rollouts: Iterable[Rollout], *, jump: float = 0.1, progress: Progress = no_progress
) -> Curves:
    """Score every turn of every valid run.

    Args:
        model: Gives the scores.
        rollouts: Recorded runs; invalid ones and those without turns are counted and left out.
        jump: Rise of a score that counts as a jump, as a share of the largest score.
        progress: Display.
    """
    whole = list(rollouts)
    usable = [rollout for rollout in whole if rollout.valid and rollout.turns]
    found = model.calibration
    threshold = None if found is None else found.threshold
    runs = []
    with progress("scoring runs", total=len(usable)) as bar:
        for rollout in usable:
            model.states.prepare([rollout])
            scores = tuple(model.score_turns(rollout)[: len(rollout.turns)])
            values = [score.value for score in scores]
            rises = [t for t in range(1, len(values)) if values[t] - values[t - 1] >= jump * model.largest]
            above = [t for t, value in enumerate(values) if threshold is not None and value > threshold]
            runs.append(
                Curve(
                    rollout.task_id,
                    rollout.run_id,
                    rollout.success,
                    scores,
                    tuple(action_text(action) for action in rollout.actions),
                    tuple(rises),
                    above[0] if above else None,
                )
            )
            bar.advance()
    facts = model.facts
    signature = "|".join(
        f"{name}:{facts[name]}"
        for name in (
            "likewise",
            "judge",
            "rules",
            "encoder",
            "state_encoding",
            "distance",
            "gamma",
            "n",
            "alpha",
            "beta",
        )
    )
    return Curves(
        tuple(runs),
        len(whole) - len(usable),
        model.largest,
        threshold,
        "no claim: the model was not calibrated" if found is None else found.claim,
        f"{signature}|length_policy:{facts['length_policy']}|data:{facts['data']}",
        facts["demo"],
    )
