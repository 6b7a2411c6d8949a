"""A learned metric beside a live agent: fed as things happen, it answers with score, bounds and an alarm.

Ask before the agent acts: the score speaks of what it is about to do, so a bad turn can be stopped before it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from likewise.core.errors import LikewiseError
from likewise.core.rollout import Action, Observation
from likewise.learned.model import RSDModel, Score

__all__ = ["Alarm", "AlarmPolicy", "Monitor", "Reading", "Stopped"]


class Alarm(StrEnum):
    """What to do about a state."""

    NONE = "none"
    ESCALATE = "escalate"
    """Let a person, or a stronger agent, look first."""
    STOP = "stop"
    """Do not act."""


class Stopped(LikewiseError, RuntimeError):
    """A monitored agent must not take its next action."""

    def __init__(self, reason: str) -> None:
        """Say why."""
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class AlarmPolicy:
    """When a reading is an alarm, and which.

    Attributes:
        threshold: Scores above it are alarms; the model's calibrated one where None.
        then: What such an alarm asks for.
        in_a_row: Turns in a row above the threshold before there is an alarm.
        unfamiliar: What a state unlike those of the training asks for; its score is a guess.
    """

    threshold: float | None = None
    then: Alarm = Alarm.ESCALATE
    in_a_row: int = 1
    unfamiliar: Alarm = Alarm.NONE

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.in_a_row < 1:
            raise ValueError(f"an alarm needs at least one turn, got {self.in_a_row}")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the monitor says before an action.

    Attributes:
        turn: Turn that is about to be taken, from 0.
        score: What the model says of the state.
        alarm: What the policy asks for.
        reason: Why, in one sentence; "" without an alarm.
    """

    turn: int
    score: Score
    alarm: Alarm
    reason: str


class Monitor:
    """Follows one run of an agent; the cost of a turn does not depend on how many went before."""

    def __init__(self, model: RSDModel, policy: AlarmPolicy | None = None) -> None:
        """Begin an empty history.

        Raises:
            ValueError: Neither the policy nor the model's calibration has a threshold.
        """
        self.model, self.policy = model, policy or AlarmPolicy()
        calibrated = None if model.calibration is None else model.calibration.threshold
        threshold = calibrated if self.policy.threshold is None else self.policy.threshold
        if threshold is None:
            raise ValueError(
                "an alarm needs a threshold: calibrate the model (likewise calibrate) or name one in the policy"
            )
        self.threshold = threshold
        self.live = model.start()
        self.readings: list[Reading] = []

    def observe(self, *observations: Observation | str) -> Reading:
        """Take in what the agent is about to answer to, and say what to expect."""
        said = [each if isinstance(each, Observation) else Observation("user", each) for each in observations]
        self.live.observe(said)
        return self.read()

    def act(self, action: Action | str) -> None:
        """Take in what the agent did."""
        self.live.act(action if isinstance(action, Action) else Action(action))

    def read(self) -> Reading:
        """Score the state as it stands.

        Raises:
            ValueError: Nothing was observed or done yet.
        """
        score = self.model.score_live(self.live)
        alarm, reason = self._judge(score)
        reading = Reading(self.live.turns, score, alarm, reason)
        self.readings = [each for each in self.readings if each.turn != reading.turn] + [reading]
        return reading

    def _judge(self, score: Score) -> tuple[Alarm, str]:
        before = [each for each in self.readings if each.turn < self.live.turns][-(self.policy.in_a_row - 1) :]
        needed = self.policy.in_a_row - 1
        row = [each.score.value for each in before] if needed else []
        if score.value > self.threshold and len(row) == needed and all(each > self.threshold for each in row):
            return self.policy.then, f"RSD {score.value:.3f} is above {self.threshold:.3f}"
        if not score.familiar and self.policy.unfamiliar is not Alarm.NONE:
            return self.policy.unfamiliar, f"a state unlike those of the training (distance {score.distance:.2f})"
        return Alarm.NONE, ""

    def check(self, on_escalate: Callable[[Reading], object] | None = None) -> Reading:
        """Before each action: stop, or hand over, where the policy asks for it.

        Args:
            on_escalate: Called with the reading where the policy asks to escalate; without it that stops too.

        Raises:
            Stopped: The agent must not act.
        """
        reading = self.read()
        if reading.alarm is Alarm.STOP or (reading.alarm is Alarm.ESCALATE and on_escalate is None):
            raise Stopped(f"turn {reading.turn}: {reading.reason}")
        if reading.alarm is Alarm.ESCALATE and on_escalate is not None:
            on_escalate(reading)
        return reading

    def follow(self, observations: Iterable[Observation], action: Action) -> Reading:
        """One whole turn after the fact: what was said, and what the agent then did."""
        self.live.observe(observations)
        reading = self.read()
        self.act(action)
        return reading
