"""Many queries through a wrapped agent, with an audit log that can be gone on with where it was stopped."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import anyio

from likewise.core.errors import AgentError, RolloutFormatError, UnreliableAnswerError
from likewise.core.file_lock import hold
from likewise.core.protocols import Progress, no_progress
from likewise.reliability.recording import LOG_SCHEMA, query_key
from likewise.reliability.runs import RunRecord
from likewise.reliability.verdict import Verdict
from likewise.reliability.wrapped import WrappedAgent

__all__ = ["Asked", "Batch", "Outcome", "read_log", "read_queries", "run_batch"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, its name, and the sources that its answer is checked against."""

    id: str
    query: Any
    sources: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a query: a verdict, or why there is none. `entry` is the line in the log."""

    asked: Asked
    entry: dict[str, Any]
    verdict: Verdict | None = None
    error: str | None = None
    resumed: bool = False


@dataclass(slots=True)
class Batch:
    """All outcomes in the order of the queries."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def resumed(self) -> int:
        """Queries whose verdict was read from the log."""
        return sum(outcome.resumed for outcome in self.outcomes)


def read_queries(path: Path) -> list[Asked]:
    """Queries of a JSON Lines file: each line a text, or `{"query": text or messages, "id": ..., "sources": {...}}`.

    Raises:
        RolloutFormatError: A line is neither, two have one id, or there is no query.
        OSError: The file cannot be read.
    """
    asked: list[Asked] = []
    for line, value in _lines(path):
        if isinstance(value, str):
            value = {"query": value}
        if not isinstance(value, dict) or not isinstance(value.get("query", value.get("messages")), str | list):
            raise RolloutFormatError(str(path), "no query", line=line, expected='a text, or {"query": ...}')
        text = value.get("query", value.get("messages"))
        if not text or (isinstance(text, str) and not text.strip()):
            raise RolloutFormatError(str(path), "an empty query", line=line)
        sources = value.get("sources")
        if sources is not None and not (
            isinstance(sources, dict) and all(isinstance(text, str) for text in sources.values())
        ):
            raise RolloutFormatError(str(path), "sources that are no texts by name", line=line, pointer="/sources")
        asked.append(Asked(str(value.get("id", line)), text, sources))
    if not asked:
        raise RolloutFormatError(str(path), "no query in it", expected='lines of JSON: a text, or {"query": ...}')
    ids = [each.id for each in asked]
    twice = next((name for name in ids if ids.count(name) > 1), None) if len(set(ids)) < len(ids) else None
    if twice is not None:
        raise RolloutFormatError(str(path), f"the id {twice!r} occurs twice")
    return asked


def read_log(path: Path) -> dict[str, dict[str, Any]]:
    """The entries of an audit log by their keys, the last of each; a line that was cut at the very end is left out.

    Raises:
        RolloutFormatError: The file holds something else.
    """
    entries: dict[str, dict[str, Any]] = {}
    for line, value in _lines(path, torn_end=True):
        if not isinstance(value, dict) or value.get("schema") != LOG_SCHEMA:
            raise RolloutFormatError(str(path), "no audit log of ours", line=line, expected=f'"schema": "{LOG_SCHEMA}"')
        entries[str(value.get("key", line))] = value
    return entries


def _lines(path: Path, torn_end: bool = False) -> Iterator[tuple[int, Any]]:
    with path.open("rb") as file:
        for line, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                yield line, json.loads(raw)
            except (ValueError, RecursionError) as problem:
                if torn_end and not raw.endswith(b"\n"):
                    return
                why = f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else problem
                raise RolloutFormatError(
                    str(path), f"not JSON: {why}", line=line, expected="a line of JSON: a text stands in quotes"
                ) from None


async def run_batch(
    agent: WrappedAgent,
    queries: Sequence[Asked],
    settings: Mapping[str, Any],
    *,
    log: Path | None = None,
    parallel: int = 1,
    progress: Progress = no_progress,
) -> Batch:
    """Ask all queries; each verdict is in the log before the next query of its slot begins.

    Args:
        agent: What is asked.
        queries: What it is asked.
        settings: What else makes an answer comparable (agent, mode, runs): part of each entry's key.
        log: JSON Lines file that is added to; queries whose verdict it holds under these settings are not run again.
        parallel: Queries under way at once.
        progress: Display.

    Returns:
        All outcomes. A query whose runs all failed has an error, and is run again next time.

    Raises:
        BlockingIOError: Another batch is adding to the log.
        RolloutFormatError: The log holds something else.
    """
    outcomes: dict[int, Outcome] = {}
    slots = anyio.Semaphore(parallel)

    with _Log(log) as sink, progress("asking", total=len(queries)) as task:

        async def one(place: int, asked: Asked) -> None:
            key = query_key(asked.query, {**settings, "id": asked.id, "sources": dict(asked.sources or {})})
            entry = sink.known.get(key)
            if entry is not None and entry.get("error") is None:
                outcomes[place] = Outcome(asked, entry, resumed=True)
            else:
                async with slots:
                    outcomes[place] = await _ask(agent, asked, key)
                sink.write(outcomes[place].entry)
            task.advance()

        try:
            async with anyio.create_task_group() as group:
                for place, asked in enumerate(queries):
                    group.start_soon(one, place, asked)
        except BaseExceptionGroup as failures:  # the first ended the others
            raise failures.exceptions[0] from None
    return Batch([outcomes[place] for place in range(len(queries))])


async def _ask(agent: WrappedAgent, asked: Asked, key: str) -> Outcome:
    head: dict[str, Any] = {"schema": LOG_SCHEMA, "key": key, "id": asked.id, "error": None}
    try:
        verdict = await agent.aquery(asked.query, sources=asked.sources)
    except AgentError as problem:
        trail = [record.as_json() for record in problem.records if isinstance(record, RunRecord)]
        entry = head | {"error": str(problem), "query": asked.query, "audit_trail": trail}
        return Outcome(asked, entry, error=str(problem))
    except UnreliableAnswerError as problem:
        if not isinstance(problem.verdict, Verdict):
            raise
        verdict = problem.verdict
    return Outcome(asked, head | verdict.as_json(), verdict)


class _Log:
    """Adds lines to a file, each flushed as it comes; nothing where there is no file. `known` is what was there."""

    def __init__(self, path: Path | None) -> None:
        self.known: dict[str, dict[str, Any]] = {}
        self._file: IO[str] | None = None
        if path is None:
            return
        self._file = path.open("a", encoding="utf-8")
        try:
            if not path.is_file():
                raise OSError(errno.EINVAL, "no file that can be added to and read again", str(path))
            # both would ask the same, and tear each other's lines
            hold(self._file, path, "another run is adding to this log; wait for it, or give each run a log of its own")
            self.known = read_log(path)
            _drop_torn_end(path)
        except BaseException:
            self._file.close()
            raise

    def write(self, entry: Mapping[str, Any]) -> None:
        if self._file is not None:
            self._file.write(json.dumps(entry, allow_nan=False) + "\n")
            self._file.flush()

    def __enter__(self) -> _Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def _drop_torn_end(path: Path) -> None:
    """A line that a kill cut short goes, so that the next stands on its own."""
    with path.open("r+b") as file:
        whole = 0
        for raw in file:
            whole += len(raw) if raw.endswith(b"\n") else 0
        file.truncate(whole)
