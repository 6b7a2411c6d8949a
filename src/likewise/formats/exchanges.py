"""Logs of calls to a model, an exchange a record: what was given and what came back, put together into runs.

A request is what the agent was given, a response is what it did. A request that repeats all of an earlier exchange, its
response included, or that names it (`previous_response_id`), goes on with that run; what it adds came in between.
Other words of the assistant in a first request are prepared: observations. A record without a response is a whole
conversation, in which the assistant's words are the agent's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Final, Protocol

from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.core.state_text import canonical_json
from likewise.formats.assemble import UNKNOWN_END, Ending, assemble, broken, read_chat, task_of
from likewise.formats.fields import (
    FieldError,
    as_flag,
    as_object,
    child,
    first_line,
    identifier,
    ordinal,
    scalars,
)
from likewise.formats.files import Lines
from likewise.formats.rollout_set import Parsed

__all__ = ["Dialect", "Exchange", "Message", "part_of", "read_exchanges", "records_of"]

_TASKS: Final = ("task_id", "task", "question_id", "example_id", "custom_id")
_RUN_MARK: Final = re.compile(
    r"(?P<task>.+?)[-_#:/.](?:run|trial|sample|repeat|rep|attempt|epoch|k)[-_]?(?P<run>\d+)", re.IGNORECASE
)
_REQUESTS: Final = ("request", "params", "body")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request or a response.

    Attributes:
        key: Equal for equal messages, however they are written.
        chat: It as chat messages, each with the pointer of what it was made of.
    """

    key: bytes
    chat: tuple[tuple[JsonValue, str], ...]

    @staticmethod
    def of(facts: JsonValue, chat: Iterable[tuple[JsonValue, str]]) -> Message:
        """A message whose key is made of the facts that tell it from others."""
        text = canonical_json(facts)
        return Message(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), tuple(chat))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One record taken apart; `response` is None where the call failed, and in a conversation without exchanges."""

    record: dict[str, JsonValue]
    request: dict[str, JsonValue]
    response: dict[str, JsonValue] | None
    request_at: str
    response_at: str
    error: JsonValue = None


class Dialect(Protocol):
    """What differs from one API to another."""

    def is_response(self, value: dict[str, JsonValue]) -> bool:
        """Whether an object is a response of this API."""
        ...

    def given(self, exchange: Exchange) -> list[Message]:
        """What a request gave, its instructions aside."""
        ...

    def instructions(self, exchange: Exchange) -> list[Message]:
        """The system prompt of a request."""
        ...

    def done(self, response: dict[str, JsonValue], pointer: str) -> list[Message]:
        """What a response did."""
        ...

    def ending(self, response: dict[str, JsonValue]) -> Ending:
        """What the last response says on how the run ended."""
        ...


@dataclass(slots=True)
class _Thread:
    """A run in the making."""

    task_id: str
    first: Exchange
    chat: list[tuple[JsonValue, str]]
    scripted: int
    state: bytes = b""
    ids: list[JsonValue] = field(default_factory=list)
    last: Exchange | None = None
    line: int | None = None


def part_of(record: dict[str, JsonValue], key: str) -> dict[str, JsonValue]:
    """An object inside an object; an empty one where there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def records_of(lines: Lines) -> Iterable[tuple[JsonValue, int | None, str]]:
    """The records of a file: its values, and the items of a list."""
    for value, line, pointer in lines.values:
        if isinstance(value, list):
            yield from ((item, line, child(pointer, index)) for index, item in enumerate(value))
        else:
            yield value, line, pointer


def read_exchanges(lines: Lines, dialect: Dialect, path: Path, label: str) -> Parsed:
    """The runs of a log of exchanges; run ids are `label#n`, counted within each task.

    Args:
        lines: The records.
        dialect: The API that was called.
        path: File they were read from.
        label: Name of the file in run ids.
    """
    threads: list[_Thread] = []
    waiting: dict[bytes, list[_Thread]] = {}
    excluded = list(lines.excluded)
    for value, line, pointer in records_of(lines):
        try:
            exchange = _unpack(as_object(value, pointer), pointer, dialect)
            _add(exchange, line, dialect, threads, waiting)
        except FieldError as error:
            excluded.append(Excluded(_named(value), None, error.problem, str(path), line, error.pointer))
        except RecursionError:
            excluded.append(Excluded(_named(value), None, "nested too deeply", str(path), line, pointer))
    rollouts: list[Rollout] = []
    seen: dict[str, int] = {}
    for thread in threads:
        try:
            rollouts.append(_rollout(thread, f"{label}#{ordinal(seen, thread.task_id)}", dialect, path))
        except FieldError as error:
            excluded.append(Excluded(thread.task_id, None, error.problem, str(path), thread.line, error.pointer))
    return Parsed(tuple(rollouts), tuple(excluded))


def _named(value: JsonValue) -> str | None:
    found = (value.get(key) for key in _TASKS) if isinstance(value, dict) else ()
    return next((str(each) for each in found if isinstance(each, str | int)), None)


def _unpack(record: dict[str, JsonValue], pointer: str, dialect: Dialect) -> Exchange:
    key = next((each for each in _REQUESTS if isinstance(record.get(each), dict)), None)
    request_at = pointer if key is None else child(pointer, key)
    request = record if key is None else part_of(record, key)
    error = record.get("error")
    if dialect.is_response(record):
        return Exchange(record, request, record, request_at, pointer)
    for outer, inner in (("response", "body"), ("result", "message"), ("response", ""), ("output", "")):
        holder = part_of(record, outer)
        found = part_of(holder, inner) if inner else holder
        if found and dialect.is_response(found):
            place = child(pointer, outer)
            return Exchange(record, request, found, request_at, child(place, inner) if inner else place)
        error = error or part_of(found, "error") or holder.get("error")
        status = holder.get("type") or holder.get("status_code")
        error = error or (str(status) if outer in ("response", "result") and status else None)
    return Exchange(record, request, None, request_at, pointer, error)


def _add(
    exchange: Exchange,
    line: int | None,
    dialect: Dialect,
    threads: list[_Thread],
    waiting: dict[bytes, list[_Thread]],
) -> None:
    """Put an exchange into the run that it goes on with, or begin one."""
    given = dialect.given(exchange)
    done = [] if exchange.response is None else dialect.done(exchange.response, exchange.response_at)
    if exchange.response is None and not exchange.error and not given:
        raise FieldError(exchange.response_at, "no response of this API, and no error")
    states = _states(message.key for message in given)
    thread, known = _continued(exchange, states, waiting)
    if thread is not None and exchange.response is None:
        waiting.setdefault(thread.state, []).insert(0, thread)  # a retry goes on from the same place
        thread.last = exchange
        return
    added = [pair for message in given[known:] for pair in message.chat]
    if thread is None:
        start = [pair for message in dialect.instructions(exchange) for pair in message.chat] + added
        whole = exchange.response is None and not exchange.error
        thread = _Thread(_task(exchange, start), exchange, start, 0 if whole else len(start), line=line)
        threads.append(thread)
    else:
        thread.chat += added
    thread.last = exchange
    if exchange.response is None:
        return
    thread.chat += [pair for message in done for pair in message.chat]
    by_name = thread.state if _previous(exchange) and not known else b""
    thread.state = _states((message.key for message in (*given, *done)), by_name)[-1]
    waiting.setdefault(thread.state, []).append(thread)
    response_id = exchange.response.get("id")
    if isinstance(response_id, str):
        thread.ids.append(response_id)
        waiting.setdefault(response_id.encode("utf-8", "replace"), []).append(thread)


def _states(keys: Iterable[bytes], start: bytes = b"") -> list[bytes]:
    """The state before any message, then after each."""
    return [*accumulate(keys, lambda state, key: hashlib.blake2b(state + key, digest_size=16).digest(), initial=start)]


def _previous(exchange: Exchange) -> str | None:
    named = exchange.request.get("previous_response_id") or (exchange.response or {}).get("previous_response_id")
    return named if isinstance(named, str) else None


def _continued(
    exchange: Exchange, states: list[bytes], waiting: dict[bytes, list[_Thread]]
) -> tuple[_Thread | None, int]:
    """The run that an exchange goes on with, and how many messages of its request that run has already."""
    previous = _previous(exchange)
    if previous and (found := waiting.pop(previous.encode("utf-8", "replace"), None)):
        return found[0], 0
    for known in range(len(states) - 1, 0, -1):
        if found := waiting.get(states[known]):
            return found.pop(0), known
    return None, 0


def _task(exchange: Exchange, start: list[tuple[JsonValue, str]]) -> str:
    places = [exchange.record, exchange.request, exchange.response or {}]
    for holder in (*places, *(part_of(each, "metadata") for each in places)):
        for key in _TASKS:
            if holder.get(key) is not None and not isinstance(holder[key], dict | list):
                named = identifier(holder[key], child(exchange.request_at, key))
                marked = _RUN_MARK.fullmatch(named) if key == "custom_id" else None
                return marked["task"] if marked else named
    for message, _ in start:
        content = message.get("content") if isinstance(message, dict) and message.get("role") == "user" else None
        parts = content if isinstance(content, list) else [content]
        texts = [each.get("text") if isinstance(each, dict) else each for each in parts]
        text = "\n".join(each for each in texts if isinstance(each, str))
        if text.strip():
            return task_of(text)
    raise FieldError(exchange.request_at, f"no task: none of {', '.join(_TASKS)}, and no words of a user")


def _rollout(thread: _Thread, run_id: str, dialect: Dialect, path: Path) -> Rollout:
    talk = read_chat(thread.chat, scripted=thread.scripted)
    last = thread.last or thread.first
    ending = UNKNOWN_END if last.response is None else dialect.ending(last.response)
    ending = broken(_message_of(last.error)) if last.error else ending
    meta: dict[str, JsonValue] = {"file": path.name, "response_ids": [*thread.ids]}
    for source in (thread.first.request, last.response or {}, thread.first.record):
        meta |= scalars(source, ("model", "temperature", "seed", "agent"))
    record = last.record
    return assemble(
        thread.task_id,
        run_id,
        talk,
        ending,
        path=str(path),
        reward=record.get("reward"),
        success=as_flag(record.get("success"), "/success"),
        meta=meta,
    )


def _message_of(error: JsonValue) -> str:
    """What an error of an API says."""
    while isinstance(error, dict):
        inner = error.get("message") or error.get("error") or error.get("code") or error.get("type")
        if inner is None:
            return canonical_json(error)[:200]
        error = inner
    return first_line(str(error))
