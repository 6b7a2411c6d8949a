"""Labels for more pairs than memory holds: pairs go in one by one, each distinct one comes out once, with its label."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from likewise.backends.seen import SeenKeys
from likewise.core.labels import Judgement
from likewise.core.protocols import ProgressTask
from likewise.core.rollout import Action, JsonValue
from likewise.core.state_text import STATE_TEXT_VERSION, action_key
from likewise.core.version import VERSION
from likewise.scoring.classes import Outcome
from likewise.scoring.label import DistinctPairs, Labeller, distinct_pair
from likewise.scoring.stored_judge import TextPair

__all__ = ["CHUNK", "SettledPair", "SourcePair", "StreamCounts", "action_id", "label_signature", "label_stream"]

CHUNK: Final = 4096
"""Distinct pairs settled together; what memory must hold at once."""
KEPT_REASONS: Final = 100
OTHER_REASONS: Final = "other reasons"
"""Failures that differ from pair to pair must not fill the memory."""
_SLICE: Final = 512
"""Pairs looked up together among those seen."""

Place = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class SourcePair:
    """A pair on its way in.

    Attributes:
        first: One action.
        second: The other.
        place: Where it was met; handed on.
        scope: Pairs that may settle each other, where the labeller does so (`Labeller.by_classes`), have the same
            one; pairs of one scope come one after another.
    """

    first: Action
    second: Action
    place: Place = field(default_factory=dict)
    scope: Hashable = None


@dataclass(frozen=True, slots=True)
class SettledPair:
    """A distinct pair on its way out.

    Attributes:
        first_id: `action_id` of the action that was first where the pair was met first.
        second_id: That of the other.
        outcome: The judgement, first against second, or the reason why there is none.
        place: Where the pair was met first.
    """

    first_id: str
    second_id: str
    outcome: Outcome
    place: Place


@dataclass(slots=True)
class StreamCounts:
    """What came by.

    Attributes:
        pairs: Pairs that went in.
        distinct: Pairs that came out, either order of a pair being the same pair.
        relations: Distinct pairs by relation ("equivalent", "neutral", "contradictory").
        rules: Distinct pairs by the rule that decided.
        failures: Distinct pairs by the reason why there is no label.
    """

    pairs: int = 0
    distinct: int = 0
    relations: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def count(self, outcome: Outcome) -> None:
        """Count one distinct pair."""
        self.distinct += 1
        if isinstance(outcome, Judgement):
            self.relations[outcome.relation.name.lower()] += 1
            self.rules[outcome.rule] += 1
        else:
            known = outcome in self.failures or len(self.failures) < KEPT_REASONS
            self.failures[outcome if known else OTHER_REASONS] += 1


def action_id(action: Action) -> str:
    """32 hex digits that name an action: equal exactly for actions that are the same (BLAKE2b of `action_key`)."""
    return _digest(action_key(action)).hex()


def label_signature(labeller: Labeller) -> str:
    """How labels are made, in one line: labels with one signature may stand in one file."""
    parts = {
        "likewise": VERSION,
        "judge": labeller.judge.judge.judge_id,
        "rules": labeller.rules.rules_id,
        "state_text": STATE_TEXT_VERSION,
    }
    return "|".join([*(f"{key}:{value}" for key, value in parts.items()), *(["by:classes"] * labeller.by_classes)])


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def label_stream(
    pairs: Iterable[SourcePair],
    labeller: Labeller,
    *,
    chunk: int = CHUNK,
    progress: ProgressTask | None = None,
    counts: StreamCounts | None = None,
) -> Iterator[SettledPair]:
    """Label each distinct pair of a stream, in order of first appearance.

    Memory holds `chunk` pairs, not the stream: the distinct pairs are told apart by digests on disk
    (`backends.seen`). With a label store in the labeller's judge, a stream that was stopped goes on from there when it
    is run again. No label depends on `chunk`.

    Args:
        pairs: Pairs in any order and number, repeats allowed; read as far as needed.
        labeller: Settles them; what it is told here it does not remember.
        chunk: Distinct pairs settled together. With `labeller.by_classes`, at least those of one scope are.
        progress: Advanced once for each pair that went in.
        counts: Filled while the stream runs.

    Raises:
        BackendError: Judge, label store or disk do not work.
    """
    counts = counts if counts is not None else StreamCounts()
    waiting = _Waiting(labeller, progress)
    stream = iter(pairs)
    with SeenKeys() as seen:
        while batch := list(islice(stream, _SLICE)):
            counts.pairs += len(batch)
            keyed = [(*distinct_pair(source.first, source.second), source) for source in batch]
            digests = [(_digest(key[0]), _digest(key[1])) for key, _, _ in keyed]
            new = seen.add([hashlib.blake2b(a + b, digest_size=16).digest() for a, b in digests])
            if progress is not None:
                progress.advance(len(batch) - sum(new))
            for (key, actions, source), ids, is_new in zip(keyed, digests, new, strict=True):
                if not is_new:
                    continue
                if len(waiting.pairs) >= chunk and not (labeller.by_classes and source.scope == waiting.scope):
                    yield from waiting.settle(counts)
                waiting.add(key, actions, source, (ids[0].hex(), ids[1].hex()))
        yield from waiting.settle(counts)


@dataclass(slots=True)
class _Waiting:
    """The chunk that is being gathered."""

    labeller: Labeller
    progress: ProgressTask | None
    pairs: DistinctPairs = field(default_factory=dict)
    scopes: dict[TextPair, Hashable] = field(default_factory=dict)
    met: dict[TextPair, tuple[tuple[str, str], Place, bool]] = field(default_factory=dict)
    scope: Hashable = None

    def add(self, key: TextPair, actions: tuple[Action, Action], source: SourcePair, ids: tuple[str, str]) -> None:
        turned = source.first is not actions[0]
        self.pairs[key] = actions
        self.scopes[key] = self.scope = source.scope
        self.met[key] = (ids[::-1] if turned else ids), source.place, turned

    def settle(self, counts: StreamCounts) -> Iterator[SettledPair]:
        steps = _Steps(self.progress, len(self.pairs))
        judge = self.labeller.judge
        shown_before, judge.progress = judge.progress, steps.shown
        try:
            for key, outcome in self.labeller.decide(self.pairs, self.scopes):
                ids, place, turned = self.met[key]
                if turned and isinstance(outcome, Judgement):
                    outcome = outcome.flipped
                counts.count(outcome)
                yield SettledPair(*ids, outcome, place)
        finally:
            judge.progress = shown_before
        steps.finish()
        for waiting in (self.pairs, self.scopes, self.met):
            waiting.clear()


@dataclass(slots=True)
class _Steps:
    """Passes the judge's steps on to the bar of the stream, never more than there are pairs in the chunk."""

    task: ProgressTask | None
    left: int

    def advance(self, steps: int = 1) -> None:
        """Count what the judge has done."""
        steps = min(steps, self.left)
        self.left -= steps
        if self.task is not None and steps:
            self.task.advance(steps)

    def finish(self) -> None:
        """Count what needed no judge."""
        self.advance(self.left)

    def shown(self, what: str, total: int | None) -> AbstractContextManager[ProgressTask]:
        """The display for the judge: this."""
        del what, total
        return self._shown()

    @contextmanager
    def _shown(self) -> Iterator[ProgressTask]:
        yield self
