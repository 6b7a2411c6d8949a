"""From a history to one vector, turn by turn: a new turn costs the encoding of that turn, whatever went before.

z = [recency-weighted mean of all events | what was said last | what was done last | a few counts]

An event is one observation or one action; the texts are the canonical ones (core.state_text), each embedded by a frozen
encoder and remembered. The mean forgets by a factor a turn, so histories of any length have a vector of one width.

Source: arXiv:2610.33012, section 5 (the frozen embedding of a history); the incremental form is this project's choice.
Changing anything here changes vectors: raise STATE_ENCODING_VERSION with it.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from likewise.core.errors import BackendError
from likewise.core.protocols import Encoder
from likewise.core.rollout import Action, Observation, Rollout, StopReason
from likewise.core.state_text import action_text, observation_text

__all__ = ["COUNTS", "STATE_ENCODING_VERSION", "CachedEncoder", "LiveState", "StateEncoder", "state_width"]

STATE_ENCODING_VERSION = 1
KEEPS = 0.8
"""What is left of the weight of an event after a turn: the discount of the metric, looking back."""
COUNTS = ("turns", "calls", "characters", "called last", "answered by a tool", "acted last")
REMEMBERED = 20_000
"""Texts whose vectors are kept; the longest unused is forgotten first."""


def state_width(dimensions: int) -> int:
    """Width of a state vector made of embeddings of so many dimensions."""
    return 3 * dimensions + len(COUNTS)


class CachedEncoder:
    """An encoder that embeds each text once."""

    def __init__(self, encoder: Encoder) -> None:
        """Embed nothing yet."""
        self._encoder = encoder
        self._known: OrderedDict[str, Float32[np.ndarray, " dimensions"]] = OrderedDict()

    @property
    def encoder_id(self) -> str:
        """The encoder's own."""
        return self._encoder.encoder_id

    def vectors(self, texts: Sequence[str]) -> list[Float32[np.ndarray, " dimensions"]]:
        """The unit vector of each text.

        Raises:
            BackendError: The encoder gives something else than finite vectors of one width.
        """
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        fresh: dict[str, Float32[np.ndarray, " dimensions"]] = {}
        if missing:
            rows = np.asarray(self._encoder.encode(missing), dtype=np.float32)
            if rows.ndim != 2 or len(rows) != len(missing) or not np.isfinite(rows).all():
                raise BackendError(f"encoder {self.encoder_id}: {len(missing)} text(s) gave no finite vector each")
            fresh = dict(zip(missing, rows, strict=True))
        found = []
        for text in texts:
            if text in fresh:
                found.append(fresh[text])
            else:
                self._known.move_to_end(text)
                found.append(self._known[text])
        self._known.update(fresh)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return found


@dataclass(slots=True)
class LiveState:
    """A history as it grows; `vector` is its state at any moment."""

    encoder: CachedEncoder
    turns: int = 0
    calls: int = 0
    characters: int = 0
    acted_last: bool = False
    _called: bool = False
    _by_tool: bool = False
    _sum: Float32[np.ndarray, " dimensions"] | None = None
    _weight: float = 0.0
    _seen: Float32[np.ndarray, " dimensions"] | None = None
    _done: Float32[np.ndarray, " dimensions"] | None = None

    def observe(self, observations: Iterable[Observation]) -> None:
        """Take in what the environment said; in one call or several, before the next action."""
        said = list(observations)
        if not said:
            return
        texts = [observation_text(each) for each in said]
        vectors = self.encoder.vectors(texts)
        for text, vector in zip(texts, vectors, strict=True):
            self._take(vector, len(text))
        # A system prompt is the same in every task: it is what was said last only where nothing else was.
        news = [v for each, v in zip(said, vectors, strict=True) if each.source != "system"]
        if news or self._seen is None:
            self._seen = np.asarray(np.mean(news or vectors, axis=0), dtype=np.float32)
        self._by_tool = said[-1].source == "tool"
        self.acted_last = False

    def act(self, action: Action) -> None:
        """Take in what the agent did; a turn is over."""
        text = action_text(action)
        (vector,) = self.encoder.vectors([text])
        if self._sum is not None:
            self._sum, self._weight = self._sum * np.float32(KEEPS), self._weight * KEEPS
        self._take(vector, len(text))
        self._done = vector
        self.turns += 1
        self.calls += len(action.tool_calls)
        self._called = bool(action.tool_calls)
        self.acted_last = True

    def _take(self, vector: Float32[np.ndarray, " dimensions"], characters: int) -> None:
        self._sum = vector.copy() if self._sum is None else self._sum + vector
        self._weight += 1.0
        self.characters += characters

    def copy(self) -> LiveState:
        """The same history, to go on with apart."""
        return LiveState(**{name: getattr(self, name) for name in self.__slots__})

    @property
    def vector(self) -> Float32[np.ndarray, " width"]:
        """The state as a vector of `state_width` numbers.

        Raises:
            ValueError: Nothing was seen or done yet.
        """
        if self._sum is None:
            raise ValueError("an empty history has no state; observe something first")
        none = np.zeros_like(self._sum)
        counts = [
            math.log1p(self.turns) / 4,
            math.log1p(self.calls) / 4,
            math.log1p(self.characters) / 12,
            float(self._called),
            float(self._by_tool),
            float(self.acted_last),
        ]
        parts = [
            self._sum / np.float32(self._weight),
            none if self._seen is None else self._seen,
            none if self._done is None else self._done,
            np.array(counts, dtype=np.float32),
        ]
        return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class StateEncoder:
    """Gives the states of histories.

    Attributes:
        encoder: Frozen encoder of single texts.
        cache: Its vectors, each text once.
    """

    encoder: Encoder
    cache: CachedEncoder = field(init=False)

    def __post_init__(self) -> None:
        """Wrap the encoder."""
        object.__setattr__(self, "cache", CachedEncoder(self.encoder))

    def start(self) -> LiveState:
        """An empty history."""
        return LiveState(self.cache)

    def prepare(self, rollouts: Iterable[Rollout]) -> None:
        """Embed all texts of rollouts at once: faster than turn by turn where the encoder runs texts side by side."""
        texts: dict[str, None] = {}
        for rollout in rollouts:
            for turn in rollout.turns:
                texts.update(dict.fromkeys(observation_text(each) for each in turn.observations))
                texts[action_text(turn.action)] = None
            texts.update(dict.fromkeys(observation_text(each) for each in rollout.last_observations))
        waiting = list(texts)
        for start in range(0, len(waiting), 64):
            self.cache.vectors(waiting[start : start + 64])

    def states(self, rollout: Rollout) -> Float32[np.ndarray, "states width"]:
        """The state before each action; one more after the last where the run was cut and what followed is known.

        Raises:
            ValueError: The rollout has no turns, or begins with an action before anything was observed.
        """
        live, rows = self.start(), []
        for turn in rollout.turns:
            live.observe(turn.observations)
            rows.append(live.vector if live.turns or turn.observations else self._blank(live, turn.action))
            live.act(turn.action)
        if rollout.stop is StopReason.CUT and rollout.last_observations:
            live.observe(rollout.last_observations)
            rows.append(live.vector)
        if not rows:
            raise ValueError(f"run {rollout.run_id!r} of task {rollout.task_id!r} has no turns, so no states")
        return np.stack(rows)

    def _blank(self, live: LiveState, action: Action) -> Float32[np.ndarray, " width"]:
        """The state of a log that begins with an action: nothing is known but that."""
        dimensions = len(live.encoder.vectors([action_text(action)])[0])
        return np.zeros(state_width(dimensions), dtype=np.float32)
