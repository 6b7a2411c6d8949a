"""One story for all frameworks: a model at a local endpoint that refunds an order by a tool, and a shop that counts."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace

from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
from likewise.core.labels import Relation
from likewise.reliability.replay import ToolRecorder
from likewise.reliability.runner import RunSettings
from llm_server import Reply, refused
from llm_server import said as kept_alive

KEY = "sk-of-a-test-0123456789"


def layer(runs=5, deadline=60.0, **more):
    return ReliabilityLayer(
        runs,
        judge=TableJudge(default=Relation.EQUIVALENT),
        encoder=LetterEncoder(),
        running=RunSettings(deadline=deadline, attempts=1),
        **more,
    )


def said(content, **more) -> Reply:
    """A completion after which the connection ends: frameworks keep clients of their own, which nobody can close."""
    reply = kept_alive(content, **more)
    return replace(reply, headers={**reply.headers, "Connection": "close"})


def plain(request) -> Reply:
    """Says what it was asked; and how many messages of a user it was sent, so that a leak between runs shows."""
    users = [m for m in request.body["messages"] if m["role"] == "user"]
    return replace(said(f"{len(users)} asked.", usage=(100, 10)), delay=0.2)


def refunding(request) -> Reply:
    """Calls the refund tool first, then says what it returned."""
    last = request.body["messages"][-1]
    if last["role"] == "tool":
        content = last["content"]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        return said(f"Refunded: {text}", usage=(100, 10))
    call = {"id": "call_1", "type": "function", "function": {"name": "refund_order", "arguments": '{"order_id": "7"}'}}
    return said(None, usage=(100, 10), reason="tool_calls", tool_calls=[call])


def fields(request) -> Reply:
    """Answers in fields, as text or by the tool that a framework adds for it."""
    answer = {"main_answer": "Paris.", "key_findings": ["It is the capital."]}
    tools = [tool["function"]["name"] for tool in request.body.get("tools") or ()]
    if tools and request.body["messages"][-1]["role"] != "tool":
        call = {"id": "c", "type": "function", "function": {"name": tools[0], "arguments": json.dumps(answer)}}
        return said(None, reason="tool_calls", tool_calls=[call])
    return said(json.dumps(answer))


def wrong_key(request) -> Reply:
    reply = refused(401, "wrong key")
    return replace(reply, headers={**reply.headers, "Connection": "close"})


class Shop:
    """A tool that changes something, behind a recorder that asks; counts how often it is really called, and where."""

    def __init__(self) -> None:
        self.hits, self.asked, self._lock = Counter(), [], threading.Lock()
        self.recorder = ToolRecorder("ask", permit=self._permit)

    def _permit(self, name, arguments):
        self.asked.append((name, dict(arguments)))
        return True

    def refund_tool(self, **how):
        def refund_order(order_id: str) -> str:
            """Refund an order.

            Args:
                order_id: Its number.
            """
            with self._lock:
                self.hits[order_id] += 1
            return "done"

        return self.recorder.wrap(refund_order, **how)


def left_behind():
    return [thread for thread in threading.enumerate() if thread.name.startswith("likewise-run")]


def check_plain(agent, server, runs=5):
    """Every run is asked once, on its own, and its tokens are counted."""
    verdict = layer(runs).wrap(agent).query("Capital of France?")
    assert {record.text for record in verdict.records} == {"1 asked."}, [r.as_json() for r in verdict.records]
    assert verdict.runs_agreed == f"{runs}/{runs}"
    assert verdict.metadata["usage"] == {"input_tokens": 100 * runs, "output_tokens": 10 * runs}
    assert len(server.requests) == runs
    assert server.most_at_once > 1  # side by side
    return verdict


def check_refund(agent, shop, server):
    """Five runs call the refund tool, the shop is hit once, after asking once."""
    verdict = layer().wrap(agent).query("Refund order 7")
    assert shop.hits == {"7": 1}
    assert shop.asked == [("refund_order", {"order_id": "7"})]
    assert {record.text for record in verdict.records} == {"Refunded: done"}, [r.as_json() for r in verdict.records]
    assert len(verdict.metadata["replayed_runs"]) == 4
    assert len(server.requests) == 10
