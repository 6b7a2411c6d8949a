"""One run is one run: copies of files, records and generations are found while runs pass by, one after another.

Only digests are kept, so a folder of any size can pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from likewise.core.provenance import is_cached, response_ids, times
from likewise.core.rollout import Excluded, Rollout

__all__ = ["CACHED", "COPIED", "Identities"]

COPIED = "the same generation as run"
"""How the note on a copied generation starts."""
CACHED = "an answer came from a cache"


@dataclass(frozen=True, slots=True)
class _Seen:
    run_id: str
    path: str
    everything: bytes
    turns: bytes


@dataclass(slots=True)
class Identities:
    """What passed by so far.

    Attributes:
        exclude: Told of every record that is left out.
        warnings: What the user should know; added to.
    """

    exclude: Callable[[Iterable[Excluded]], None]
    warnings: list[str]
    _files: dict[bytes, Path] = field(default_factory=dict)
    _taken: set[tuple[str, str]] = field(default_factory=set)
    _runs: dict[tuple[str, ...], list[_Seen]] = field(default_factory=dict)
    _generations: dict[tuple[str, ...], str] = field(default_factory=dict)
    _copied: dict[str, list[str]] = field(default_factory=dict)

    def is_copy(self, path: Path) -> bool:
        """Exclude a file whose bytes were read under another path: counted twice, it would narrow every interval."""
        digest = _digest(path)
        if digest is None:
            return False
        first = self._files.setdefault(digest, path)
        if first == path:
            return False
        reason = f"the same bytes as {first}, read before"
        self.exclude([Excluded(None, None, reason, path=str(path))])
        self.warnings.append(f"{path}: {reason}; counted once")
        return True

    def admit(self, rollout: Rollout) -> Rollout | None:
        """The run under an id of its own, or None for a record that was there before.

        The same record twice stays once; two records under one id stay two runs, the later under a new id. A run that
        holds a generation of an earlier run of its task is noted.
        """
        try:
            turns = _hash(repr(rollout.turns))
            rest = repr(replace(rollout, path="", turns=()))  # repr: NaN in arguments equals itself
        except RecursionError:
            self.exclude([Excluded(rollout.task_id, rollout.run_id, "nested too deeply", rollout.path)])
            return None
        seen = _Seen(rollout.run_id, rollout.path, _hash(rest) + turns, turns)
        twin = self._twin(rollout, seen)
        if twin is not None:
            reason = f"duplicate of run {twin.run_id!r} in {twin.path}"
            self.exclude([Excluded(rollout.task_id, rollout.run_id, reason, rollout.path)])
            self.warnings.append(f"{rollout.path}: run {rollout.run_id!r} is a {reason}; counted once")
            return None
        if (rollout.task_id, rollout.run_id) in self._taken:
            rollout = self._renamed(rollout)
        self._taken.add((rollout.task_id, rollout.run_id))
        return self._noted(rollout, turns)

    def _twin(self, rollout: Rollout, seen: _Seen) -> _Seen | None:
        """The same record, by its content or, with the same turns, by the log's own unique id (`record_id`)."""
        others = self._runs.setdefault((rollout.task_id, rollout.run_id), [])
        twin = next((other for other in others if other.everything == seen.everything), None)
        record_id = rollout.meta.get("record_id")
        records: list[_Seen] = []
        if isinstance(record_id, str):
            records = self._runs.setdefault(("record", rollout.task_id, record_id), [])
            twin = twin or next((other for other in records if other.turns == seen.turns), None)
        if twin is None:
            others.append(seen)
            records.append(seen)
        return twin

    def _renamed(self, rollout: Rollout) -> Rollout:
        task_id, run_id = rollout.task_id, rollout.run_id
        new_id = next(name for n in count(2) if (task_id, name := f"{run_id}~{n}") not in self._taken)
        self.warnings.append(
            f"{rollout.path}: another run {run_id!r} of task {task_id!r}, with other content, is kept as {new_id!r}"
        )
        return replace(rollout, run_id=new_id)

    def _noted(self, rollout: Rollout, turns: bytes) -> Rollout:
        """The run with a note where a generation of it was seen before or was cached; such runs are no repeats."""
        if not rollout.valid:
            return rollout
        keys: list[tuple[str, ...]] = [("response id", rollout.task_id, each) for each in response_ids(rollout)]
        if (span := times(rollout)) is not None:
            keys.append(("times and actions", rollout.task_id, *span, turns.hex()))
        notes = list(rollout.notes)
        firsts = {key[0]: first for key in keys if (first := self._first(key, rollout)) != rollout.run_id}
        for evidence, first in list(firsts.items())[:1]:
            notes.append(f"{COPIED} {first!r} (same {evidence})")
            where = f"task {rollout.task_id!r}, runs {first!r} and {rollout.run_id!r}"
            self._copied.setdefault(evidence, []).append(where)
        if is_cached(rollout):
            notes.append(CACHED)
            self._copied.setdefault("cache", []).append(f"task {rollout.task_id!r}, run {rollout.run_id!r}")
        return replace(rollout, notes=tuple(dict.fromkeys(notes))) if len(notes) > len(rollout.notes) else rollout

    def _first(self, key: tuple[str, ...], rollout: Rollout) -> str:
        return self._generations.setdefault(key, rollout.run_id)

    def finish(self) -> None:
        """Warn of copied generations, once for each kind of evidence."""
        for evidence, places in self._copied.items():
            runs = f"{len(places)} run{'' if len(places) == 1 else 's'}"
            if evidence == "cache":
                found = f"{runs} hold{'s' if len(places) == 1 else ''} answers that came from a cache"
            else:
                found = f"{runs} hold{'s' if len(places) == 1 else ''} a generation of an earlier run (same {evidence})"
            self.warnings.append(f"{found}; a copy is not a repeat and makes an agent look consistent: {places[0]}")


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _digest(path: Path) -> bytes | None:
    """None for a pipe, which can be read only once, and for a file whose reader will say what is wrong with it."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return None
