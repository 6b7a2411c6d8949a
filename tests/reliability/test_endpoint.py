"""An endpoint as agent, over a real local server."""

from __future__ import annotations

import json

import pytest

from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
from likewise.core.errors import AgentError
from likewise.reliability.endpoint import MOST_BYTES, Endpoint
from likewise.reliability.runner import RunSettings
from llm_server import Reply, refused, serving

KEY = "sk-secret-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def choices(*texts, tool_calls=None, reason="stop"):
    """A chat completion with so many choices."""
    messages = [{"role": "assistant", "content": text, "tool_calls": tool_calls} for text in texts]
    body = {
        "id": "c-1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": i, "message": m, "finish_reason": reason} for i, m in enumerate(messages)],
        "usage": {"prompt_tokens": 10, "completion_tokens": 7 * len(texts), "total_tokens": 10 + 7 * len(texts)},
    }
    return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def ask(server, runs=5, query="?", **more):
    layer = ReliabilityLayer(
        runs, judge=TableJudge(), encoder=LetterEncoder(), running=RunSettings(deadline=20, first_wait=0.01)
    )
    endpoint = Endpoint("m", server.url, **more)
    return layer.wrap(endpoint).query(query), endpoint


def test_five_samples_by_one_request():
    with serving(lambda request: choices(*["Paris."] * request.body.get("n", 1))) as server:
        verdict, _ = ask(server)
        assert [request.body["n"] for request in server.requests] == [5]
    assert verdict.answer == "Paris."
    assert verdict.runs_agreed == "5/5"
    # the request's tokens are entered once: 10 read, 5 * 7 written
    assert verdict.metadata["usage"] == {"input_tokens": 10, "output_tokens": 35}


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_an_answer_that_was_cut_off_is_no_answer(reason):
    def cut(request):
        return choices(*["The refund is not"] * request.body.get("n", 1), reason=reason)

    with serving(cut) as server, pytest.raises(AgentError, match=f"cut off: .*finish_reason {reason}"):
        ask(server)


def test_an_endpoint_that_heeds_no_n_is_asked_for_the_rest_one_by_one_and_not_again():
    with serving(lambda request: choices("Paris.")) as server:
        verdict, endpoint = ask(server)
        assert len(server.requests) == 5
    assert verdict.runs_agreed == "5/5"
    assert endpoint.by_n is False


def test_an_endpoint_that_refuses_n_is_asked_one_by_one():
    def answer(request):
        return refused(400, "n must be 1") if request.body.get("n", 1) > 1 else choices("Paris.")

    with serving(answer) as server:
        assert ask(server)[0].runs_agreed == "5/5"


def test_an_endpoint_without_schemas_is_read_all_the_same():
    answer = json.dumps({"main_answer": "Paris.", "key_findings": ["It is."], "confidence": "HIGH", "sources_used": []})

    def reply(request):
        if "response_format" in request.body:
            return refused(400, "response_format is not supported")
        return choices(*[f"Here: {answer}"] * request.body.get("n", 1))

    with serving(reply) as server:
        verdict, _ = ask(server, 3, structured=True)
        assert [("response_format" in r.body) for r in server.requests] == [True, False]
    assert verdict.answer == "Paris."
    assert verdict.variance_report.findings.value == 0.0


def test_messages_system_and_parameters_are_sent_and_tool_calls_come_back():
    call = [{"id": "c", "type": "function", "function": {"name": "refund", "arguments": '{"order": "#7"}'}}]
    with serving(lambda request: choices(*[None] * request.body.get("n", 1), tool_calls=call)) as server:
        query = [{"role": "user", "content": "Refund #7"}]
        verdict, _ = ask(server, 2, query, system="Be brief.", parameters={"temperature": 0.3})
        body = server.requests[0].body
    assert body["messages"] == [{"role": "system", "content": "Be brief."}, *query]
    assert body["temperature"] == 0.3
    assert [(c.name, c.arguments) for c in verdict.tool_calls] == [("refund", {"order": "#7"})]


def test_an_overloaded_endpoint_is_asked_again_by_the_layer_and_a_bad_key_is_not():
    replies = iter([refused(429), refused(503), choices("Paris.", "Paris.")])
    with serving(lambda request: next(replies)) as server:
        verdict, _ = ask(server, 2)
        assert len(server.requests) == 3
        assert verdict.runs_agreed == "2/2"
    with serving(lambda request: refused(401, f"wrong key {KEY}")) as server:
        with pytest.raises(AgentError) as caught:
            ask(server, 2)
        assert len(server.requests) == 1
    assert "401" in str(caught.value)
    assert KEY not in str(caught.value)
    assert KEY not in repr([record.as_json() for record in caught.value.records])


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"index": 0}]}'])
def test_an_endpoint_that_answers_nonsense_is_a_failed_run(body):
    reply = Reply(200, body, {"Content-Type": "application/json"})
    with serving(lambda request: reply) as server, pytest.raises(AgentError, match=r"all 2 run\(s\)"):
        ask(server, 2)


def test_parameters_that_the_layer_sets_are_refused():
    with pytest.raises(ValueError, match="set by the layer"):
        Endpoint("m", parameters={"n": 3})


SECRET, NO_URL = (
    "an endpoint's URL with a user, a query or a fragment; a key belongs in OTHER_KEY",
    "is no endpoint's URL",
)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://me:secret@localhost/v1", SECRET),
        ("http://localhost/v1?key=secret", SECRET),
        ("ftp://me:secret@localhost/v1", SECRET),
        ("http://me:secret@localhost:99999/v1", SECRET),
        ("localhost:8000", NO_URL),
        ("ftp://localhost/v1", NO_URL),
        ("file:///etc/passwd", NO_URL),
        ("http://", NO_URL),
        ("http://localhost:port/v1", NO_URL),
        ("http://localhost:99999/v1", NO_URL),
        ("http://[::1/v1", NO_URL),
        ("", NO_URL),
    ],
)
@pytest.mark.parametrize("by_environment", [False, True])
def test_an_address_that_is_none_or_holds_a_secret_is_refused_in_one_sentence(url, told, by_environment, monkeypatch):
    if by_environment:
        if not url:
            pytest.skip("an empty variable is one that is not set")
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ValueError, match=told) as caught:
        Endpoint("m", None if by_environment else url, key_variable="OTHER_KEY")
    assert "secret" not in str(caught.value)


def test_arguments_that_json_cannot_hold_stay_text():
    call = [{"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"amount": NaN}'}}]
    with serving(lambda request: choices(*[None] * request.body.get("n", 1), tool_calls=call)) as server:
        verdict, _ = ask(server, 2)
    assert verdict.tool_calls[0].arguments == '{"amount": NaN}'
    json.dumps(verdict.as_json(), allow_nan=False)


def test_a_response_that_does_not_end_is_cut_and_not_asked_for_again():
    with serving(lambda request: Reply(200, b" " * (MOST_BYTES + 1), {"Content-Type": "application/json"})) as server:
        wrapped = ReliabilityLayer(2, judge=TableJudge()).wrap(Endpoint("m", server.url, by_n=False))
        with pytest.raises(AgentError, match="a response of more than 32 MiB"):
            wrapped.query("?")
        assert len(server.requests) == 2
