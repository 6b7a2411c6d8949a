"""What the benchmarks of the learned metric keep under build/: vectors of texts and finished trainings.

A benchmark that is stopped goes on with the same command. What is kept is named by everything that it depends on, the
source of the package among it: after a change there nothing stale is taken up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from common import HERE

import likewise
from likewise.core.group import RolloutGroup, group_rollouts
from likewise.core.protocols import Encoder
from likewise.core.rollout import Rollout
from likewise.evaluation.measured_tasks import MeasuredTask, MeasuredTasks

FOLDER = HERE.parent / "build" / "learned"
PACKAGE = Path(likewise.__file__).parent
DECIDES = ("learned/*.py", "core/state_text.py")
"""Files that a training depends on, beside its data."""


@cache
def source_digest() -> str:
    """Names the state of the code that trains."""
    digest = blake2b(digest_size=8)
    for pattern in DECIDES:
        for path in sorted(PACKAGE.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def key_of(*parts: object) -> str:
    """A name for what depends on these values and on the code."""
    return blake2b(repr((source_digest(), *parts)).encode(), digest_size=10).hexdigest()


def kept(name: str) -> dict[str, object] | None:
    """A result that an earlier call kept."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.is_file() else None


def keep(name: str, result: dict[str, object]) -> None:
    """Keep a result, whole or not at all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = FOLDER / f"{name}.part"
    part.write_text(json.dumps(result))
    part.replace(FOLDER / f"{name}.json")


class KeptEncoder:
    """An encoder whose vectors outlive the process."""

    def __init__(self, encoder: Encoder) -> None:
        """Read what was kept for this very encoder."""
        self.encoder, self.encoder_id = encoder, encoder.encoder_id
        self._path = FOLDER / f"vectors-{encoder.encoder_id}.npz"
        self._known: dict[str, np.ndarray] = {}
        if self._path.is_file():
            with np.load(self._path) as whole:
                self._known = dict(zip(whole["digests"].tolist(), whole["vectors"], strict=True))
        self._saved = len(self._known)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of texts; unknown ones are asked of the encoder."""
        names = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        if missing:
            rows = self.encoder.encode(list(missing.values()))
            self._known.update(zip(missing, rows, strict=True))
        return np.stack([self._known[name] for name in names])

    def save(self) -> None:
        """Keep all vectors for the next run."""
        if len(self._known) == self._saved:
            return
        FOLDER.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part.npz")
        np.savez(part, digests=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        part.replace(self._path)
        self._saved = len(self._known)


def keep_distances(measured: MeasuredTasks) -> None:
    """Keep what the judge said, with its name: judging costs minutes, and a benchmark is run more than once."""
    keep(
        "distances",
        {
            "judge": measured.judge_id,
            "rules": measured.rules_id,
            "fingerprint": measured.fingerprint,
            "tasks": {task.group.task_id: _plain(task.distance) for task in measured.tasks},
        },
    )


def kept_distances(rollouts: Sequence[Rollout]) -> MeasuredTasks | None:
    """The same tasks as `keep_distances` was given; None where nothing was kept, or of other runs."""
    before = kept("distances")
    if before is None:
        return None
    tasks = []
    for group in group_rollouts(rollouts):
        usable = tuple(rollout for rollout in group.valid if rollout.turns)
        rows = before["tasks"].get(group.task_id)
        if len(usable) >= 2 and rows is not None:
            distance = np.array([[np.nan if d is None else d for d in row] for row in rows], dtype=np.float64)
            tasks.append(MeasuredTask(RolloutGroup(group.task_id, usable), distance))
    measured = MeasuredTasks(tuple(tasks), before["judge"], before["rules"])
    return measured if measured.fingerprint == before["fingerprint"] else None


def _plain(distance: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(d) else float(d) for d in row] for row in distance]
