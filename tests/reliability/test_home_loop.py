from __future__ import annotations

import asyncio
import multiprocessing
import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
from likewise.reliability.home_loop import run_at_home

LAYER = ReliabilityLayer(2, judge=TableJudge(), encoder=LetterEncoder())


async def loop_of(*_):
    return asyncio.get_running_loop()


def test_all_calls_from_all_threads_run_in_one_loop():
    loops = []
    threads = [threading.Thread(target=lambda: loops.append(run_at_home(loop_of))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(loops) == 8
    assert len(set(map(id, [*loops, run_at_home(loop_of)]))) == 1


def test_an_error_reaches_the_caller():
    async def fail():
        raise KeyError("no")

    with pytest.raises(KeyError, match="no"):
        run_at_home(fail)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_loop_that_has_died_is_made_anew():
    """An interrupt that an agent raises itself ends its event loop, and must not end those of all later queries."""

    async def interrupt():
        raise KeyboardInterrupt

    for _ in range(3):
        with pytest.raises((KeyboardInterrupt, CancelledError)):
            run_at_home(interrupt)
        for thread in threading.enumerate():
            if thread.name == "likewise-loop":
                thread.join(10)
        assert not run_at_home(loop_of).is_closed()


def test_an_async_agent_meets_the_same_loop_in_every_sync_query():
    """A client's connections belong to a loop: with a new loop for each query every second one fails."""
    loops = set()

    async def agent(query):
        loops.add(id(asyncio.get_running_loop()))
        return "Paris."

    wrapped = LAYER.wrap(agent)
    wrapped.query("?")
    wrapped.query("?")

    async def inside():
        return wrapped.query("?")

    asyncio.run(inside())
    assert len(loops) == 1


def test_a_query_inside_an_agents_own_run_does_not_wait_for_itself():
    async def inner(query):
        return "Paris."

    nested = LAYER.wrap(inner)

    async def outer(query):
        return nested.query(query).answer

    assert LAYER.wrap(outer).query("?").answer == "Paris."


PROGRAM = """
import sys
sys.path.insert(0, "tests")
from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
async def agent(query):
    return "Paris."
print(ReliabilityLayer(2, judge=TableJudge(), encoder=LetterEncoder()).wrap(agent).query("?").answer)
"""


def test_the_loop_keeps_no_program_from_ending_and_leaves_no_warning():
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "Paris.\n", "")


def _answer(queue):
    queue.put(LAYER.wrap(loop_free).query("?").answer)


async def loop_free(query):
    return "Paris."


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_makes_a_loop_of_its_own():
    LAYER.wrap(loop_free).query("?")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_answer, args=(queue,))
    child.start()
    assert queue.get(timeout=20) == "Paris."
    child.join(20)
    assert child.exitcode == 0
