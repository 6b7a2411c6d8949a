"""Signs, while a training runs, that a reward moves nothing, or rewards acting alike at the price of doing anything.

Consistency is not correctness: RSD falls to 0 for a policy that always does the same useless thing. Progress must
therefore be watched beside it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["RewardWatch", "TrainingWarning", "flat_share"]


class TrainingWarning(UserWarning):
    """A training that goes wrong, in a sentence."""


@dataclass(frozen=True, slots=True)
class _Look:
    flat: float | None
    rsd: float | None
    progress: float | None


def flat_share(groups: Sequence[Sequence[float | None]]) -> float | None:
    """Share of groups in which all measured rewards are equal, so that none is better than another.

    Args:
        groups: Rewards of the completions of each prompt; None where not measured.

    Returns:
        Share in [0, 1] of the groups with at least two measured rewards; None where there is no such group.
    """
    measured = [[reward for reward in group if reward is not None] for group in groups]
    known = [group for group in measured if len(group) > 1]
    if not known:
        return None
    return sum(max(group) - min(group) <= 1e-9 for group in known) / len(known)


@dataclass(slots=True)
class RewardWatch:
    """Watches a training and says in a sentence when it goes wrong.

    Attributes:
        window: Observations that an average is taken of; a change is one between two such windows.
        floor: Progress in [0, 1] below which an agent that acts alike is called useless; none where None.
        settled: RSD counts as low when it is at most this share of what it was in the first window.
        flat: Share of groups without variance from which the reward is said to move nothing.
        fall: Share by which RSD and progress must both fall from one window to the next to be called a collapse.
    """

    window: int = 10
    floor: float | None = None
    settled: float = 0.1
    flat: float = 0.9
    fall: float = 0.1
    _looks: deque[_Look] = field(default_factory=deque)
    _first: list[float] = field(default_factory=list)
    _told: dict[str, int] = field(default_factory=dict)
    _seen: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be."""
        if self.window < 1:
            raise ValueError(f"a window has at least one observation, got {self.window}")
        for name in ("floor", "settled", "flat", "fall"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise ValueError(f"{name} lies in [0, 1], got {value}")

    def observe(
        self,
        step: int,
        *,
        groups: Sequence[Sequence[float | None]] | None = None,
        flat: float | None = None,
        rsd: float | None = None,
        progress: float | None = None,
    ) -> list[str]:
        """Take in one step.

        Args:
            step: Step of the training, for the sentences.
            groups: Rewards of each prompt's completions, where known.
            flat: Share of groups without variance, where known instead.
            rsd: Mean RSD of the step's completions; None where not measured.
            progress: Mean final progress of the step's completions; None where not measured.

        Returns:
            What is wrong, a sentence each; each kind at most once a window.
        """
        share = flat_share(groups) if groups is not None else flat
        self._looks.append(_Look(share, rsd, progress))
        if len(self._looks) > 2 * self.window:
            self._looks.popleft()
        if rsd is not None and len(self._first) < self.window:
            self._first.append(rsd)
        self._seen += 1
        found = {"flat": self._flat(), "collapse": self._collapse(), "useless": self._useless()}
        return [f"step {step}: {sentence}" for kind, sentence in found.items() if sentence and self._new(kind)]

    def _new(self, kind: str) -> bool:
        last = self._told.get(kind)
        if last is not None and self._seen - last < self.window:
            return False
        self._told[kind] = self._seen
        return True

    def _mean(self, name: str, start: int, stop: int | None) -> float | None:
        """Mean over a stretch of observations; None unless all of it was measured."""
        looks = list(self._looks)[start:stop]
        values = [getattr(look, name) for look in looks]
        if len(values) < self.window or any(value is None for value in values):
            return None
        return float(sum(values) / len(values))

    def _flat(self) -> str | None:
        share = self._mean("flat", -self.window, None)
        if share is None or share < self.flat:
            return None
        return (
            f"in {share:.0%} of the groups of the last {self.window} observation(s) every completion had the same "
            "reward, so they taught nothing; more completions a prompt, a higher temperature or another reward would"
        )

    def _collapse(self) -> str | None:
        if len(self._looks) < 2 * self.window:
            return None
        halves = [(self._mean(name, 0, self.window), self._mean(name, -self.window, None)) for name in _WATCHED]
        (rsd, rsd_now), (progress, progress_now) = halves
        if rsd is None or rsd_now is None or progress is None or progress_now is None:
            return None
        if not (_fell(rsd, rsd_now, self.fall) and _fell(progress, progress_now, self.fall)):
            return None
        return (
            f"RSD fell from {rsd:.3g} to {rsd_now:.3g} while progress fell from {progress:.3g} to {progress_now:.3g}: "
            "the agent comes to act alike by doing less; mix progress into the reward (HybridReward) or put a floor "
            "under it (ProgressFloor)"
        )

    def _useless(self) -> str | None:
        rsd, progress = self._mean("rsd", -self.window, None), self._mean("progress", -self.window, None)
        if self.floor is None or rsd is None or progress is None or len(self._first) < self.window:
            return None
        start = sum(self._first) / len(self._first)
        if progress >= self.floor or rsd > self.settled * start:
            return None
        return (
            f"the agent acts alike (RSD {rsd:.3g}) and does too little (progress {progress:.3g}, the floor is "
            f"{self.floor:.3g}): consistent is not useful"
        )


_WATCHED = ("rsd", "progress")


def _fell(before: float, after: float, share: float) -> bool:
    return before > 0 and after <= (1 - share) * before
