"""An agent as something that can be run: sync or async callable, factory, or endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import anyio
import anyio.from_thread
from anyio.lowlevel import current_token

from likewise.reliability.under_way import QueryScope, runs_under_way, under_way

__all__ = [
    "Agent",
    "CallableAgent",
    "QueryScope",
    "RunInfo",
    "SamplingAgent",
    "as_agent",
    "current_run",
    "is_async",
    "runs_under_way",
]

Agent: TypeAlias = Callable[[Any], Any] | Callable[[Any], Awaitable[Any]]
"""What a user wraps: takes the query, returns text, fields, a message or an `AgentOutput`."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """Which run is under way.

    Attributes:
        index: Its number.
        seed: For an agent that takes one.
        cancelled: Set when nobody waits for the run any more.
        scope: The query that it is a run of.
        replays: Names of tools whose calls were answered from the record or by a stub.
        attempt: Which try it is; 2 and more after a passing error.
        grace: Seconds that an async agent has to tidy up once nobody waits for its answer.
    """

    index: int
    seed: int
    cancelled: threading.Event
    scope: QueryScope = field(default_factory=QueryScope)
    replays: list[str] = field(default_factory=list)
    attempt: int = 1
    grace: float = 1.0


_RUN: ContextVar[RunInfo | None] = ContextVar("likewise_run", default=None)


def current_run() -> RunInfo | None:
    """The run that the calling code is part of; None outside of one."""
    return _RUN.get()


@runtime_checkable
class SamplingAgent(Protocol):
    """An agent that can give several samples for one request (`n=` of an endpoint)."""

    async def sample(self, query: Any, count: int) -> Sequence[object]:  # noqa: ANN401 - a query is the agent's own
        """`count` outputs; fewer where the endpoint gives fewer, and the rest is then asked for."""
        ...


@dataclass(slots=True)
class CallableAgent:
    """Runs a callable once: a coroutine function in a task, anything else in a thread of its own.

    Threads are daemons: an agent that hangs in foreign code cannot be stopped from outside, and must not keep the
    program from ending. It is told (`current_run().cancelled`), given up, and counted as abandoned until it returns.
    So is a coroutine that goes on although its task was cancelled. What an agent shields from its own scopes (the
    threads of anyio and of web frameworks, above all) is not shielded from the end of its run.
    """

    function: Callable[[Any], Any]
    abandoned: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def is_async(self) -> bool:
        """Whether it runs in the event loop."""
        return is_async(self.function)

    async def run(self, query: Any, info: RunInfo) -> object:  # noqa: ANN401 - a query is the agent's own
        """One output. The query is copied, so that one run cannot change what another is asked."""
        own = query if isinstance(query, str) else _copied(query)
        with under_way(info.scope):
            return await self._run(own, info)

    async def _run(self, own: object, info: RunInfo) -> object:
        if self.is_async:
            return await self._in_task(own, info)
        result = await self._in_thread(own, info)
        if inspect.isawaitable(result):  # a lambda or a partial around a coroutine function
            return await result
        return result

    async def _in_task(self, query: object, info: RunInfo) -> object:
        outcome, context = _Outcome(), contextvars.copy_context()

        async def work() -> None:
            _RUN.set(info)
            try:
                outcome.value = await self.function(query)
            except asyncio.CancelledError:
                raise
            except BaseException as problem:  # sys.exit() in a task would end the loop around
                outcome.fail(problem)
            finally:
                self._ended(outcome)

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # Trio, whose tasks cannot be left behind
            await work()
            return outcome.result()
        task = loop.create_task(work(), name=f"likewise-run-{info.index}", context=context)
        try:
            await asyncio.wait({task})
        except BaseException:
            info.cancelled.set()
            task.cancel()
            with anyio.move_on_after(info.grace, shield=True):
                await asyncio.wait({task})
            self._left(outcome)
            raise
        if task.cancelled():
            raise asyncio.CancelledError
        return outcome.result()

    def _ended(self, outcome: _Outcome) -> None:
        with self._lock:
            outcome.ended = True
            self.abandoned -= outcome.left

    def _left(self, outcome: _Outcome) -> None:
        with self._lock:
            outcome.left = not outcome.ended
            self.abandoned += outcome.left

    async def _in_thread(self, query: object, info: RunInfo) -> object:
        done, outcome = anyio.Event(), _Outcome()
        loop, context = current_token(), contextvars.copy_context()

        def work() -> None:
            try:
                outcome.value = context.run(_with_info, self.function, query, info)
            except BaseException as problem:  # sys.exit() in an agent ends the run, not the program
                outcome.fail(problem)
            finally:
                self._ended(outcome)
                if not outcome.left:
                    with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
                        anyio.from_thread.run_sync(done.set, token=loop)

        threading.Thread(target=work, name=f"likewise-run-{info.index}", daemon=True).start()
        try:
            await done.wait()
        except BaseException:
            info.cancelled.set()
            self._left(outcome)
            raise
        return outcome.result()


def _copied(query: Any) -> Any:  # noqa: ANN401 - a query is the agent's own
    try:
        return deepcopy(query)
    except Exception as problem:  # whatever a foreign object raises: a connection, a lock, a generator
        raise TypeError(f"the query cannot be copied, and each run is given its own ({problem}); ask data") from problem


@dataclass(slots=True)
class _Outcome:
    value: object = None
    problem: BaseException | None = None
    left: bool = False
    ended: bool = False

    def fail(self, problem: BaseException) -> None:
        """Keep what the agent raised; a GeneratorExit, which would close whatever awaits the result, as its cause."""
        self.problem = problem
        if isinstance(problem, GeneratorExit):
            self.problem = RuntimeError("the agent raised GeneratorExit")
            self.problem.__cause__ = problem

    def result(self) -> object:
        """What came of it, once it has ended."""
        if self.problem is not None:
            raise self.problem
        return self.value


def _with_info(function: Callable[[Any], Any], query: object, info: RunInfo) -> object:
    _RUN.set(info)
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:  # the context of a loop was copied: an agent may start a loop of its own in this thread
        sniffio.current_async_library_cvar.set(None)
    return function(query)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, as far as it can be told without calling it."""
    call = getattr(function, "__call__", None)  # noqa: B004 - the method of an object that is callable
    return inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(call)


def as_agent(agent: object) -> CallableAgent | SamplingAgent:
    """What the runner takes; agents of frameworks are known by their classes.

    Raises:
        TypeError: It can be neither called nor sampled, and is no framework's.
    """
    if isinstance(agent, SamplingAgent):
        return agent
    from likewise.reliability.integrations.registry import adapted  # here, since adapters know what agents return

    function = adapted(agent)
    if function is not None:
        return CallableAgent(function)
    if callable(agent):
        return CallableAgent(agent)
    raise TypeError(
        f"an agent is a function of the query (sync or async), an Endpoint or an agent of a framework, "
        f"got {type(agent).__name__}; wrap what it has: lambda query: my_agent.run(query)"
    )
