"""Runs that write one call in different ways, in loops and threads of their own, make it once."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import anyio
import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.reliability.agents import current_run
from likewise.reliability.call_record import ToolCallOnce
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.replay import ToolRecorder, ToolRefusedError
from likewise.reliability.runner import RunSettings

LAYER = ReliabilityLayer(
    5,
    judge=TableJudge(default=Relation.EQUIVALENT),
    encoder=LetterEncoder(),
    running=RunSettings(deadline=20, attempts=1),
)


def asking():
    """A recorder that permits all, and what it was asked."""
    asked = []

    def permit(name, arguments):
        asked.append(arguments)
        return True

    return ToolRecorder("ask", permit=permit), asked


def test_one_change_in_five_spellings_is_asked_about_and_made_once():
    """A default left out or written, a number or the string that spells it, by place or by name."""
    recorder, asked = asking()
    sent = []

    def refund_order(order_id, amount=10):
        sent.append((order_id, amount))
        return "done"

    refund = recorder.wrap(refund_order)
    spellings = [
        lambda: refund("7"),
        lambda: refund(7),
        lambda: refund("7", 10),
        lambda: refund(order_id="7", amount="10"),
        lambda: refund("7", amount=10.0),
    ]
    verdict = LAYER.wrap(lambda query: spellings[current_run().index]()).query("Refund 7")
    assert (verdict.answer, verdict.runs_agreed, verdict.runs_failed) == ("done", "5/5", 0)
    assert len(sent) == len(asked) == 1
    assert {str(asked[0]["order_id"]), str(asked[0]["amount"]).removesuffix(".0")} == {
        "7",
        "10",
    }  # the default is shown


def test_a_schema_makes_one_call_of_what_a_function_of_anything_is_given():
    recorder, _ = asking()
    sent = []

    def call_tool(**arguments):
        sent.append(arguments)
        return "done"

    schema = {"properties": {"order": {"type": "string"}, "amount": {"type": "number", "default": 10}}}
    refund = recorder.wrap(call_tool, "refund_order", schema=schema)
    given = [{"order": "7"}, {"order": 7, "amount": 10}, {"order": "7", "amount": "10"}, {"order": 7}, {"order": "7"}]
    assert LAYER.wrap(lambda query: refund(**given[current_run().index])).query("Refund 7").runs_failed == 0
    assert len(sent) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_partial_is_recorded_under_the_name_of_its_function_with_what_it_fixes(is_async):
    recorder, asked = asking()
    sent = []

    def refund_order(shop, order_id):
        """Refund an order."""
        sent.append((shop, order_id))
        return "done"

    async def refund_order_async(shop, order_id):
        """Refund an order."""
        return refund_order(shop, order_id)

    function = refund_order_async if is_async else refund_order
    north, south = recorder.wrap(partial(function, "north")), recorder.wrap(partial(function, shop="south"))
    assert (north.__name__, north.__doc__) == (function.__name__, "Refund an order.")

    async def agent(query):
        results = [tool(order_id="7") for tool in (north, south)]
        return " ".join([await result if is_async else result for result in results])

    assert LAYER.wrap(agent).query("Refund 7").answer == "done done"
    assert sorted(sent) == [("north", "7"), ("south", "7")]  # of two shops, two changes
    assert sorted(each["shop"] for each in asked) == ["north", "south"]


def test_two_tools_of_one_name_are_refused_and_one_that_is_made_anew_for_each_run_is_not():
    class Mail:
        def send(self, text): ...

    class Letter:
        def send(self, text): ...

    recorder = ToolRecorder()
    recorder.wrap(Mail().send)
    recorder.wrap(Mail().send)
    with pytest.raises(ValueError, match="two tools are called 'send'"):
        recorder.wrap(Letter().send)
    recorder.wrap(Letter().send, "send_letter")
    with pytest.raises(ValueError, match="two tools are called 'pay'"):
        [recorder.wrap(tool, "pay") for tool in (lambda x: x, lambda y: y)]

    def made_anew(query):
        def refund_order(order_id):
            return f"refunded {order_id}"

        return recorder.wrap(refund_order)("7")["status"]

    assert LAYER.wrap(made_anew).query("?").answer == "noted"


def test_tools_that_cannot_be_given_to_several_runs_are_refused_with_the_reason():
    def pages():
        yield "one"

    async def pages_later():
        yield "one"

    async def look():
        return "paid"

    for tool in (pages, pages_later):
        with pytest.raises(TypeError, match="a tool that yields"):
            ToolRecorder().wrap(tool)
    with pytest.raises(TypeError, match="a tool is a function, got int"):
        ToolRecorder().wrap(3)
    hidden = ToolRecorder().wrap(lambda: look(), "get_order")
    with pytest.raises(AgentError, match="get_order: returned a coroutine; wrap the async function itself"):
        LAYER.wrap(lambda query: hidden()).query("?")


def test_sync_agents_with_an_event_loop_each_share_one_async_call():
    """A lock of one loop cannot wake a task of another: five runs would wait until the deadline."""
    made = []

    async def get_order(order_id):
        made.append(order_id)
        await asyncio.sleep(0.2)
        return "paid"

    look = ToolRecorder().wrap(get_order)
    began = time.monotonic()
    verdict = LAYER.wrap(lambda query: asyncio.run(look("7"))).query("?")
    assert (verdict.answer, verdict.runs_agreed) == ("paid", "5/5")
    assert made == ["7"]
    assert time.monotonic() - began < 10


def test_a_run_that_waits_for_anothers_call_lets_its_loop_go_on_and_can_be_cancelled():
    call, seen = ToolCallOnce(("get_order", "{}", 0)), []

    async def wait(scope):
        with scope:
            async with call.held():
                seen.append("held")

    async def main():
        async with call.held(), anyio.create_task_group() as group:
            scope = anyio.CancelScope()
            group.start_soon(wait, scope)
            await anyio.sleep(0.1)
            scope.cancel()
        async with call.held():  # nobody holds it any more
            seen.append("free")

    asyncio.run(main())
    assert seen == ["free"]


def refund_call(**arguments):
    return {"content": "", "tool_calls": [{"function": {"name": "refund_order", "arguments": arguments}}]}


def test_a_commit_makes_no_call_at_all_where_one_cannot_be_made():
    """Half of an answer's calls made, and the other half not, is worse than none."""
    sent = []

    async def later(order_id): ...

    for tool, told in ((later, "an async tool"), (lambda order, amount: sent.append(order), "missing a required")):
        recorder = ToolRecorder()
        recorder.wrap(tool, "refund_order")
        recorder.wrap(sent.append, "note")
        both = refund_call(order_id="7")
        both["tool_calls"].insert(0, {"function": {"name": "note", "arguments": {}}})
        with pytest.raises(ToolRefusedError, match=told):
            recorder.commit(LAYER.score([refund_call(order_id="7")] * 3))
        with pytest.raises(ToolRefusedError):
            recorder.commit(LAYER.score([both] * 3))
    assert sent == []
