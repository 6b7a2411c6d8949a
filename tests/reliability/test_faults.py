"""Faults of sync agents, of agents behind real connections, and of time: counted, in time, and nothing is left open.

Faults of async agents, by kind and number, are in test_runner.py.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
import time

import anyio
import pytest

from judges import LetterEncoder, TableJudge
from likewise import Endpoint, ReliabilityLayer
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.reliability.agents import current_run, runs_under_way
from likewise.reliability.runner import RunSettings
from likewise.reliability.runs import FailureKind
from llm_server import Reply, refused, said, serving

HUGE = "x" * 100_000_000
DEADLINE = 3.0


def wrap(agent, **settings):
    judge = TableJudge(default=Relation.EQUIVALENT)
    running = RunSettings(**({"attempts": 1} | settings))
    return ReliabilityLayer(5, judge=judge, encoder=LetterEncoder(), running=running).wrap(agent)


def sockets():
    """Sockets that this process has open."""
    found = 0
    for name in os.listdir("/dev/fd"):
        try:
            found += stat.S_ISSOCK(os.fstat(int(name)).st_mode)
        except OSError:  # the folder's own descriptor, closed by now
            continue
    return found


def comes_true(condition, seconds=10.0):
    """Whether it does in time: the other end of a connection notices a little later."""
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        time.sleep(0.02)
    return condition()


def threads_of_runs():
    return [t for t in threading.enumerate() if t.name.startswith("likewise-run")]


# Sync agents


def hang(_):
    current_run().cancelled.wait(60)
    return "too late"


def fail(_):
    raise ValueError("no such thing")


def cancel_itself(_):
    raise asyncio.CancelledError


SYNC_FAULTS = {
    FailureKind.TIMEOUT: hang,
    FailureKind.EXCEPTION: fail,
    FailureKind.CANCELLED: cancel_itself,
    FailureKind.EMPTY: lambda _: "",
    FailureKind.MALFORMED: lambda _: '{"main_answer": ["no", "text"]}',
    FailureKind.TOO_LONG: lambda _: HUGE,
}


@pytest.mark.parametrize("kind", SYNC_FAULTS)
@pytest.mark.parametrize("failing", [2, 5])
def test_failed_runs_of_a_sync_agent_are_counted_and_their_threads_end(kind, failing):
    def agent(query):
        return SYNC_FAULTS[kind](query) if current_run().index < failing else "Paris."

    wrapped = wrap(agent, deadline=0.5)
    if failing == 5:
        with pytest.raises(AgentError, match=r"all 5 run\(s\)") as caught:
            wrapped.query("?")
        records = caught.value.records
    else:
        verdict = wrapped.query("?")
        records = verdict.records
        assert (verdict.answer, verdict.runs_agreed, verdict.runs_failed) == ("Paris.", "3/3", 2)
    assert [None if r.good else r.failure.kind for r in records] == [kind] * failing + [None] * (5 - failing)
    assert comes_true(lambda: not threads_of_runs())
    assert wrapped.agent.abandoned == 0
    assert runs_under_way() == 0


# Connections

ENDPOINTS = {
    "hangs": lambda request: Reply(200, b"{}", delay=60),
    "refuses": lambda request: refused(401),
    "breaks off": lambda request: Reply(200, b'{"choices"', {"Content-Type": "application/json"}, cut=50),
    "talks nonsense": lambda request: Reply(200, b"<html>", {"Content-Type": "text/html"}),
    "says nothing": lambda request: said(""),
    "never ends": lambda request: Reply(200, b" " * 40_000_000, {"Content-Type": "application/json"}),
    "answers": lambda request: said("Paris."),
}


def warm():
    """Open what stays for the program's life, and load the client, before sockets and seconds are counted."""
    with serving(ENDPOINTS["answers"]) as server:
        wrap(Endpoint("m", server.url, by_n=False)).query("?")
    assert comes_true(lambda: not any("process_request_thread" in t.name for t in threading.enumerate()))


@pytest.mark.parametrize("name", ENDPOINTS)
def test_no_connection_is_left_open_whatever_an_endpoint_does(name):
    warm()
    before = sockets()
    with serving(ENDPOINTS[name]) as server:
        wrapped = wrap(Endpoint("m", server.url, by_n=False), deadline=2 if name == "hangs" else 20)
        if name == "answers":
            assert wrapped.query("?").runs_agreed == "5/5"
        else:
            with pytest.raises(AgentError, match=r"all 5 run\(s\)"):
                wrapped.query("?")
        assert len(server.requests) == 5
        assert server.most_at_once > 1 or name != "hangs"
        assert comes_true(lambda: sockets() == before + 1)  # the server's own, which listens
        assert server.hung_up == (5 if name == "hangs" else 0)
    assert comes_true(lambda: sockets() == before)


def test_a_cancelled_caller_leaves_no_connection_open():
    warm()
    before = sockets()
    with serving(ENDPOINTS["hangs"]) as server:
        wrapped = wrap(Endpoint("m", server.url, by_n=False), deadline=60)

        async def main():
            async with anyio.create_task_group() as group:
                group.start_soon(wrapped.aquery, "?")
                while server.under_way < 5:
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            assert len(asyncio.all_tasks()) == 1

        asyncio.run(main())
        assert comes_true(lambda: server.hung_up == 5)
        assert comes_true(lambda: sockets() == before + 1)


# Time


async def just_in_time(_):
    await anyio.sleep(0.8 * DEADLINE)
    return "Paris."


async def never_in_time(_):
    await anyio.sleep(20 * DEADLINE)


async def mixed(_):
    await anyio.sleep(20 * DEADLINE if current_run().index < 2 else 0.8 * DEADLINE)
    return "Paris."


async def fails_late(_):
    await anyio.sleep(0.8 * DEADLINE)
    raise ValueError("no such thing")


async def fails_again_and_again(_):
    await anyio.sleep(0.05)
    raise ConnectionError("refused")


async def fails_and_hangs_in_turn(_):
    await anyio.sleep(0.05 if current_run().index % 2 else 20 * DEADLINE)
    raise ConnectionError("refused")


def waits_in_a_thread(_):
    current_run().cancelled.wait(20 * DEADLINE)
    return "too late"


OVER_TIME = {
    just_in_time: 0,
    never_in_time: 5,
    mixed: 2,
    fails_late: 5,
    fails_again_and_again: 5,
    fails_and_hangs_in_turn: 5,
    waits_in_a_thread: 5,
}
"""Agents, with the number of their runs that fail."""


def test_a_query_takes_a_tenth_more_than_the_deadline_at_most_whether_its_runs_are_slow_or_fail():
    """All agents side by side, so that the test takes one deadline."""
    wrapped = {agent: wrap(agent, deadline=DEADLINE, attempts=10_000, first_wait=0.05) for agent in OVER_TIME}
    took, failed = {}, {}

    async def ask(agent):
        began = time.monotonic()
        try:
            failed[agent] = (await wrapped[agent].aquery("?")).runs_failed
        except AgentError as problem:
            failed[agent] = len(problem.failures)
        took[agent] = time.monotonic() - began

    async def main():
        async with anyio.create_task_group() as group:
            for agent in OVER_TIME:
                group.start_soon(ask, agent)

    asyncio.run(main())
    assert failed == OVER_TIME
    assert {agent.__name__: seconds for agent, seconds in took.items() if seconds >= 1.1 * DEADLINE} == {}
    assert comes_true(lambda: not threads_of_runs())
