"""Replaying without harm: a refund endpoint that really counts its hits."""

from __future__ import annotations

import gc
import threading
import urllib.request
import weakref
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest

from judges import LetterEncoder, TableJudge
from likewise.backends.tool_names import ToolClass
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import AgentError
from likewise.core.labels import Relation
from likewise.reliability.agents import current_run
from likewise.reliability.handling import Handling
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.replay import STUB, ToolRecorder, ToolRefusedError
from likewise.reliability.runner import RunSettings
from likewise.reliability.verdict import Decision

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


def elsewhere(tool, order="7"):
    """What a tool returns, or why it is refused, in a thread that knows nothing of its run."""
    outcome = []

    def work():
        try:
            outcome.append(tool(order))
        except ToolRefusedError as problem:
            outcome.append(str(problem))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return outcome[0]


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


@pytest.mark.parametrize("name", ["check_and_issue_refund", "find_and_transfer", "view_and_approve"])
def test_a_tool_that_first_reads_and_then_changes_is_not_called_without_permission(name):
    with shop() as (hits, get):
        tool = ToolRecorder("refuse").wrap(lambda order: get(f"/refund/{order}"), name)
        with pytest.raises(AgentError, match="changes something and was not permitted"):
            LAYER.wrap(lambda query: tool("7")).query("Refund 7")
    assert hits == {}


def test_each_query_has_its_own_record_and_a_tool_works_as_ever_before_the_first():
    with shop() as (hits, get):
        recorder = ToolRecorder()
        recorder.wrap(lambda: get("/direct"), "refund_directly")()
        assert hits["/direct"] == 1
        wrapped = LAYER.wrap(agent_of(recorder, get))
        wrapped.query("Refund 7")
        wrapped.query("Refund 7")
        assert hits["/order/7"] == 2


@pytest.mark.parametrize("mode", ["stub", "ask", "refuse"])
def test_threads_that_outlive_their_runs_change_nothing_and_may_read(mode, monkeypatch):
    """Five runs leave a refund behind for later, each in a thread without a context: none may be sent."""
    ended, raised, threads = threading.Event(), [], []
    monkeypatch.setattr(threading, "excepthook", lambda problem: raised.append(str(problem.exc_value)))
    with shop() as (hits, get):
        recorder = ToolRecorder(mode, permit=(lambda *_: True) if mode == "ask" else None)
        look = recorder.wrap(lambda order: get(f"/order/{order}"), "get_order")
        refund = recorder.wrap(lambda order: get(f"/refund/{order}"), "refund_order")

        def later():
            ended.wait(10)
            look("7")
            refund("7")

        def agent(query):
            threads.append(threading.Timer(0, later))
            threads[-1].start()
            return "The refund is on its way."

        LAYER.wrap(agent).query("Refund 7")
        ended.set()
        for thread in threads:
            thread.join(10)
    assert hits == {"/order/7": 5}
    assert len(raised) == 5
    assert all("refund_order: this call changes something and is of no run" in each for each in raised)
    ((refusal, times),) = recorder.refused.items()
    assert (refusal.run, refusal.tool, times) == (None, "refund_order", 5)


def test_a_recorder_that_an_agent_makes_in_its_run_refuses_what_outlives_the_run():
    kept = []

    def agent(query):
        kept.append(ToolRecorder("refuse").wrap(lambda: "sent", "refund_order"))
        return "done"

    LAYER.wrap(agent).query("Refund 7")
    with pytest.raises(ToolRefusedError, match="of no run"):
        kept[0]()


def test_an_async_tool_that_is_called_of_no_run_after_runs_is_refused_too():
    sent = []

    async def refund_order(order_id):
        sent.append(order_id)

    refund = ToolRecorder().wrap(refund_order)
    LAYER.wrap(lambda query: "done").query("Refund 7")
    with pytest.raises(ToolRefusedError, match="of no run"):
        anyio.run(refund, "7")
    assert sent == []


def test_changes_outside_of_runs_are_made_after_them_where_that_is_said_and_never_while_they_are_under_way():
    with shop() as (hits, get):
        recorder = ToolRecorder("refuse", changes_outside=True)
        refund = recorder.wrap(lambda order: get(f"/refund/{order}"), "refund_order")

        told = []

        def agent(query):
            told.append(elsewhere(refund, "8"))
            return "done"

        LAYER.wrap(agent).query("Refund 8")
        assert refund("7") == "done"
    assert hits == {"/refund/7": 1}
    assert len(told) == 5
    assert all("while runs are under way" in each for each in told)


def test_a_verdict_names_the_runs_whose_changes_were_refused_though_their_agent_swallows_it():
    """Five runs say that they refunded, and none did: alike, and not true."""

    def agent(query):
        for _ in range(2 if current_run().index == 3 else 0 if current_run().index == 4 else 1):
            with suppress(ToolRefusedError):
                refund("7")
        return "Refunded."

    with shop() as (hits, get):
        refund = ToolRecorder("refuse").wrap(lambda order: get(f"/refund/{order}"), "refund_order")
        verdict = LAYER.wrap(agent).query("Refund 7")
    assert hits == {}
    assert verdict.runs_agreed == "5/5"
    reason = "this call changes something and was not permitted"
    assert verdict.as_json()["metadata"]["refused_calls"] == [
        {"run": run, "tool": "refund_order", "reason": reason, "times": 2 if run == 3 else 1} for run in range(4)
    ]
    assert verdict.metadata["notes"] == [
        "calls of refund_order were refused (run 0, 1, 2, 3): what an answer says of them may not have been done"
    ]
    assert LAYER.wrap(lambda query: "Refunded.").query("?").metadata["refused_calls"] == []  # another query's own


def test_a_verdict_says_that_a_call_was_refused_whose_run_is_not_known():
    def agent(query):
        elsewhere(refund, "7")
        return "Refunded."

    refund = ToolRecorder().wrap(lambda order: "sent", "refund_order")
    verdict = LAYER.wrap(agent).query("Refund 7")
    (refused,) = verdict.metadata["refused_calls"]
    assert (refused["run"], refused["tool"], refused["times"]) == (None, "refund_order", 5)
    assert "(run not known)" in verdict.metadata["notes"][0]


def test_a_call_from_a_thread_that_does_not_know_its_run_is_refused_where_it_changes_something():
    """A framework with threads of its own: the recorder cannot tell the fifth refund from the first."""
    with shop() as (hits, get):
        recorder = ToolRecorder("ask", permit=lambda *_: True)
        refund = recorder.wrap(lambda order: get(f"/refund/{order}"), "refund_order")
        look = recorder.wrap(lambda order: get(f"/order/{order}"), "get_order")

        verdict = LAYER.wrap(lambda query: f"{elsewhere(look)}: {elsewhere(refund)}").query("Refund 7")
        assert hits == {"/order/7": 5}  # reads do no harm
        assert "refund_order: this call changes something and does not tell which run it is of" in verdict.answer
        assert "is of no run" in elsewhere(refund)  # no runs are under way, and any thread may be one of theirs
        assert hits == {"/order/7": 5}


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


async def permit_later(name, arguments):
    return False


def test_an_async_permit_is_refused_when_the_recorder_is_made():
    """What it returns is a coroutine, which is true whatever it would say."""
    with pytest.raises(TypeError, match="sync function"):
        ToolRecorder("ask", permit=permit_later)


@pytest.mark.parametrize("answer", ["n", "yes", 1, None, lambda: True])
def test_only_true_permits(answer):
    sent = []
    refund = ToolRecorder("ask", permit=lambda *_: answer).wrap(sent.append, "refund_order")
    with pytest.raises(AgentError, match="not permitted"):
        LAYER.wrap(lambda query: refund("7")).query("Refund 7")
    assert sent == []


def test_a_permit_that_hides_a_coroutine_permits_nothing():
    sent = []
    refund = ToolRecorder("ask", permit=lambda *given: permit_later(*given)).wrap(sent.append, "refund_order")
    with pytest.raises(AgentError, match="not permitted"):
        LAYER.wrap(lambda query: refund("7")).query("Refund 7")
    assert sent == []


@pytest.mark.parametrize("slow", ["agent", "permit"])
def test_a_run_that_was_given_up_changes_nothing_after_the_verdict(slow):
    sent, told = [], []

    def permit(*_):
        if slow == "permit":
            current_run().cancelled.wait(10)
        return True

    refund = ToolRecorder("ask", permit=permit).wrap(sent.append, "refund_order")

    def agent(query):
        if slow == "agent":
            current_run().cancelled.wait(10)
        try:
            return refund("7")
        except ToolRefusedError as problem:
            told.append(str(problem))
            raise

    layer = ReliabilityLayer(2, judge=TableJudge(), running=RunSettings(deadline=0.2, attempts=1))
    with pytest.raises(AgentError, match="no answer within"):
        layer.wrap(agent).query("Refund 7")
    for thread in threading.enumerate():
        if thread.name.startswith("likewise-run"):
            thread.join(10)
    assert sent == []
    assert len(told) == 2
    assert all("given up" in each for each in told)


def test_an_async_run_that_is_being_given_up_changes_nothing_on_its_way_out():
    sent, told = [], []
    refund = ToolRecorder("ask", permit=lambda *_: True).wrap(sent.append, "refund_order")

    async def agent(query):
        try:
            await anyio.sleep(60)
        finally:
            try:
                refund("7")
            except ToolRefusedError as problem:
                told.append(str(problem))

    layer = ReliabilityLayer(2, judge=TableJudge(), running=RunSettings(deadline=0.2, attempts=1))
    with pytest.raises(AgentError):
        layer.wrap(agent).query("Refund 7")
    assert sent == []
    assert len(told) == 2
    assert all("given up" in each for each in told)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_that_tries_again_after_an_unknown_outcome_is_refused_in_its_own_run(is_async):
    """The endpoint took the refund and the line broke before its answer: a second try is a second refund."""
    sent, told = [], []
    recorder = ToolRecorder("ask", permit=lambda *_: True)

    def refund_order(order_id):
        sent.append(order_id)
        raise ConnectionError("the line broke")

    refund = recorder.wrap(refund_order, as_async=is_async)

    async def agent(query):
        for _ in range(0 if current_run().index else 3):  # the other run gives up at once
            try:
                outcome = refund("7")
                return await outcome if is_async else outcome
            except (ConnectionError, ToolRefusedError) as problem:
                told.append(str(problem))
        return "gave up"

    assert ReliabilityLayer(2, judge=TableJudge()).wrap(agent).query("Refund 7").answer == "gave up"
    assert sent == ["7"]
    assert told[0] == "the line broke"
    assert all("may have gone through" in each for each in told[1:])


def test_a_run_cannot_change_what_another_is_given():
    recorder = ToolRecorder(stub={"status": "noted", "ids": []})
    look = recorder.wrap(lambda: {"items": [1, 2]}, "get_order")
    change = recorder.wrap(lambda: None, "refund_order")

    def agent(query):
        found, noted = look(), change()
        found["items"].append(3)
        noted["ids"].append(7)
        return f"{found['items']} {noted['ids']}"

    verdict = LAYER.wrap(agent).query("?")
    assert {record.text for record in verdict.records} == {"[1, 2, 3] [7]"}


def test_a_result_that_cannot_be_copied_is_given_as_it_is():
    lock = threading.Lock()
    look = ToolRecorder().wrap(lambda: lock, "get_lock")
    assert LAYER.wrap(lambda query: str(look() is lock)).query("?").answer == "True"


def refund_call(order_id="7"):
    return {"content": "", "tool_calls": [{"function": {"name": "refund_order", "arguments": {"order_id": order_id}}}]}


def test_committing_twice_carries_out_once():
    sent = []
    recorder = ToolRecorder()
    recorder.wrap(lambda order_id: sent.append(order_id) or len(sent), "refund_order")
    verdict = LAYER.score([refund_call()] * 3)
    assert recorder.commit(verdict) == recorder.commit(verdict) == [1]
    assert recorder.commit(LAYER.score([refund_call()] * 3)) == [2]  # another verdict, another change
    assert sent == ["7", "7"]


def test_a_commit_that_failed_midway_is_not_made_again():
    sent = []

    def refund_order(order_id):
        sent.append(order_id)
        raise ConnectionError("the line broke")

    recorder = ToolRecorder()
    recorder.wrap(refund_order)
    verdict = LAYER.score([refund_call()] * 3)
    with pytest.raises(ConnectionError):
        recorder.commit(verdict)
    with pytest.raises(ToolRefusedError, match="begun before"):
        recorder.commit(verdict)
    assert sent == ["7"]


def test_a_recorder_keeps_no_verdict_alive_that_it_has_committed():
    recorder = ToolRecorder()
    recorder.wrap(lambda order_id: "done", "refund_order")
    verdict = LAYER.score([refund_call()] * 3)
    recorder.commit(verdict)
    kept = weakref.ref(verdict)
    del verdict
    gc.collect()
    assert kept() is None
    assert recorder._committed == {}  # an id that is used anew belongs to no old verdict


@pytest.mark.parametrize("recorder", [ToolRecorder("refuse"), ToolRecorder("ask", permit=lambda *_: False)])
def test_a_commit_needs_the_permission_that_a_run_needs(recorder):
    sent = []
    recorder.wrap(lambda order_id: sent.append(order_id), "refund_order")
    with pytest.raises(ToolRefusedError, match="not permitted"):
        recorder.commit(LAYER.score([refund_call()] * 3))
    assert sent == []


def test_a_flagged_verdict_is_committed_only_where_that_is_said():
    sent = []
    recorder = ToolRecorder()
    recorder.wrap(lambda order_id: sent.append(order_id), "refund_order")
    verdict = LAYER.score([refund_call()])  # one run is no evidence
    assert verdict.decision is Decision.FLAG
    with pytest.raises(ToolRefusedError, match="flagged=True"):
        recorder.commit(verdict)
    assert sent == []
    recorder.commit(verdict, flagged=True)
    assert sent == ["7"]


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("list_and_purge", False),
        ("fetch_then_ack", False),
        ("get_and_refund_order", False),
        ("readAndDelete", False),
        ("get_remove_all", False),
        ("check_and_issue_refund", False),
        ("verify_and_process_refund", False),
        ("get_order_and_issue_refund", False),
        ("search_then_execute", False),
        ("readAndWithdraw", False),
        ("find&transfer", False),
        ("issue_refund_lookup", False),
        ("execute_query", False),
        ("web_search", True),
        ("list_refunds", True),
        ("get_refund_status", True),
        ("get_orders_and_items", True),
    ],
)
def test_a_name_with_a_second_verb_that_changes_is_no_reader(name, reads):
    assert ToolRecorder().reads(name) is reads
    assert ToolRecorder(reading=(name,)).reads(name)  # the user's word goes first
    assert ToolRecorder(rules=ToolRules(tool_classes={name: ToolClass.READS})).reads(name)
