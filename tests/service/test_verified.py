"""Verified requests: one real answer that holds, or a refusal that says why; and nothing served unstored."""

from __future__ import annotations

import json
import time

import pytest

from judges import FailingJudge, TableJudge
from likewise.core.errors import StoreUnavailableError
from likewise.core.labels import Relation
from likewise.service.verified import question_of
from llm_server import Reply, refused
from service_process import completion, saying

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Is it safe?"}]}
CLASH = TableJudge({("Yes.", "No."): Relation.CONTRADICTORY, ("Yes.", "Maybe."): Relation.NEUTRAL})
CALL = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "#7"}'}}


def ask(service, path="/v1/chat/completions", headers=None, **more):
    with service.client() as client:
        return client.post(path, json=BODY | more, headers=headers or {})


def test_runs_that_agree_are_served_as_one_completion_with_the_verdict_beside_it(start):
    service, upstream = start(saying("Yes."))
    answer = ask(service, temperature=0.2, something_new={"a": 1})
    body = answer.json()
    assert answer.status_code == 200
    assert [choice["message"]["content"] for choice in body["choices"]] == ["Yes."]
    assert body["usage"] == {"prompt_tokens": 10, "completion_tokens": 21, "total_tokens": 31}
    verdict = body["likewise"]
    assert (verdict["decision"], verdict["label"], verdict["runs_agreed"]) == ("serve", "HIGH", "3/3")
    assert answer.headers["x-likewise-decision"] == "serve"
    assert answer.headers["x-likewise-stored"] == "yes"
    (request,) = upstream.requests
    assert request.body == BODY | {"temperature": 0.2, "something_new": {"a": 1}, "n": 3}


def test_the_verdict_can_be_read_back_with_every_run(start):
    service, _ = start(saying("Yes.", "Yes.", "No."), judge=CLASH, policies=[{"critical": "pass"}])
    served = ask(service, headers={"X-Likewise-Agent": "nurse", "X-Likewise-Version": "7", "X-Likewise-Task": "safety"})
    with service.client() as client:
        stored = client.get(f"/v1/verdicts/{served.headers['x-likewise-verdict-id']}").json()
    assert [run["text"] for run in stored["audit_trail"]] == ["Yes.", "Yes.", "No."]
    assert (stored["agent"], stored["version"], stored["task_id"], stored["model"]) == ("nurse", "7", "safety", "tiny")
    assert (stored["query"], stored["answer"], stored["route"]) == ("Is it safe?", "Yes.", "/v1/chat/completions")
    assert stored["critical_pairs"] == served.json()["likewise"]["critical_pairs"]


def test_the_same_conversation_is_the_same_task(start):
    service, _ = start(saying("Yes."))
    for content in ("a", "a", "b"):
        ask(service, messages=[{"role": "user", "content": content}])
    tasks = [each.task for each in service.service.store.verdicts.page().items]
    assert tasks[1] == tasks[2] != tasks[0]


def test_a_critical_contradiction_is_refused_with_both_sentences_and_no_client_tries_again(start):
    service, _ = start(saying("Yes.", "Yes.", "No."), judge=CLASH)
    answer = ask(service)
    error = answer.json()["error"]
    assert answer.status_code == 409
    assert (error["type"], error["code"]) == ("unreliable_answer", "likewise_contradiction")
    assert '"Yes." / "No."' in error["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert answer.headers["x-likewise-contradiction"] == "critical"
    assert answer.json()["likewise"]["critical_pairs"][0]["text_j"] == "No."
    assert "choices" not in answer.json()
    assert service.verdicts() == 1  # what was refused is history, too


@pytest.mark.parametrize(("critical", "decision"), [("flag", "flag"), ("pass", "serve")])
def test_a_policy_may_flag_or_pass_it(start, critical, decision):
    policies = [{"critical": critical, "low": "pass"}]
    service, _ = start(saying("Yes.", "Yes.", "No."), judge=CLASH, policies=policies)
    answer = ask(service)
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"] == "Yes."
    assert answer.headers["x-likewise-decision"] == decision
    assert answer.json()["likewise"]["has_critical_contradiction"] is True


def test_no_majority_may_be_refused_without_any_contradiction(start):
    service, _ = start(saying("Yes.", "Maybe."), judge=CLASH, policies=[{"runs": 2, "no_majority": "refuse"}])
    answer = ask(service)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "likewise_unreliable")


def test_adaptive_mode_asks_again_only_where_the_first_two_differ(start):
    policies = [{"mode": "adaptive", "critical": "pass"}]
    service, upstream = start(saying("Yes."), judge=CLASH, policies=policies)
    assert ask(service).headers["x-likewise-runs-agreed"] == "2/2"
    assert [request.body["n"] for request in upstream.requests] == [2]
    upstream.answer = saying("Yes.", "No.", "Yes.", "Yes.", "Yes.")
    upstream.requests.clear()
    assert ask(service).headers["x-likewise-runs-agreed"] == "4/5"
    assert [request.body["n"] for request in upstream.requests] == [2, 3]


def test_an_upstream_without_n_is_called_as_often_side_by_side(start):
    def answer(request):
        time.sleep(0.2)
        return refused(400, "n") if "n" in request.body else completion("Yes.")

    service, upstream = start(answer)
    assert ask(service).headers["x-likewise-runs-agreed"] == "3/3"
    upstream.requests.clear()
    assert ask(service).headers["x-likewise-runs-agreed"] == "3/3"
    assert ["n" in request.body for request in upstream.requests] == [False] * 3
    assert upstream.most_at_once == 3


def test_the_majoritys_tool_call_comes_back_as_the_upstream_made_it(start):
    wrong = [{"id": "call_2", "type": "function", "function": {"name": "refund", "arguments": '{"order": "#8"}'}}]
    made = [completion(None, calls=calls, reason="tool_calls") for calls in ([CALL], wrong, [CALL | {"id": "call_3"}])]
    replies = iter(made)
    service, _ = start(
        lambda request: next(replies), upstream={"by_n": False}, policies=[{"critical": "pass", "low": "pass"}]
    )
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
    choice = ask(service, tools=tools, tool_choice="auto").json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["tool_calls"][0] in (CALL, CALL | {"id": "call_3"})


@pytest.mark.parametrize(
    "reply",
    [
        refused(400, "bad schema", code="invalid_request_error", param="response_format"),
        refused(401, "wrong key"),
        refused(429, "slow down", wait=3),
        refused(500, "oops"),
        Reply(503, b"<html>busy</html>", {"Content-Type": "text/html", "Retry-After": "9"}),
    ],
    ids=lambda reply: str(reply.status),
)
def test_the_upstreams_own_error_comes_back_as_it_is(start, reply):
    service, _ = start(lambda request: reply)
    answer = ask(service)
    assert (answer.status_code, answer.content) == (reply.status, reply.body)
    for name in ("content-type", "retry-after", "retry-after-ms"):
        sent = {key.lower(): value for key, value in reply.headers.items()}
        assert answer.headers.get(name) == sent.get(name)
    assert answer.headers["x-likewise-decision"] == "failed"
    (stored,) = service.service.store.verdicts.page().items
    assert (stored.decision, stored.runs_failed) == ("failed", 3)


def test_one_call_that_fails_costs_that_run_alone(start):
    replies = iter([completion("Yes."), refused(429), completion("Yes.")])
    service, _ = start(lambda request: next(replies), upstream={"by_n": False})
    answer = ask(service)
    assert answer.status_code == 200
    assert (answer.headers["x-likewise-runs-agreed"], answer.headers["x-likewise-runs-failed"]) == ("2/2", "1")
    assert answer.json()["usage"]["total_tokens"] == 34


def test_a_deadline_that_passes_is_a_504(start):
    service, upstream = start(lambda request: Reply(200, b"{}", delay=20), policies=[{"deadline": 0.5}])
    began = time.monotonic()
    answer = ask(service)
    assert time.monotonic() - began < 10
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    assert answer.headers["x-should-retry"] == "false"
    ends = time.monotonic() + 5
    while upstream.hung_up < 1 and time.monotonic() < ends:
        time.sleep(0.02)
    assert upstream.hung_up == 1


def test_answers_that_could_not_be_compared_are_flagged_and_the_first_is_served(start):
    service, _ = start(saying("Un.", "Deux.", "Trois."), judge=FailingJudge())
    answer = ask(service)
    assert answer.json()["choices"][0]["message"]["content"] == "Un."
    assert answer.headers["x-likewise-label"] == "NOT_MEASURED"
    assert answer.headers["x-likewise-decision"] == "flag"


def test_answers_that_are_empty_come_back_flagged_as_the_upstream_gave_them(start):
    service, _ = start(lambda request: completion(*[""] * request.body.get("n", 1), reason="length"))
    answer = ask(service)
    assert answer.json()["choices"][0]["finish_reason"] == "length"
    assert answer.json()["likewise"]["label"] == "NOT_MEASURED"
    assert answer.json()["usage"]["completion_tokens"] == 21
    (stored,) = service.service.store.verdicts.page().items
    assert [answer.headers["x-likewise-decision"], answer.json()["likewise"]["decision"], stored.decision] == (
        ["failed"] * 3
    )


@pytest.mark.parametrize(
    "choices", [[], [{"message": "str"}], ["Yes."], [None], [{"message": {"content": "Yes."}}, {"message": ["Yes."]}]]
)
def test_choices_that_are_none_are_a_502_that_says_so(start, choices):
    body = json.dumps({"id": "c", "choices": choices}).encode()
    service, _ = start(lambda request: Reply(200, body, {"Content-Type": "application/json"}))
    answer = ask(service)
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "upstream_nonsense")
    assert answer.headers["x-likewise-decision"] == "failed"


@pytest.mark.parametrize("message", [{}, {"message": None}])
def test_a_choice_without_a_message_is_an_empty_answer(start, message):
    body = json.dumps({"id": "c", "choices": [{"index": 0, "finish_reason": "content_filter"} | message] * 3}).encode()
    service, _ = start(lambda request: Reply(200, body, {"Content-Type": "application/json"}))
    answer = ask(service)
    assert (answer.status_code, answer.json()["likewise"]["decision"]) == (200, "failed")


def test_a_policy_may_refuse_what_was_not_measured(start):
    policies = [{"runs": 2, "unmeasured": "refuse"}]
    service, _ = start(saying("Un.", "Deux."), judge=FailingJudge(), policies=policies)
    answer = ask(service)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "likewise_unreliable")
    assert "not measured" in answer.json()["error"]["message"]


@pytest.mark.parametrize("n", [0, 17, 1.5, "3", True])
def test_an_n_that_cannot_be_is_refused(start, n):
    service, upstream = start(saying("Yes."))
    answer = ask(service, n=n)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "n")
    assert upstream.requests == []


def test_a_caller_who_asks_for_n_choices_gets_them_all_compared_and_the_consensus_first(start):
    service, upstream = start(saying("No.", "Yes."), judge=CLASH, policies=[{"mode": "adaptive", "critical": "flag"}])
    answer = ask(service, n=5)
    texts = [choice["message"]["content"] for choice in answer.json()["choices"]]
    assert sorted(texts) == ["No.", "No.", "No.", "Yes.", "Yes."]
    assert texts[0] == "No."
    assert [choice["index"] for choice in answer.json()["choices"]] == [0, 1, 2, 3, 4]
    assert [request.body["n"] for request in upstream.requests] == [5]


def test_a_stream_is_the_verified_answer(start):
    service, upstream = start(saying("Yes."))
    with service.client() as client:
        wanted = BODY | {"stream": True, "stream_options": {"include_usage": True}}
        answer = client.post("/v1/chat/completions", json=wanted)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-likewise-decision"] == "serve"
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
    assert "".join(e["choices"][0]["delta"].get("content") or "" for e in events if e["choices"]) == "Yes."
    assert events[-1]["usage"]["total_tokens"] == 31
    assert answer.text.endswith("data: [DONE]\n\n")
    assert not {"stream", "stream_options"} & set(upstream.requests[0].body)


def test_a_stream_that_is_refused_is_an_error_and_no_stream(start):
    service, _ = start(saying("Yes.", "No."), judge=CLASH)
    answer = ask(service, stream=True)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "likewise_contradiction")


def test_without_a_store_nothing_is_served_unless_the_policy_says_so(start):
    policies = [{"model": "careless", "store_down": "serve"}, {"model": "unstored", "store": False}, {}]
    service, _ = start(saying("Yes."), policies=policies)

    async def broken(record):
        raise StoreUnavailableError("sqlite", "the disk is full")

    service.service.writer.put = broken
    answer = ask(service)
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "store_unavailable")
    assert answer.headers["retry-after"] == "5"
    careless = ask(service, model="careless")
    assert (careless.status_code, careless.headers["x-likewise-stored"]) == (200, "failed")
    unstored = ask(service, model="unstored")
    assert (unstored.status_code, unstored.headers["x-likewise-stored"]) == (200, "off")


HALF = "half \ud83d a pair, and \x00 nothing"


@pytest.mark.parametrize("stream", [False, True])
def test_characters_that_are_none_come_back_as_the_upstream_sent_them(start, stream):
    service, _ = start(saying(HALF), policies=[{"runs": 2}])
    asked = json.dumps(BODY | {"messages": [{"role": "user", "content": HALF}], "stream": stream})
    with service.client() as client:
        answer = client.post("/v1/chat/completions", content=asked)
    assert answer.status_code == 200
    assert json.dumps(HALF)[1:-1] in answer.text
    assert service.verdicts() == 1


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        ([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, {"role": "tool", "content": "t"}], "u"),
        ([{"role": "system", "content": "s"}], "s"),
        (
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]}],
            "a\n[image_url]",
        ),
        ([{"role": "user"}], ""),
        ([3, None], ""),
        ("text", ""),
        (None, ""),
    ],
)
def test_the_question_is_what_a_user_said_last(messages, question):
    assert question_of(messages) == question
