"""Replaying without harm: a refund endpoint that really counts its hits."""

from __future__ import annotations

import threading
import urllib.request
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.reliability.agents import current_run
from likewise.reliability.handling import Handling
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.replay import STUB, ToolRecorder, ToolRefusedError
from likewise.reliability.runner import RunSettings

LAYER = ReliabilityLayer(5, judge=TableJudge(default=Relation.EQUIVALENT), encoder=LetterEncoder())


@contextmanager
def shop():
    """A shop on a local port: `hits` counts what it was asked for."""
    hits = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            hits[self.path] += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"done")

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()

    def get(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}") as answer:
            return answer.read().decode()

    try:
        yield hits, get
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def agent_of(recorder, get):
    def get_order(order_id):
        return get(f"/order/{order_id}")

    def refund_order(order_id, amount=10):
        return get(f"/refund/{order_id}/{amount}")

    look, refund = recorder.wrap(get_order), recorder.wrap(refund_order)

    def agent(query):
        look("7")
        return f"Refunded: {refund('7', amount=10)}"

    return agent


def test_without_a_recorder_five_runs_send_five_refunds():
    """The fault itself: what the recorder is for."""
    with shop() as (hits, get):
        LAYER.wrap(lambda query: f"Refunded: {get('/refund/7/10')}").query("Refund 7")
    assert hits["/refund/7/10"] == 5


def test_a_stubbed_refund_is_never_sent_and_reads_are_made_once():
    with shop() as (hits, get):
        verdict = LAYER.wrap(agent_of(ToolRecorder(), get)).query("Refund 7")
    assert hits == {"/order/7": 1}
    assert str(STUB) in verdict.answer
    assert verdict.metadata["replayed_runs"] == [0, 1, 2, 3, 4]
    assert sorted(record.replayed for record in verdict.records) == [1, 2, 2, 2, 2]  # one run made the read


def test_a_permitted_refund_is_sent_once_for_all_runs_and_asked_about_once():
    asked = []

    def permit(name, arguments):
        asked.append((name, arguments))
        return True

    with shop() as (hits, get):
        verdict = LAYER.wrap(agent_of(ToolRecorder("ask", permit=permit), get)).query("Refund 7")
    assert hits == {"/order/7": 1, "/refund/7/10": 1}
    assert asked == [("refund_order", {"order_id": "7", "amount": 10})]
    assert verdict.answer == "Refunded: done"


@pytest.mark.parametrize("recorder", [ToolRecorder("refuse"), ToolRecorder("ask", permit=lambda *_: False)])
def test_a_refund_that_is_not_permitted_is_not_sent(recorder):
    with shop() as (hits, get), pytest.raises(AgentError, match="refund_order: this call changes something"):
        LAYER.wrap(agent_of(recorder, get)).query("Refund 7")
    assert hits == {"/order/7": 1}


def test_runs_that_disagree_on_the_amount_send_one_refund_and_the_others_are_refused():
    asked = []

    def permit(name, arguments):
        asked.append(arguments["amount"])
        return True

    with shop() as (hits, get):
        recorder = ToolRecorder("ask", permit=permit)
        refund = recorder.wrap(lambda order_id, amount: get(f"/refund/{order_id}/{amount}"), "refund_order")
        amounts = (10, 12, 10, 12, 10)
        verdict = LAYER.wrap(lambda query: f"Refunded: {refund('7', amounts[current_run().index])}").query("Refund 7")
    assert sum(hits.values()) == len(asked) == 1
    same = amounts.count(asked[0])
    assert (verdict.runs_agreed, verdict.runs_failed) == (f"{same}/{same}", 5 - same)
    assert {str(r.failure) for r in verdict.records if not r.good} == {
        "exception: ToolRefusedError: refund_order: another run has changed something else for this query already"
    }


def test_changes_that_follow_one_another_are_made_once_each_by_whichever_run_comes_first():
    with shop() as (hits, get):
        recorder = ToolRecorder("ask", permit=lambda *_: True)
        change = recorder.wrap(lambda what: get(f"/{what}"), "refund_order")

        def agent(query):
            return f"{change('cancel')} {change('refund')} {change('refund')}"  # the second refund is a second one

        verdict = LAYER.wrap(agent).query("Refund 7")
    assert verdict.runs_agreed == "5/5"
    assert hits == {"/cancel": 1, "/refund": 2}


def test_a_run_may_go_on_with_other_changes_after_its_own_call_failed_and_no_other_run_may():
    with shop() as (hits, get):
        recorder = ToolRecorder("ask", permit=lambda *_: True)

        def refund_order(way):
            if way == "card":
                raise ConnectionError("the line broke")
            return get(f"/refund/{way}")

        refund = recorder.wrap(refund_order)

        def agent(query):
            try:
                return refund("card")
            except ConnectionError:
                return refund("cheque")

        verdict = LAYER.wrap(agent).query("Refund 7")
    assert hits == {"/refund/cheque": 1}
    assert (verdict.runs_agreed, verdict.runs_failed) == ("1/1", 4)


def test_a_second_asking_sends_no_second_refund():
    """The runs of the second asking have the numbers of the first."""
    answers = iter(["yes", "no", "yes", "yes"])
    clash = TableJudge({("yes", "no"): Relation.CONTRADICTORY})
    layer = ReliabilityLayer(2, judge=clash, handling=Handling(critical="reask"), running=RunSettings(concurrency=1))
    with shop() as (hits, get):
        refund = ToolRecorder("ask", permit=lambda *_: True).wrap(lambda: get("/refund"), "refund_order")

        def agent(query):
            refund()
            return next(answers)

        verdict = layer.wrap(agent).query("Refund 7")
    assert verdict.answer == "yes"
    assert next(answers, None) is None  # it was asked twice
    assert hits == {"/refund": 1}


def test_each_query_has_its_own_record_and_a_tool_works_as_ever_outside():
    with shop() as (hits, get):
        recorder = ToolRecorder()
        wrapped = LAYER.wrap(agent_of(recorder, get))
        wrapped.query("Refund 7")
        wrapped.query("Refund 7")
        assert hits["/order/7"] == 2
        recorder.wrap(lambda: get("/direct"), "refund_order")()
        assert hits["/direct"] == 1


def test_a_call_from_a_thread_that_does_not_know_its_run_is_refused_where_it_changes_something():
    """A framework with threads of its own: the recorder cannot tell the fifth refund from the first."""
    with shop() as (hits, get):
        recorder = ToolRecorder("ask", permit=lambda *_: True)
        refund = recorder.wrap(lambda order: get(f"/refund/{order}"), "refund_order")
        look = recorder.wrap(lambda order: get(f"/order/{order}"), "get_order")

        def elsewhere(tool):
            outcome = []

            def work():
                try:
                    outcome.append(tool("7"))
                except ToolRefusedError as problem:
                    outcome.append(str(problem))

            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            return outcome[0]

        verdict = LAYER.wrap(lambda query: f"{elsewhere(look)}: {elsewhere(refund)}").query("Refund 7")
        assert hits == {"/order/7": 5}  # reads do no harm
        assert "refund_order: this call changes something and does not tell which run it is of" in verdict.answer
        assert elsewhere(refund) == "done"  # no runs are under way


def test_a_sync_tool_made_async_is_recorded():
    with shop() as (hits, get):
        recorder = ToolRecorder("ask", permit=lambda *_: True)
        refund = recorder.wrap(lambda order: get(f"/refund/{order}"), "refund_order", as_async=True)

        async def agent(query):
            return await refund("7")

        assert LAYER.wrap(agent).query("Refund 7").answer == "done"
        assert hits == {"/refund/7": 1}


def test_an_agent_that_polls_sees_each_of_its_polls():
    states = iter(["queued", "done"])
    status = ToolRecorder(reading=("poll",)).wrap(lambda: next(states), "poll")
    verdict = LAYER.wrap(lambda query: f"{status()} {status()}").query("?")
    assert {record.text for record in verdict.records} == {"queued done"}


def test_async_tools_are_recorded_too():
    made = []

    async def get_order(order_id):
        made.append(order_id)
        await anyio.sleep(0.01)
        return "paid"

    look = ToolRecorder().wrap(get_order)

    async def agent(query):
        return await look("7")

    assert LAYER.wrap(agent).query("?").answer == "paid"
    assert made == ["7"]


def test_a_refund_whose_outcome_is_not_known_is_not_sent_again():
    sent = []

    def refund_order(order_id):
        sent.append(order_id)
        raise ConnectionError("the line broke")

    refund = ToolRecorder("ask", permit=lambda *_: True).wrap(refund_order)
    with pytest.raises(AgentError, match="outcome is not known"):
        LAYER.wrap(lambda query: refund("7")).query("Refund 7")
    assert sent == ["7"]


def test_the_calls_that_are_served_are_carried_out_once_after_the_verdict():
    sent = []
    recorder = ToolRecorder()
    recorder.wrap(lambda order_id: sent.append(order_id), "refund_order")
    call = {"content": "", "tool_calls": [{"function": {"name": "refund_order", "arguments": {"order_id": "7"}}}]}
    verdict = LAYER.score([call] * 3)
    assert sent == []
    recorder.commit(verdict)
    assert sent == ["7"]
    clash = TableJudge({("yes", "no"): Relation.CONTRADICTORY})
    with pytest.raises(ToolRefusedError, match="refuses"):
        recorder.commit(ReliabilityLayer(judge=clash).score(["yes", "no"]))


def test_asking_needs_somebody_to_ask():
    with pytest.raises(ValueError, match="permit"):
        ToolRecorder("ask")
