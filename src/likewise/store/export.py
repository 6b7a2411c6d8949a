"""Takes the history out: rollouts that `likewise report` reads, and verdicts as JSON Lines or Parquet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from likewise.core.errors import MissingExtraError
from likewise.core.rollout import Rollout
from likewise.formats.native import rollout_to_json, write_rollouts
from likewise.store.store import Store
from likewise.store.verdicts import StoredVerdict, VerdictFilter

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["export_rollouts", "export_verdicts", "rollout_lines", "verdict_lines"]

ROW_GROUP = 500
_TEXTS = (
    "id",
    "agent",
    "version",
    "model",
    "route",
    "caller",
    "query",
    "answer",
    "decision",
    "label",
    "runs_agreed",
)
_NUMBERS = ("reliability", "reliability_low", "reliability_high", "contradiction", "divergence", "seconds")
_COUNTS = ("runs", "runs_failed", "input_tokens", "output_tokens")
_FLAGS = ("contradictory", "needs_review")


def rollout_lines(store: Store, filter: VerdictFilter) -> Iterator[str]:
    """Runs in our own format, a line each, the oldest first.

    Raises:
        ValueError: The filter names no agent: runs of several agents would be compared with each other.
        StoreUnavailableError: The database cannot be read.
    """
    return (json.dumps(rollout_to_json(each), separators=(",", ":")) + "\n" for each in _rollouts(store, filter))


def export_rollouts(store: Store, path: str | Path, filter: VerdictFilter) -> int:
    """Write runs in our own format; the file is complete or not there, a name that ends in .gz is compressed.

    Returns:
        How many.

    Raises:
        ValueError: The filter names no agent: runs of several agents would be compared with each other.
        StoreUnavailableError: The database cannot be read.
        OSError: The file cannot be written.
    """
    return write_rollouts(path, _rollouts(store, filter))


def _rollouts(store: Store, filter: VerdictFilter) -> Iterator[Rollout]:
    if filter.agent is None:
        raise ValueError("an export of runs needs an agent: runs of several would be compared with each other")
    return (rollout for verdict in store.verdicts.walk(filter) for rollout in verdict.rollouts)


def verdict_lines(store: Store, filter: VerdictFilter | None = None) -> Iterator[str]:
    """Verdicts in full as JSON, a line each, the oldest first.

    Raises:
        StoreUnavailableError: The database cannot be read.
    """
    return (json.dumps(verdict.as_json(), separators=(",", ":")) + "\n" for verdict in store.verdicts.walk(filter))


def export_verdicts(store: Store, path: str | Path, filter: VerdictFilter | None = None) -> int:
    """Write verdicts: a name that ends in .parquet makes a table (texts in full, a column a number), else JSON Lines.

    Returns:
        How many.

    Raises:
        MissingExtraError: Parquet is asked for and pyarrow is not installed.
        StoreUnavailableError: The database cannot be read.
        OSError: The file cannot be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name[:100]}.{uuid4().hex}.tmp")
    try:
        if target.suffix.lower() == ".parquet":
            count = _write_parquet(temporary, store.verdicts.walk(filter))
        else:
            count = _write_lines(temporary, verdict_lines(store, filter))
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return count


def _write_lines(path: Path, lines: Iterator[str]) -> int:
    count = 0
    with path.open("x", encoding="ascii") as file:
        for line in lines:
            file.write(line)
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count


def _write_parquet(path: Path, verdicts: Iterator[StoredVerdict]) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as problem:
        raise MissingExtraError("an export as Parquet", "parquet") from problem
    schema, count = _schema(), 0
    with path.open("xb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := [_flat(verdict) for verdict in islice(verdicts, ROW_GROUP)]:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            count += len(rows)
    return count


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = ((_TEXTS, pa.string()), (_NUMBERS, pa.float64()), (_COUNTS, pa.int64()), (_FLAGS, pa.bool_()))
    columns = [pa.field(name, kind) for names, kind in kinds for name in names]
    return pa.schema(
        [
            pa.field("created", pa.timestamp("us", tz="UTC")),
            pa.field("task_id", pa.string()),
            *columns,
            pa.field("reliability_reason", pa.string()),
            pa.field("signature", pa.string()),
            pa.field("verdict", pa.string()),  # all of it, as JSON
        ]
    )


def _flat(verdict: StoredVerdict) -> dict[str, Any]:
    summary = verdict.summary
    low_high = {
        "reliability": summary.reliability.value,
        "reliability_low": summary.reliability.low,
        "reliability_high": summary.reliability.high,
        "reliability_reason": summary.reliability.reason,
    }
    own = {name: getattr(summary, name) for name in (*_TEXTS, *_NUMBERS, *_COUNTS, *_FLAGS) if name not in low_high}
    texts = {"query": _text(verdict.body["query"]), "answer": _text(verdict.body["consensus_answer"])}
    placed = {"created": summary.created, "task_id": summary.task}
    whole = json.dumps(verdict.as_json(), separators=(",", ":"))
    return {**own, **texts, **low_high, **placed, "signature": verdict.signature, "verdict": whole}


def _text(text: str | None) -> str | None:
    """Lone surrogates cannot be written as UTF-8."""
    return None if text is None else text.encode("utf-8", "replace").decode("utf-8")
