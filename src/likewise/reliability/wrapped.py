"""An agent behind a layer: asks it as often as the mode wants, and lets the layer decide."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal
from anyio.lowlevel import RunVar, current_token

from likewise.backends.budget import Budget
from likewise.core.errors import UnreliableAnswerError
from likewise.reliability.account import Session
from likewise.reliability.agents import CallableAgent, SamplingAgent
from likewise.reliability.answers import Answers, run_pairs
from likewise.reliability.cancelling import until_cancelled
from likewise.reliability.handling import OnFail
from likewise.reliability.home_loop import run_at_home
from likewise.reliability.passages import Sources, check_sources
from likewise.reliability.policy import Evidence, Mode
from likewise.reliability.runner import Runner
from likewise.reliability.runs import RunRecord
from likewise.reliability.verdict import Decision, Verdict

if TYPE_CHECKING:
    from likewise.reliability.layer import ReliabilityLayer

__all__ = ["SCORING", "Sources", "WrappedAgent", "handled"]

REASK = (
    "\n\nEarlier attempts at this question came to answers that contradict each other. Work it out anew, check each "
    "step, and answer only what you can stand by."
)
SCORING = threading.Lock()
"""A judge keeps what it has read, and works on all cores: one query is scored at a time."""
_LIMITER: RunVar[anyio.CapacityLimiter] = RunVar("likewise_scoring")


def handled(verdict: Verdict, verb: OnFail | Callable[..., Any]) -> Verdict:
    """Do what the verb says, where the decision alone does not."""
    if verb is OnFail.RAISE:
        raise UnreliableAnswerError(verdict.reasons, verdict)
    if isinstance(verb, OnFail):
        return verdict
    outcome = verb(verdict)
    if isinstance(outcome, Verdict):
        return outcome
    if isinstance(outcome, str):
        return replace(verdict, answer=outcome, decision=Decision.FLAG)
    return replace(verdict, answer=None, decision=Decision.REFUSE)


class WrappedAgent:
    """An agent behind a layer; made by `ReliabilityLayer.wrap`. Safe to use from many tasks and threads at once."""

    def __init__(
        self, layer: ReliabilityLayer, agent: CallableAgent | SamplingAgent, sources: Sources, budget: Budget
    ) -> None:
        """See `ReliabilityLayer.wrap`."""
        check_sources(sources)
        self.layer, self.agent, self.sources, self.budget = layer, agent, sources, budget

    def query(self, query: Any, *, sources: Sources = None) -> Verdict:  # noqa: ANN401 - the agent's own
        """Ask once, wait for the verdict. Works in scripts and threads, and inside a running event loop.

        An async agent runs in one event loop of another thread, the same for all calls of this method, so that a client
        it holds keeps working; so does any agent inside a running loop (a notebook), where this call blocks. `await
        aquery(...)` is better there, and needed for an agent that is tied to the running loop.

        Raises:
            AgentError: Every run failed.
            UnreliableAnswerError: The handling says so.
            BackendError: The judge does not work.
            TypeError: Sources that are none; no run is made.
        """
        check_sources(sources)
        if isinstance(self.agent, CallableAgent) and self.agent.is_async:
            at_home = run_at_home(self._aquery, query, sources)
            if at_home is not None:
                return at_home
        try:
            current_token()
        except RuntimeError:
            verdict: Verdict = anyio.run(self._aquery, query, sources)
            return verdict
        with start_blocking_portal() as portal:
            future = portal.start_task_soon(self._aquery, query, sources)
            try:
                answered: Verdict = future.result()
                return answered
            except BaseException:
                future.cancel()
                raise

    async def aquery(self, query: Any, *, sources: Sources = None) -> Verdict:  # noqa: ANN401 - the agent's own
        """Ask once; see `query`. Cancelling it cancels all runs."""
        check_sources(sources)
        return await self._aquery(query, sources)

    async def _aquery(self, query: Any, sources: Sources) -> Verdict:  # noqa: ANN401 - the agent's own
        layer, sources = self.layer, self.sources if sources is None else sources
        session = Session(layer._labeller(until_cancelled), monotonic() + layer.running.deadline)
        runner = Runner(self.agent, layer.running, self.budget)
        asked = query
        while True:
            records = await self._runs(asked, session, runner)
            verdict, verb = await _scored(session, layer._verdict, query, records, session, runner, sources)
            again = verb is OnFail.REASK and session.reasked < layer.handling.reasks and runner.affordable
            if not again or monotonic() >= session.ends:
                break
            session.reasked += 1
            session.earlier += verdict.audit_trail
            asked = query + REASK if isinstance(query, str) else query
        return handled(verdict, verb)

    async def _runs(self, query: Any, session: Session, runner: Runner) -> list[RunRecord]:  # noqa: ANN401
        """All runs of one query, as many as the policy wants."""
        policy, records, evidence = self.layer.policy, list[RunRecord](), Evidence()
        while True:
            step = policy.next_step(evidence)
            session.stop = step.reason
            if step.more == 0:
                break
            if not runner.affordable:
                session.stop = f"the cost limit of {self.budget.limit:g} is reached"
                break
            if records and monotonic() >= session.ends:
                session.stop = "the deadline is reached"
                break
            began = monotonic()
            numbers = range(len(records), len(records) + step.more)
            records += await runner.run_many(query, numbers, session.ends)
            session.running += monotonic() - began
            evidence = await _scored(session, self._evidence, records, session)
        return records

    def _evidence(self, records: Sequence[RunRecord], session: Session) -> Evidence:
        if self.layer.policy.mode in (Mode.STANDARD, Mode.FULL):
            return Evidence(len(records))  # they stop by count alone
        if self.layer.policy.mode is Mode.SEQUENTIAL:  # asks for classes alone, after every run
            actions = [record.action for record in records if record.good]
            found = Answers.of(actions, session.labeller, run_pairs(len(actions)))
            classes = None if found.failures else tuple(max(kind, 0) for kind in found.classes)
            return Evidence(len(records), classes=classes)
        measured = self.layer._measure(records, session.labeller, final=False)
        return Evidence(len(records), measured.reliability.value, bool(measured.critical))


async def _scored(session: Session, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401
    """A blocking function of judging, in a thread, one at a time; ends early where the caller is cancelled."""
    try:
        limiter = _LIMITER.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _LIMITER.set(limiter)

    def locked() -> Any:  # noqa: ANN401 - as above
        with SCORING:
            session.judging_since = began = monotonic()
            try:
                return function(*args)
            finally:
                session.judging, session.judging_since = session.judging + monotonic() - began, None

    return await anyio.to_thread.run_sync(locked, limiter=limiter)
