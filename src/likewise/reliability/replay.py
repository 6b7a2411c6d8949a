"""Tools behind a recorder: k runs of an agent must not send k refunds.

Within one query each distinct call of a reading tool is made once and its result given to all runs. A call that
changes something is stubbed in all runs (and can be made once, after the verdict, by `commit`), or made once after
asking. A tool that nobody knows to be reading counts as one that changes something.

What is changed is what one run would change: a run that wants another change than those made so far is refused, so that
runs which disagree on the amount don't send two refunds.

Which run a call belongs to is told by its context. A framework may call tools in threads without one; while runs are
under way, such a call is refused where it changes something, since it could be the same refund for the fifth time.
"""

from __future__ import annotations

import inspect
import json
import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial, wraps
from itertools import pairwise
from typing import Any

import anyio
import anyio.to_thread

from likewise.backends.tool_classes import ClassSource
from likewise.backends.tool_names import ToolClass, tool_words
from likewise.backends.tool_rules import ToolRules
from likewise.reliability.agents import QueryScope, RunInfo, current_run, is_async, runs_under_way
from likewise.reliability.verdict import Decision, Verdict

__all__ = ["ToolRecorder", "ToolRefusedError", "Writes"]

STUB = {"status": "noted", "note": "this call is carried out once, after all runs have been compared"}
_REMOVES = re.compile("ack|acknowledge|delete|destroy|erase|purge|remove|wipe")
"""Words that make a change of a call wherever they stand in a tool's name."""
_JOINED = re.compile(
    f"{_REMOVES.pattern}|add|archive|book|buy|cancel|charge|clear|close|create|drop|flush|insert|move|pay|pop|refund"
    "|replace|reset|save|send|set|update|write"
)
"""Words that do so after "and", "or" or "then"; elsewhere they may be nouns (get_refund)."""
Tool = Callable[..., Any]
_Key = tuple[str, str, int]
"""Name, arguments, and how often they were called before in the same try of a run."""


class ToolRefusedError(RuntimeError):
    """A call that changes something was not permitted, or may already have been made."""


class Writes(StrEnum):
    """What is done with a call that changes something."""

    STUB = "stub"
    """Make it in no run; answer with a stub."""
    ASK = "ask"
    """Ask for permission; if given, make it once and give its result to all runs."""
    REFUSE = "refuse"
    """Raise in the agent's face."""


@dataclass(slots=True)
class _Call:
    """One distinct call of one query."""

    key: _Key
    thread_lock: threading.Lock = field(default_factory=threading.Lock)
    task_lock: anyio.Lock | None = None
    begun: bool = False
    done: bool = False
    unknown: bool = False
    """Begun, and ended without a result: what it changed may be changed."""
    result: Any = None


@dataclass(slots=True)
class _History:
    """What one try of one run has called, and which changes it has gone through, made by itself or replayed."""

    info: RunInfo  # kept, so that its identity stays its own
    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    changes: set[_Key] = field(default_factory=set)


@dataclass(slots=True)
class _Record:
    """What was called for one query; `changes` are the calls made that change something."""

    calls: dict[_Key, _Call] = field(default_factory=dict)
    histories: dict[tuple[int, int], _History] = field(default_factory=dict)
    changes: set[_Key] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    asking: threading.Lock = field(default_factory=threading.Lock)

    def call(self, info: RunInfo, name: str, arguments: str) -> tuple[_Call, _History]:
        """The n-th call with these arguments in this try of this run is the n-th in all of them: an agent may poll."""
        with self.lock:
            history = self.histories.setdefault((id(info), info.attempt), _History(info))
            key = (name, arguments, history.seen[name, arguments])
            history.seen[name, arguments] += 1
            return self.calls.setdefault(key, _Call(key)), history

    def unknown(self, call: _Call) -> bool:
        """Whether an earlier call of this tool with these arguments ended without a result."""
        name, arguments, number = call.key
        with self.lock:
            earlier = [self.calls.get((name, arguments, n)) for n in range(number)]
        return any(other is not None and other.unknown for other in earlier)


class ToolRecorder:
    """Wraps tools; use the wrapped ones in the agent, and the agent behind a layer."""

    def __init__(
        self,
        writes: Writes | str = Writes.STUB,
        *,
        permit: Callable[[str, Mapping[str, Any]], bool] | None = None,
        reading: tuple[str, ...] = (),
        rules: ToolRules | None = None,
        stub: Any = None,  # noqa: ANN401 - whatever the tool would return
    ) -> None:
        """Say what is done with calls that change something.

        Args:
            writes: stub, ask or refuse.
            permit: Asked before a call that changes something, where `writes` is ask: name and arguments. A sync
                function; True permits, and nothing else does.
            reading: Names of tools that only read, whatever they are called.
            rules: Tell reading tools from others by name and annotations, for tools that are not in `reading`.
            stub: What a stubbed call returns; a note that it was noted where None.

        Raises:
            ValueError: `ask` without anybody to ask.
            TypeError: `permit` is async.
        """
        self.writes = Writes(writes)
        if permit is not None and is_async(permit):
            raise TypeError("permit is asked in the midst of a call and cannot be awaited: give a sync function")
        if self.writes is Writes.ASK and permit is None:
            raise ValueError("writes='ask' needs `permit`, a function of the tool's name and arguments")
        self._permit, self._reading = permit, frozenset(reading)
        self._rules, self._stub = rules or ToolRules(), STUB if stub is None else stub
        self._records: weakref.WeakKeyDictionary[QueryScope, _Record] = weakref.WeakKeyDictionary()
        self._committed: dict[int, list[Any] | None] = {}
        self._committing = threading.Lock()
        self._lock = threading.Lock()
        self._tools: dict[str, Tool] = {}

    def reads(self, name: str) -> bool:
        """Whether a tool only reads. What nobody knows to do so does not."""
        if name in self._reading:
            return True
        found = self._rules.class_verdict(name)
        if found.tool_class is not ToolClass.READS:
            return False
        return found.source is not ClassSource.VERB or not _also_changes(name)

    def wrap(self, tool: Tool, name: str | None = None, *, as_async: bool = False) -> Tool:
        """The tool behind the recorder, sync or async as it is. Outside of a layer's runs it works as ever.

        Args:
            tool: A function.
            name: What it is called; its own name where None.
            as_async: Make a coroutine function of a sync tool, for frameworks that call sync tools in threads which do
                not know the run (AutoGen).
        """
        called = name or tool.__name__
        self._tools[called] = tool
        if as_async and not inspect.iscoroutinefunction(tool):
            recorded_sync = self.wrap(tool, called)

            @wraps(tool)
            async def in_thread(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the tool's own
                return await anyio.to_thread.run_sync(partial(recorded_sync, *args, **kwargs))

            return in_thread
        if inspect.iscoroutinefunction(tool):

            @wraps(tool)
            async def recorded_async(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the tool's own
                info = current_run()
                if info is None:
                    self._check_alone(called)
                    return await tool(*args, **kwargs)
                call, begins = self._call(info, called, tool, args, kwargs)
                if call.task_lock is None:
                    call.task_lock = anyio.Lock()
                async with call.task_lock:
                    if begins():
                        with _outcome(call):
                            _end(call, await tool(*args, **kwargs))
                    return _own(call.result)

            return recorded_async

        @wraps(tool)
        def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the tool's own
            info = current_run()
            if info is None:
                self._check_alone(called)
                return tool(*args, **kwargs)
            call, begins = self._call(info, called, tool, args, kwargs)
            with call.thread_lock:
                if begins():
                    with _outcome(call):
                        _end(call, tool(*args, **kwargs))
                return _own(call.result)

        return recorded

    def commit(self, verdict: Verdict, *, flagged: bool = False) -> list[Any]:
        """Make the tool calls of a verdict that is served, once; for sync tools and agents that return their calls.

        Args:
            verdict: Whose calls are made. A second time nothing is made, and the results are those of the first.
            flagged: Make those of a verdict that is flagged, too.

        Returns:
            What each tool returned, in order.

        Raises:
            ToolRefusedError: The verdict is not served, a tool is not known here, a call is not permitted, this
                recorder refuses all changes, or calls of this verdict were begun before and their outcome is not known.
        """
        if verdict.decision is Decision.REFUSE:
            raise ToolRefusedError("the verdict refuses the answer: nothing is carried out")
        if verdict.decision is Decision.FLAG and not flagged:
            raise ToolRefusedError("the verdict is flagged: look at its reasons, then commit(verdict, flagged=True)")
        with self._committing:
            if id(verdict) in self._committed:
                results = self._committed[id(verdict)]
                if results is None:
                    raise ToolRefusedError("the calls of this verdict were begun before: they are not made again")
                return list(results)
            calls = [self._committable(call.name, call.arguments) for call in verdict.tool_calls]
            self._committed[id(verdict)] = None
        weakref.finalize(verdict, self._committed.pop, id(verdict), None).atexit = False
        made = [call() for call in calls]
        self._committed[id(verdict)] = made
        return list(made)

    def _committable(self, name: str, arguments: object) -> Tool:
        """The call, if it may be made."""
        tool = self._tools.get(name)
        if tool is None or not isinstance(arguments, dict):
            raise ToolRefusedError(f"{name}: no such tool here, or arguments that are no object")
        asked = self.writes is not Writes.STUB and not self.reads(name)
        if asked and not self._permits(name, arguments):
            raise ToolRefusedError(f"{name}: this call changes something and was not permitted")
        return partial(tool, **arguments)

    def _permits(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Ask, where somebody is to be asked. A word or an object is no permission."""
        if self.writes is not Writes.ASK or self._permit is None:
            return False
        answer: object = self._permit(name, arguments)
        if inspect.iscoroutine(answer):  # a lambda around a coroutine function
            answer.close()
        return answer is True

    def _check_alone(self, name: str) -> None:
        if runs_under_way() and not self.reads(name):
            raise ToolRefusedError(
                f"{name}: this call changes something and does not tell which run it is of, while runs are under way; "
                "wrap the tool with as_async=True, or call it in the agent's own context"
            )

    def _call(
        self, info: RunInfo, name: str, tool: Tool, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[_Call, Callable[[], bool]]:
        """The call among those of its query, and what tells, under the call's lock, whether it is to be made now."""
        with self._lock:
            record = self._records.setdefault(info.scope, _Record())
        arguments = dict(inspect.signature(tool).bind(*args, **kwargs).arguments)
        call, history = record.call(info, name, json.dumps(arguments, sort_keys=True, default=repr))
        return call, partial(self._begin, call, arguments, record, history)

    def _begin(self, call: _Call, arguments: Mapping[str, Any], record: _Record, history: _History) -> bool:
        """Whether the tool is to be called now; else its result is known, or an error is raised."""
        name = call.key[0]
        if call.done:
            history.changes |= {call.key} & record.changes
            history.info.replays.append(name)
            return False
        if self.reads(name):
            return True
        if call.begun:
            raise ToolRefusedError(f"{name}: this call was begun in another run and its outcome is not known")
        if self.writes is Writes.STUB:
            _end(call, self._stub)
            history.info.replays.append(name)
            return False
        with record.asking:  # one at a time: of two runs that want different changes, one is asked about
            if not record.changes <= history.changes:
                raise ToolRefusedError(f"{name}: another run has changed something else for this query already")
            if record.unknown(call):
                raise ToolRefusedError(
                    f"{name}: this call was begun before, may have gone through, and is not repeated"
                )
            _check_awaited(history.info, name)
            if not self._permits(name, arguments):
                raise ToolRefusedError(f"{name}: this call changes something and was not permitted")
            _check_awaited(history.info, name)  # who is asked may take longer than the run has
            call.begun = True
            record.changes.add(call.key)
            history.changes.add(call.key)
        return True


def _end(call: _Call, result: Any) -> None:  # noqa: ANN401 - the tool's own
    call.result, call.done = _own(result), True


@contextmanager
def _outcome(call: _Call) -> Iterator[None]:
    """Keeps in mind that a tool raised."""
    try:
        yield
    except BaseException:
        call.unknown = True
        raise


def _own(result: Any) -> Any:  # noqa: ANN401 - the tool's own
    """A copy, so that no run changes what another is given; the thing itself where it cannot be copied."""
    try:
        return deepcopy(result)
    except Exception:  # whatever a foreign object raises: a connection, a generator
        return result


def _check_awaited(info: RunInfo, name: str) -> None:
    """A run that was given up changes nothing any more: its verdict is made without it."""
    given_up = info.cancelled.is_set()
    with suppress(RuntimeError):  # a thread of its own, without an event loop
        given_up = given_up or anyio.current_effective_deadline() <= anyio.current_time()
    if given_up:
        raise ToolRefusedError(f"{name}: this run has ended or was given up, and changes nothing any more")


def _also_changes(name: str) -> bool:
    """Whether a name that starts with a reading verb has one that changes something: list_and_purge."""
    words = tool_words(name)
    joined = {after for word, after in pairwise(words) if word in ("and", "or", "then")}
    return any(map(_REMOVES.fullmatch, words)) or any(map(_JOINED.fullmatch, joined))
