"""Tools behind a recorder: k runs of an agent must not send k refunds.

Within one query each distinct call of a reading tool is made once and its result given to all runs. A call that
changes something is stubbed in all runs (and can be made once, after the verdict, by `commit`), or made once after
asking. A tool that nobody knows to be reading counts as one that changes something.

What is changed is what one run would change: a run that wants another change than those made so far is refused, so that
runs which disagree on the amount don't send two refunds.

Which run a call belongs to is told by its context. A framework may call tools in threads without one, and an agent may
leave a thread behind that goes on after its run. Once runs have begun since a recorder was made, such a call is refused
where it changes something, since it could be the same refund for the fifth time. What was refused is kept: an agent may
swallow the error and answer as if it had gone through.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import partial, wraps
from typing import Any

import anyio
import anyio.to_thread

from likewise.backends.tool_classes import ClassSource
from likewise.backends.tool_names import ToolClass, only_reads
from likewise.backends.tool_rules import ToolRules
from likewise.reliability.agents import QueryScope, RunInfo, current_run, is_async, runs_under_way
from likewise.reliability.call_arguments import ToolArguments, tool_name, unwrapped
from likewise.reliability.call_record import History, QueryRecord, ToolCallOnce, copied
from likewise.reliability.under_way import Refusal, runs_begun, runs_ended, scopes_under_way
from likewise.reliability.verdict import Decision, Verdict

__all__ = ["ToolRecorder", "ToolRefusedError", "Writes"]

STUB = {"status": "noted", "note": "this call is carried out once, after all runs have been compared"}
Tool = Callable[..., Any]


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
        changes_outside: bool = False,
    ) -> None:
        """Say what is done with calls that change something.

        Args:
            writes: stub, ask or refuse.
            permit: Asked before a call that changes something, where `writes` is ask: name and arguments. A sync
                function; True permits, and nothing else does.
            reading: Names of tools that only read, whatever they are called.
            rules: Tell reading tools from others by name and annotations, for tools that are not in `reading`.
            stub: What a stubbed call returns; a note that it was noted where None.
            changes_outside: Let calls of no run change something, also after runs of a layer (of any, in this process,
                since the recorder was made). They may come from threads that agents left behind, once for each run; so
                they are refused unless this is True. While runs are under way they are refused either way.

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
        self._records: weakref.WeakKeyDictionary[QueryScope, QueryRecord] = weakref.WeakKeyDictionary()
        self._committed: dict[int, list[Any] | None] = {}
        self._committing = threading.Lock()
        self._lock = threading.Lock()
        self._tools: dict[str, Tool] = {}
        self._changes_outside, self._ended_before = changes_outside, runs_ended()
        self._others = QueryScope()

    @property
    def refused(self) -> dict[Refusal, int]:
        """Calls of no known run that were refused, and how often; those of a run stand in its verdict's metadata."""
        return self._others.refused()

    def reads(self, name: str) -> bool:
        """Whether a tool only reads. What nobody knows to do so does not."""
        if name in self._reading:
            return True
        found = self._rules.class_verdict(name)
        return found.tool_class is ToolClass.READS and (found.source is not ClassSource.VERB or only_reads(name))

    def wrap(
        self,
        tool: Tool,
        name: str | None = None,
        *,
        as_async: bool = False,
        schema: Mapping[str, Any] | None = None,
    ) -> Tool:
        """The tool behind the recorder, sync or async as it is. Before a layer's first run it works as ever.

        After it, a call outside of all runs is made if it reads, and else only where `changes_outside` says so.

        Args:
            tool: A function, a method, a partial.
            name: What it is called; its own name where None.
            as_async: Make a coroutine function of a sync tool, for frameworks that call sync tools in threads which do
                not know the run (AutoGen).
            schema: JSON schema of its arguments, where the signature does not tell their types and defaults: calls that
                differ in these alone are one call.

        Returns:
            What the agent is given in place of the tool.

        Raises:
            ValueError: The tool has no name, its name is another tool's already, or the schema is none.
            TypeError: It yields, or cannot be called: what is read piece by piece cannot be given to several runs.
        """
        called = self._enter(tool, name)
        shape = ToolArguments.of(tool, schema)
        if is_async(unwrapped(tool)):

            @wraps(tool)
            async def recorded_async(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the tool's own
                info = current_run()
                if info is None:
                    self._check_alone(called)
                    return await tool(*args, **kwargs)
                call, begins = self._call(info, called, shape, args, kwargs)
                async with call.held():
                    if begins():
                        with call.outcome():
                            call.end(await tool(*args, **kwargs))
                    return copied(call.result)

            return _named(recorded_async, tool, called)

        @wraps(tool)
        def recorded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the tool's own
            info = current_run()
            if info is None:
                self._check_alone(called)
                return tool(*args, **kwargs)
            call, begins = self._call(info, called, shape, args, kwargs)
            with call.lock:
                if begins():
                    with call.outcome():
                        call.end(_whole(tool(*args, **kwargs), called))
                return copied(call.result)

        if not as_async:
            return _named(recorded, tool, called)

        @wraps(tool)
        async def in_thread(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the tool's own
            return await anyio.to_thread.run_sync(partial(recorded, *args, **kwargs))

        return _named(in_thread, tool, called)

    def _enter(self, tool: Tool, name: str | None) -> str:
        """The name under which the tool is known from now on."""
        inner = unwrapped(tool)
        if not callable(inner):
            raise TypeError(f"a tool is a function, got {type(inner).__name__}")
        called = name or tool_name(tool)
        if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
            raise TypeError(f"{called}: a tool that yields cannot be given to several runs; let it return a list")
        known = self._tools.setdefault(called, tool)
        if _origin(unwrapped(known)) != _origin(inner):
            raise ValueError(
                f"two tools are called {called!r}, so that a call of one would be taken for the other's; "
                "give each a name of its own: wrap(tool, name=...)"
            )
        self._tools[called] = tool
        return called

    def commit(self, verdict: Verdict, *, flagged: bool = False) -> list[Any]:
        """Make the tool calls of a verdict that is served, once; for sync tools and agents that return their calls.

        Args:
            verdict: Whose calls are made. A second time nothing is made, and the results are those of the first.
            flagged: Make those of a verdict that is flagged, too.

        Returns:
            What each tool returned, in order.

        Raises:
            ToolRefusedError: The verdict is not served, a tool is not known here, is async or takes no such arguments,
                a call is not permitted, this recorder refuses all changes, or calls of this verdict were begun before
                and their outcome is not known.
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
        if is_async(unwrapped(tool)):
            raise ToolRefusedError(f"{name}: an async tool; commit makes calls of sync ones only")
        try:
            ToolArguments.of(tool).named((), arguments)
        except TypeError as problem:
            raise ToolRefusedError(f"{name}: {problem}") from None
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
        """Refuse a change that does not tell its run, if it may be of one: under way, or ended and outlived."""
        if self.reads(name):
            return
        scopes = scopes_under_way()
        if runs_under_way():
            reason = (
                "this call changes something and does not tell which run it is of, while runs are under way; "
                "wrap the tool with as_async=True, or call it in the agent's own context"
            )
        elif runs_begun() > self._ended_before and not self._changes_outside:
            reason = (
                "this call changes something and is of no run, and may come from a thread that has outlived its run; "
                "where it is your own, call the tool itself, or make the recorder with changes_outside=True"
            )
        else:
            return
        for scope in (self._others, *scopes):
            scope.note(Refusal(None, name, reason))
        raise ToolRefusedError(f"{name}: {reason}")

    def _call(
        self, info: RunInfo, name: str, shape: ToolArguments, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[ToolCallOnce, Callable[[], bool]]:
        """The call among those of its query, and what tells, under the call's lock, whether it is to be made now."""
        with self._lock:
            record = self._records.setdefault(info.scope, QueryRecord())
        arguments = shape.named(args, kwargs)
        call, history = record.call(info, name, shape.key(arguments, changes=not self.reads(name)))
        return call, partial(self._begin, call, arguments, record, history)

    def _begin(self, call: ToolCallOnce, arguments: Mapping[str, Any], record: QueryRecord, history: History) -> bool:
        """Whether the tool is to be called now; else its result is known, or an error is raised."""
        name = call.key[0]
        with _noted(history.info, name):
            return self._begins(name, call, arguments, record, history)

    def _begins(
        self, name: str, call: ToolCallOnce, arguments: Mapping[str, Any], record: QueryRecord, history: History
    ) -> bool:
        if call.done:
            history.changes |= {call.key} & record.changes
            history.info.replays.append(name)
            return False
        if self.reads(name):
            return True
        if call.begun:
            raise ToolRefusedError(f"{name}: this call was begun in another run and its outcome is not known")
        if self.writes is Writes.STUB:
            call.end(self._stub)
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


def _named(wrapper: Tool, tool: Tool, name: str) -> Tool:
    """With a name where the tool has none (a partial): frameworks tell models of tools by it."""
    if not hasattr(tool, "__name__"):
        wrapper.__name__ = name
        wrapper.__doc__ = unwrapped(tool).__doc__
    return wrapper


def _origin(function: Tool) -> tuple[object, ...]:
    """Where a function stands in the code: closures made anew for each run are one tool, two methods `send` are two."""
    names = (getattr(function, "__module__", None), getattr(function, "__qualname__", None))
    if names[1] is None:
        return type(function), *names
    return (*names, getattr(function, "__code__", None)) if "<lambda>" in names[1] else names


def _whole(result: Any, name: str) -> Any:  # noqa: ANN401 - the tool's own
    """What a sync tool returned, if it is there: a coroutine can be awaited by one run only.

    Raises:
        TypeError: It is still to be awaited; nothing of it was run.
    """
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError(f"{name}: returned a coroutine; wrap the async function itself, not a sync one around it")
    return result


def _check_awaited(info: RunInfo, name: str) -> None:
    """A run that was given up changes nothing any more: its verdict is made without it."""
    given_up = info.cancelled.is_set()
    with suppress(RuntimeError):  # a thread of its own, without an event loop
        given_up = given_up or anyio.current_effective_deadline() <= anyio.current_time()
    if given_up:
        raise ToolRefusedError(f"{name}: this run has ended or was given up, and changes nothing any more")


@contextmanager
def _noted(info: RunInfo, name: str) -> Iterator[None]:
    """Keeps for the verdict that a run was refused a call."""
    try:
        yield
    except ToolRefusedError as problem:
        info.scope.note(Refusal(info.index, name, str(problem).removeprefix(f"{name}: ")))
        raise
