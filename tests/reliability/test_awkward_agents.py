"""Agents that behave as agents do: each is answered in words, or worked with; none ends a query or another's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from dataclasses import dataclass

import anyio
import pytest
from pydantic import BaseModel

from judges import LetterEncoder, TableJudge
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.core.rollout import Action, ToolCall
from likewise.reliability.agents import current_run
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.runner import RunSettings
from likewise.reliability.runs import AgentOutput

LAYER = ReliabilityLayer(
    3,
    judge=TableJudge(default=Relation.EQUIVALENT),
    encoder=LetterEncoder(),
    running=RunSettings(deadline=20, attempts=1),
)


class Fields(BaseModel):
    main_answer: str


class Other(BaseModel):
    total: int


@dataclass
class Data:
    main_answer: str
    key_findings: list[str]


@pytest.mark.parametrize(
    ("returned", "answer"),
    [
        (Fields(main_answer="Paris."), "Paris."),
        (Data("Paris.", ["It is."]), "Paris."),
        ({"main_answer": "Paris."}, "Paris."),
        ({"role": "assistant", "content": "Paris."}, "Paris."),
        ({"content": [{"type": "text", "text": "Par"}, {"type": "image"}, {"type": "text", "text": "is."}]}, "Paris."),
        ({"content": ["Par", "is."]}, "Paris."),
        ("bad \ud800 half", "bad \ud800 half"),
        ("nul \x00 inside", "nul \x00 inside"),
    ],
)
def test_what_agents_return_is_read(returned, answer):
    verdict = LAYER.wrap(lambda query: returned).query("?")
    assert (verdict.answer, verdict.runs_agreed) == (answer, "3/3")
    json.dumps(verdict.as_json(), allow_nan=False)


def pieces():
    yield "Par"
    yield "is."


async def pieces_later():
    yield "Paris."


cyclic = {"main_answer": "Paris."}
cyclic["self"] = cyclic


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (lambda: None, "wrong type: the agent returned NoneType; expected text, fields or a message"),
        (lambda: 42, "wrong type: the agent returned int"),
        (lambda: b"Paris.", "wrong type: the agent returned bytes"),
        (pieces, "wrong type: the agent returned generator; .*; join what it yields into one text"),
        (pieces_later, "wrong type: the agent returned async_generator; .*; join what it yields into one text"),
        (lambda: Fields, "wrong type: the agent returned ModelMetaclass"),
        (lambda: Other(total=1), 'malformed: no "main_answer" in the object; it has total'),
        (dict, 'malformed: no "main_answer" in the object; it has nothing'),
        (lambda: {"content": [{"text": 3}]}, "malformed: a message's content is neither text nor parts with a text"),
        (lambda: {"content": 3}, "malformed: a message's content"),
        (lambda: cyclic, "malformed: the output could not be read: ValueError: Circular reference"),
        (lambda: {"main_answer": "x", "junk": "y" * 10**7}, "too long: the output has 10,000,000 characters"),
        (lambda: {"main_answer": "x", "key_findings": ["One. Two."] * 10**5}, "too long: the output has 1,300,0"),
        (lambda: call(object()), "malformed: the arguments of a tool call cannot be written as JSON: Object of"),
        (lambda: call({"a": object()}), "malformed: the arguments of a tool call cannot be written as JSON: Object of"),
        (
            lambda: call({"a": float("nan")}),
            "malformed: the arguments of a tool call cannot be written as JSON: Out of",
        ),
        (lambda: Action("", (ToolCall("pay", {"a": {1, 2}}),)), "malformed: the arguments of a tool call cannot be"),
        (
            lambda: AgentOutput("x", meta={"client": object()}),
            "malformed: what the agent says of its run .meta. cannot",
        ),
    ],
)
def test_what_cannot_be_read_is_a_failed_run_that_says_why(returned, told):
    """And no error of the layer: the audit log is JSON, and every query ends in it."""
    with pytest.raises(AgentError, match=f"all 3 .* 3 x {told}") as caught:
        LAYER.wrap(lambda query: returned()).query("?")
    json.dumps([record.as_json() for record in caught.value.records], allow_nan=False)


def call(arguments):
    return {"tool_calls": [{"function": {"name": "pay", "arguments": arguments}}]}


def test_arguments_are_kept_as_json_has_them():
    verdict = LAYER.wrap(lambda query: call({3: (1, 2)})).query("?")
    assert verdict.tool_calls == (ToolCall("pay", {"3": [1, 2]}),)
    assert LAYER.wrap(lambda query: call(None)).query("?").tool_calls == (ToolCall("pay", {}),)
    assert LAYER.wrap(lambda query: call([1, 2])).query("?").tool_calls == (ToolCall("pay", "[1, 2]"),)


class NoWordsError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class NoFacesError(Exception):
    def __getattr__(self, name):
        raise RuntimeError(f"no {name}")


def without_end(query):
    return without_end(query)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (lambda: StopIteration("x"), "RuntimeError: coroutine raised StopIteration"),
        (lambda: StopAsyncIteration("x"), "RuntimeError: the agent raised StopAsyncIteration"),
        (NoWordsError, "no words"),
        (NoFacesError, "no retryable"),
        (lambda: ExceptionGroup("two", [ValueError("a"), KeyError("b")]), "ExceptionGroup: two"),
    ],
)
def test_strange_errors_end_their_run_alone(problem, told, is_async):
    def agent(query):
        if current_run().index == 1 or query == "all":
            raise problem()
        return "Paris."

    async def agent_async(query):
        return agent(query)

    wrapped = LAYER.wrap(agent_async if is_async else agent)
    verdict = wrapped.query("?")
    assert (verdict.answer, verdict.runs_agreed, verdict.runs_failed) == ("Paris.", "2/2", 1)
    assert told in str(verdict.records[1].failure)
    with pytest.raises(AgentError, match=r"all 3 run\(s\)"):
        wrapped.query("all")


def test_a_thread_has_nothing_to_close_so_that_generator_exit_ends_its_run():
    def agent(query):
        raise GeneratorExit

    with pytest.raises(AgentError, match="3 x exception: RuntimeError: the agent raised GeneratorExit"):
        LAYER.wrap(agent).query("?")


def test_an_agent_that_calls_itself_without_end_is_a_failed_run():
    with pytest.raises(AgentError, match="RecursionError"):
        LAYER.wrap(without_end).query("?")


def test_a_query_that_cannot_be_copied_says_so():
    with pytest.raises(AgentError, match="TypeError: the query cannot be copied, and each run is given its own"):
        LAYER.wrap(lambda query: "Paris.").query({"lock": threading.Lock()})


# Loops and threads of its own


async def work():
    await anyio.sleep(0.01)
    return "Paris."


@pytest.mark.parametrize("inner", [lambda: anyio.run(work), lambda: asyncio.run(work())], ids=["anyio", "asyncio"])
def test_a_sync_agent_may_run_a_loop_of_its_own(inner):
    """`anyio.run` refuses a thread in which a library says that its loop runs; the layer's own is not the thread's."""
    assert LAYER.wrap(lambda query: inner()).query("?").runs_agreed == "3/3"
    assert asyncio.run(LAYER.wrap(lambda query: inner()).aquery("?")).runs_agreed == "3/3"


def test_a_wrapped_agent_may_ask_another():
    inner = LAYER.wrap(lambda query: f"answer to {query}")
    assert LAYER.wrap(lambda query: inner.query(query).answer).query("q").answer == "answer to q"

    async def outer(query):
        return (await inner.aquery(query)).answer

    assert LAYER.wrap(outer).query("q").answer == "answer to q"

    async def outer_that_waits(query):
        return inner.query(query).answer

    assert LAYER.wrap(outer_that_waits).query("q").answer == "answer to q"


def test_an_agent_of_another_threads_loop_is_awaited_there():
    """A client that lives in the loop of a program's main thread, asked from the layer's threads."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        wrapped = LAYER.wrap(lambda query: asyncio.run_coroutine_threadsafe(work(), loop).result())
        assert wrapped.query("?").runs_agreed == "3/3"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_tasks_and_threads_that_an_agent_leaves_behind_keep_no_query_waiting():
    stop = threading.Event()

    async def agent(query):
        threading.Thread(target=stop.wait, args=(10,), daemon=True).start()
        agent.tasks.append(asyncio.create_task(asyncio.sleep(10)))
        return "Paris."

    agent.tasks = []

    async def main():
        with anyio.fail_after(10):
            verdict = await LAYER.wrap(agent).aquery("?")
        for task in agent.tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        return verdict

    assert asyncio.run(main()).runs_agreed == "3/3"
    stop.set()


def test_state_that_runs_share_is_the_agents_own_and_what_is_asked_is_not():
    """The layer copies the query; a counter that an agent keeps counts on, and shows as the difference that it is."""
    counted = []

    def agent(query):
        query["seen"] = counted.append(1)
        return f"call {len(counted)}: {sorted(query)}"

    layer = ReliabilityLayer(3, judge=TableJudge(), running=RunSettings(concurrency=1))
    asked = {"text": "?"}
    verdict = layer.wrap(agent).query(asked)
    assert asked == {"text": "?"}
    assert [record.text for record in verdict.records] == [f"call {n}: ['seen', 'text']" for n in (1, 2, 3)]
    assert verdict.reliability == 0.0
