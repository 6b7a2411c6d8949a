"""How a number was made, in one line that travels with it.

The idea is sacrebleu's (Post 2018, arXiv:1804.08771): two scores may be compared only if their signatures agree.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from likewise.core.group import LengthPolicy

__all__ = ["Signature"]


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that moves a number, besides the rollouts themselves."""

    version: str
    judge: str
    rules: str
    encoder: str
    state_text: int
    distance: str = "hard"
    gamma: float = 0.8
    length_policy: LengthPolicy = LengthPolicy.ABSORB
    interval: str = "95%"
    resamples: int = 2000
    seed: int = 0

    def __str__(self) -> str:
        """`likewise:0.1.0|judge:...|gamma:0.8|...`."""
        parts = {"likewise": self.version} | {k: v for k, v in asdict(self).items() if k != "version"}
        return "|".join(f"{key}:{value}" for key, value in parts.items())

    def as_json(self) -> dict[str, object]:
        """The fields by name, and the one-line form as `text`."""
        return {**asdict(self), "length_policy": str(self.length_policy), "text": str(self)}
