"""Labels as JSON Lines, gathered in a nameless file until all are there: a stopped run leaves nothing half-written."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from likewise.core.labels import Judgement
from likewise.core.rollout import JsonValue
from likewise.scoring.label_stream import SettledPair, StreamCounts

__all__ = ["LabelLines", "LabelSummary", "label_line", "spooled_lines"]


def label_line(settled: SettledPair, signature: str) -> str:
    """One line of schema `likewise.labels/1`, without its end; docs/labelling.md has the fields."""
    record: dict[str, JsonValue] = {"a": settled.first_id, "b": settled.second_id}
    outcome = settled.outcome
    if isinstance(outcome, Judgement):
        record |= {
            "relation": outcome.relation.name.lower(),
            "forward": _rounded(outcome.forward),
            "backward": _rounded(outcome.backward),
            "rule": outcome.rule,
        }
    else:
        record |= {"relation": None, "reason": outcome}
    record |= {"place": dict(settled.place), "signature": signature}
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _rounded(probabilities: tuple[float, float, float]) -> list[JsonValue]:
    """Nine digits: enough to give back every single-precision number."""
    return [float(f"{p:.9g}") for p in probabilities]


@dataclass(slots=True)
class LabelLines:
    """Takes lines; `content` is what the file will hold (packed where its name ends in .gz)."""

    content: IO[bytes]
    _lines: IO[bytes]

    def write(self, line: str) -> None:
        """Take one line."""
        self._lines.write(line.encode("ascii") + b"\n")

    def close(self) -> None:
        """All lines are there."""
        if self._lines is not self.content:
            self._lines.close()
        self.content.flush()


@contextmanager
def spooled_lines(folder: Path | None, *, packed: bool) -> Iterator[LabelLines]:
    """A file without a name, which is gone when the context or the process ends, however it ends.

    Args:
        folder: Where its bytes lie, best on the disk of the file to write; the system's temporary folder where None.
        packed: Whether to pack the lines with gzip; equal lines give equal bytes.
    """
    with tempfile.TemporaryFile(dir=folder) as content:
        lines: IO[bytes] = content
        if packed:
            lines = gzip.GzipFile(filename="", mode="wb", fileobj=content, compresslevel=6, mtime=0)  # type: ignore[assignment]
        yield LabelLines(content, lines)


@dataclass(frozen=True, slots=True)
class LabelSummary:
    """What one run of `likewise label` did.

    Attributes:
        signature: How the labels were made.
        counts: What came by.
        from_store: Pairs of texts that the label store answered.
        from_judge: Pairs of texts that the judge was asked for and answered.
        by_class: Pairs of texts settled from others (--settle-by-classes).
        excluded: Records and lines that held no run and no pair.
        warnings: What else a reader should know.
        notes: What the judge says it did (calls, cost).
        seconds: From the first pair to the last.
        out: Where the lines are.
    """

    signature: str
    counts: StreamCounts
    from_store: int
    from_judge: int
    by_class: int
    excluded: int
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    out: str

    def as_json(self) -> dict[str, JsonValue]:
        """Schema `likewise.label-summary/1`."""
        counts = self.counts
        return {
            "schema": "likewise.label-summary/1",
            "signature": self.signature,
            "out": self.out,
            "pairs": counts.pairs,
            "distinct_pairs": counts.distinct,
            "relations": {name: counts.relations[name] for name in ("equivalent", "neutral", "contradictory")},
            "by_rule": dict(counts.rules.most_common()),
            "not_measured": dict(counts.failures.most_common()),
            "judge_use": {"from_store": self.from_store, "from_model": self.from_judge, "by_class": self.by_class},
            "excluded_count": self.excluded,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 3),
            "pairs_per_second": round(counts.distinct / self.seconds, 2) if self.seconds > 0 else None,
        }
