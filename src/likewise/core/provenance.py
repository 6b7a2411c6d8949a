"""Where a run comes from: the facts in `Rollout.meta` that have a meaning, under the names readers give them.

| name | fact |
|---|---|
| `model`, `agent`, `domain` | who ran, and in which world |
| `policy_sha256`, `prompt_sha256` | digest of the policy, of the task's text, where the turns do not hold them |
| `response_ids` | ids the provider gave its answers; two runs never share one |
| `cached` | true where an answer came from a cache |
| `started`, `ended` | when the run started and ended, as the log writes it |
| `record_id` | the log's own unique id of the run |
| `logged_reward` | the reward written for a run that is invalid |
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from likewise.core.rollout import JsonValue, Rollout
from likewise.core.state_text import canonical_json

__all__ = ["WHO", "Mixture", "Mixtures", "identity", "is_cached", "response_ids", "sha256", "times"]

WHO = ("model", "agent", "domain", "policy_sha256", "prompt_sha256", "system prompt")
"""Facts that the repeats of one agent on one task share; the last is read off the turns."""

REMEMBERED_CHARACTERS = 100_000
"""Longest system prompt whose digest is kept for the next run."""

_CLOCK = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?"
)


def sha256(text: str) -> str:
    """Digest of a text, lone surrogates included."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def identity(rollout: Rollout) -> dict[str, str]:
    """Each fact of `WHO` that is known of a rollout, as text; a fact that the log does not tell is left out.

    System prompts are compared by a digest from which dates and times are taken out: they tell when, not who.
    """
    facts = {
        name: canonical_json(value)
        for name in WHO
        if isinstance(value := rollout.meta.get(name), str | int | float | bool) and value != ""
    }
    if rollout.turns:
        system = [each.text for each in rollout.turns[0].observations if each.source == "system"]
        if system:
            facts[WHO[-1]] = _prompt_digest("\n".join(system))
    return facts


def _prompt_digest(prompt: str) -> str:
    return _remembered(prompt) if len(prompt) <= REMEMBERED_CHARACTERS else _without_clock(prompt)


@lru_cache(maxsize=8)
def _remembered(prompt: str) -> str:
    """Most files have one prompt, some a few, in every run."""
    return _without_clock(prompt)


def _without_clock(prompt: str) -> str:
    return sha256(_CLOCK.sub("", prompt))


def response_ids(rollout: Rollout) -> tuple[str, ...]:
    """Ids that the provider gave the answers of a run."""
    return tuple(_texts(rollout.meta.get("response_ids")))


def _texts(value: JsonValue) -> Iterable[str]:
    return (each for each in value if isinstance(each, str) and each) if isinstance(value, list) else ()


def is_cached(rollout: Rollout) -> bool:
    """Whether the log says that an answer of the run came from a cache."""
    return rollout.meta.get("cached") is True


def times(rollout: Rollout) -> tuple[str, str] | None:
    """When a run started and ended, where the log tells both."""
    started, ended = rollout.meta.get("started"), rollout.meta.get("ended")
    return (str(started), str(ended)) if started and ended else None


@dataclass(frozen=True, slots=True)
class Mixture:
    """A task whose runs differ in one fact, with the first run of each value."""

    task_id: str
    fact: str
    values: tuple[tuple[str, str], ...]
    """(value, id of the first run that has it), in the order of the runs."""

    def __str__(self) -> str:
        """`task '8': model "a" (run x) and model "b" (run y)`; a digest is told by its runs alone."""
        (one, first), (other, second), *more = self.values
        rest = f" and {len(more)} more" if more else ""
        if self.fact.endswith("sha256") or self.fact == WHO[-1]:
            what = self.fact.removesuffix("_sha256")
            return f"task {self.task_id!r}: another {what} in run {second!r} than in run {first!r}{rest}"
        return f"task {self.task_id!r}: {self.fact} {one[:80]} (run {first!r}) and {other[:80]} (run {second!r}){rest}"


@dataclass(slots=True)
class Mixtures:
    """Notices, while runs pass by, the tasks whose runs differ in who ran; only valid runs count."""

    _seen: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def add(self, rollout: Rollout) -> None:
        """Take a run into account."""
        if rollout.valid:
            for fact, value in identity(rollout).items():
                self._seen.setdefault((rollout.task_id, fact), {}).setdefault(value, rollout.run_id)

    def found(self) -> list[Mixture]:
        """The tasks that mix, one entry for each fact that differs, in the order of the tasks."""
        return [
            Mixture(task_id, fact, tuple(values.items()))
            for (task_id, fact), values in self._seen.items()
            if len(values) > 1
        ]
