"""Runs an agent several times side by side: each run isolated, bounded in time, retried where that can help.

Structured concurrency (anyio): when `run_many` returns or raises, none of its tasks is left. A failed run is a record
with its reason, never a missing one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import anyio
from anyio.lowlevel import checkpoint_if_cancelled
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from likewise.backends.budget import Budget
from likewise.reliability.agents import CallableAgent, QueryScope, RunInfo, SamplingAgent
from likewise.reliability.runs import Failure, FailureKind, OutputReader, RunRecord

__all__ = ["RunSettings", "Runner", "is_retryable"]

_RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_GRACE = 0.05
"""Share of its time that an async agent has to tidy up, so that a query ends with its deadline and a tenth."""
_LONGEST_WAIT = 60.0
"""Seconds to wait at most before a retry, whatever an endpoint asks for."""


def is_retryable(problem: BaseException) -> bool:
    """Whether trying again can help: broken connections, time-outs, and answers of an overloaded endpoint.

    An exception may say so itself: `retryable` (a flag) or `status_code` (as the clients of httpx, OpenAI and others
    have it).
    """
    flag = getattr(problem, "retryable", None)
    if isinstance(flag, bool):
        return flag
    status = getattr(problem, "status_code", None) or getattr(getattr(problem, "response", None), "status_code", None)
    if isinstance(status, int):
        return status in _RETRY_STATUS
    if isinstance(problem, ConnectionError | TimeoutError):
        return True
    return type(problem).__name__ in ("APIConnectionError", "APITimeoutError", "TransportError", "ReadTimeout")


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How runs are run.

    Attributes:
        deadline: Seconds for all runs of one query together; judging comes after and is not in it.
        run_timeout: Seconds for one run, retries included; the deadline where None.
        attempts: Calls of the agent for one run at most.
        first_wait: Mean seconds before the first retry; the following waits double, with full jitter.
        retryable: Which exceptions are worth another try.
        concurrency: Runs of one query under way at once.
        reader: How outputs are read.
        seed: Run i is told seed + i.
    """

    deadline: float = 120.0
    run_timeout: float | None = None
    attempts: int = 3
    first_wait: float = 0.5
    retryable: Callable[[BaseException], bool] = is_retryable
    concurrency: int = 16
    reader: OutputReader = field(default_factory=OutputReader)
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be.

        Raises:
            ValueError: A time that is not above 0, or a number below 1.
        """
        for name in ("deadline", "run_timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"{name} is a number of seconds above 0, got {value!r}")
        for name in ("attempts", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, got {getattr(self, name)!r}")


@dataclass(slots=True)
class Runner:
    """Runs one agent; keeps the account of all its runs.

    Attributes:
        agent: What is run.
        settings: How.
        budget: Prices and limit; no run starts once the limit is reached.
        calls: Calls of the agent so far, retries included.
        scope: The query that all its runs are of.
    """

    agent: CallableAgent | SamplingAgent
    settings: RunSettings = field(default_factory=RunSettings)
    budget: Budget = field(default_factory=Budget)
    calls: int = 0
    scope: QueryScope = field(default_factory=QueryScope)

    @property
    def abandoned(self) -> int:
        """Threads of sync agents that were given up and have not returned."""
        return self.agent.abandoned if isinstance(self.agent, CallableAgent) else 0

    @property
    def affordable(self) -> bool:
        """Whether another run may start."""
        return self.budget.limit is None or self.budget.spent < self.budget.limit

    async def run_many(self, query: Any, numbers: Iterable[int], ends: float) -> list[RunRecord]:  # noqa: ANN401
        """Run the agent once for each number.

        Args:
            query: Passed to the agent; copied for each run.
            numbers: Numbers of the runs.
            ends: When to stop waiting, on the clock of `time.monotonic`.

        Returns:
            One record a number, in order.

        Raises:
            Cancelled (of the event loop): The caller was cancelled; all runs have then ended.
        """
        wanted, records = list(numbers), dict[int, RunRecord]()
        if isinstance(self.agent, SamplingAgent) and len(wanted) > 1 and getattr(self.agent, "by_n", True):
            for record in await self._sampled(self.agent, query, wanted, ends):
                records[record.index] = record
        slots = anyio.Semaphore(self.settings.concurrency)

        async def one(number: int) -> None:
            async with slots:
                records[number] = await self._one(query, number, ends)

        async with anyio.create_task_group() as group:
            for number in wanted:
                if number not in records:
                    group.start_soon(one, number, name=f"likewise run {number}")
        for record in records.values():
            self.budget.settle(0.0, self.budget.cost(record.usage.input_tokens or 0, record.usage.output_tokens or 0))
        return [records[number] for number in wanted]

    async def _sampled(
        self,
        agent: SamplingAgent,
        query: Any,  # noqa: ANN401 - a query is the agent's own
        numbers: list[int],
        ends: float,
    ) -> list[RunRecord]:
        """Several runs by one request; what it did not give is left to single requests."""
        began, attempts = monotonic(), _Attempts()
        outcome = await self._guarded(lambda: agent.sample(query, len(numbers)), attempts, ends)
        seconds = monotonic() - began
        if isinstance(outcome, Failure):
            return [RunRecord(number, failure=outcome, seconds=seconds, attempts=attempts.made) for number in numbers]
        outputs = list(outcome) if isinstance(outcome, list | tuple) else []
        return [
            self.settings.reader.read(number, output, seconds=seconds, attempts=attempts.made)
            for number, output in zip(numbers, outputs, strict=False)
        ]

    async def _one(self, query: Any, number: int, ends: float) -> RunRecord:  # noqa: ANN401 - the agent's own
        patience = min(self.settings.run_timeout or self.settings.deadline, self.settings.deadline)
        grace = _GRACE * patience
        info = RunInfo(number, self.settings.seed + number, threading.Event(), self.scope, grace=grace)
        began, attempts = monotonic(), _Attempts()

        async def call() -> object:
            if isinstance(self.agent, CallableAgent):
                return await self.agent.run(query, replace(info, attempt=attempts.made))
            outputs = await self.agent.sample(query, 1)
            return outputs[0] if outputs else None

        try:
            outcome = await self._guarded(call, attempts, ends)
        finally:
            info.cancelled.set()
        seconds = monotonic() - began
        if isinstance(outcome, Failure):
            record = RunRecord(number, failure=outcome, seconds=seconds, attempts=attempts.made)
        else:
            record = self.settings.reader.read(number, outcome, seconds=seconds, attempts=attempts.made)
        return replace(record, replayed=len(info.replays)) if info.replays else record

    async def _guarded(self, call: Callable[[], Any], attempts: _Attempts, ends: float) -> object | Failure:
        """The output of a call that may be tried again, or the failure that it came to."""
        left = ends - monotonic()
        patience = min(left, self.settings.run_timeout or left)
        if patience <= 0:
            return Failure(FailureKind.TIMEOUT, "the deadline had passed before the run began")
        with anyio.move_on_after(patience):
            try:
                return await self._tried(call, attempts)
            except anyio.get_cancelled_exc_class() as problem:
                await checkpoint_if_cancelled()  # ours, or our caller's: goes on upward from here
                return Failure(FailureKind.CANCELLED, "the agent cancelled itself", cause=problem)
            except BaseException as problem:  # pytest.fail, the panic of a library in Rust: the run's end, not ours
                if _ends_program(problem):
                    raise
                return Failure(FailureKind.EXCEPTION, _told(problem), cause=problem)
        last = f"; the last try before: {attempts.last}" if attempts.last else ""
        return Failure(FailureKind.TIMEOUT, f"no answer within {patience:.3g} s{last}")

    async def _tried(self, call: Callable[[], Any], attempts: _Attempts) -> object:
        retrying = AsyncRetrying(
            stop=stop_after_attempt(self.settings.attempts),
            wait=self._wait,
            retry=retry_if_exception(self.settings.retryable),
            sleep=anyio.sleep,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                attempts.made += 1
                self.calls += 1
                try:
                    return await call()
                except StopAsyncIteration as problem:  # to the loop around, its own end
                    raise RuntimeError("the agent raised StopAsyncIteration") from problem
                except Exception as problem:
                    attempts.last = _told(problem)
                    raise
        raise AssertionError("unreachable: tenacity returns or raises")

    def _wait(self, state: RetryCallState) -> float:
        """Seconds until the next try: what the endpoint asks for, else growing waits with jitter."""
        problem = state.outcome.exception() if state.outcome else None
        headers = getattr(getattr(problem, "response", None), "headers", None) or {}
        try:
            asked = float(headers.get("retry-after", "nan"))
        except (TypeError, ValueError, AttributeError):
            asked = float("nan")
        if 0 <= asked <= _LONGEST_WAIT:
            return asked
        first = self.settings.first_wait
        return float(wait_random_exponential(multiplier=2 * first, max=_LONGEST_WAIT)(state))


@dataclass(slots=True)
class _Attempts:
    made: int = 0
    last: str = ""


def _ends_program(problem: BaseException) -> bool:
    """Whether it is meant for more than the run; also inside of a group."""
    if isinstance(problem, BaseExceptionGroup):
        return any(_ends_program(one) for one in problem.exceptions)
    return isinstance(problem, KeyboardInterrupt | GeneratorExit | anyio.get_cancelled_exc_class())


def _told(problem: BaseException) -> str:
    words = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {words}"[:500] if words else type(problem).__name__
