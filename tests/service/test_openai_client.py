"""The official Python client, unchanged but for its base URL."""

from __future__ import annotations

import json
import time

import httpx2
import openai
import pytest
from pydantic import BaseModel

from judges import TableJudge
from likewise.core.labels import Relation
from llm_server import Reply, refused
from service_process import completion, saying

CALL = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "#7"}'}}
CLASH = TableJudge({("Yes.", "No."): Relation.CONTRADICTORY})
ASKED = [{"role": "user", "content": "Is it safe?"}]
MODES = pytest.mark.parametrize("mode", ["standard", "off"])
LOGPROBS = {"content": [{"token": "Yes", "logprob": -0.1, "bytes": None, "top_logprobs": []}]}


def client_of(service, **options):
    http = httpx2.Client(trust_env=False)
    return openai.OpenAI(api_key=service.key, base_url=f"{service.url}/v1", http_client=http, **options)


def streaming(*texts):
    """An upstream that streams where it is asked to."""
    plain = saying(*texts)

    def answer(request):
        if not request.body.get("stream"):
            return plain(request)
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
        deltas = [{"role": "assistant", "content": ""}, *({"content": part} for part in texts[0])]
        chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        pieces = [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]
        return Reply(200, headers={"Content-Type": "text/event-stream"}, pieces=[*pieces, b"data: [DONE]\n\n"])

    return answer


@MODES
def test_a_completion(start, mode):
    service, _ = start(saying("Yes."), policies=[{"mode": mode}])
    with client_of(service) as client:
        answer = client.chat.completions.create(model="tiny", messages=ASKED, temperature=0, user="u")
    assert answer.choices[0].message.content == "Yes."
    assert answer.usage.prompt_tokens == 10
    assert (mode == "off") is not hasattr(answer, "likewise")


def test_the_verdict_is_an_attribute_and_headers_are_to_be_had(start):
    service, _ = start(saying("Yes."))
    with client_of(service) as client:
        raw = client.chat.completions.with_raw_response.create(model="tiny", messages=ASKED)
    assert raw.headers["x-likewise-label"] == "HIGH"
    assert raw.parse().likewise["runs_agreed"] == "3/3"


@MODES
def test_a_stream(start, mode):
    service, _ = start(streaming("Yes."), policies=[{"mode": mode}])
    with client_of(service) as client:
        stream = client.chat.completions.create(model="tiny", messages=ASKED, stream=True)
        chunks = list(stream)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Yes."
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_the_helper_for_streams_puts_the_answer_together(start):
    service, _ = start(saying("Yes, it is."))
    with (
        client_of(service) as client,
        client.chat.completions.stream(model="tiny", messages=ASKED, stream_options={"include_usage": True}) as stream,
    ):
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "Yes, it is."
    assert final.usage.completion_tokens == 21


@pytest.mark.parametrize(("mode", "streams"), [("off", False), ("standard", False), ("standard", True)])
def test_tool_calls(start, mode, streams):
    service, _ = start(
        lambda request: completion(*[None] * request.body.get("n", 1), calls=[CALL], reason="tool_calls"),
        policies=[{"mode": mode}],
    )
    tools = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object", "properties": {}}}}]
    with client_of(service) as client:
        asked = {"model": "tiny", "messages": ASKED, "tools": tools, "tool_choice": "auto"}
        if streams:
            with client.chat.completions.stream(**asked) as stream:
                message = stream.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
    (call,) = message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "refund", '{"order": "#7"}')


class Answer(BaseModel):
    safe: bool


@MODES
def test_a_response_format_is_passed_on_and_its_answer_parsed(start, mode):
    service, upstream = start(saying('{"safe": true}'), policies=[{"mode": mode}])
    with client_of(service) as client:
        answer = client.chat.completions.parse(model="tiny", messages=ASKED, response_format=Answer)
    assert answer.choices[0].message.parsed == Answer(safe=True)
    assert upstream.requests[0].body["response_format"]["json_schema"]["name"] == "Answer"


@MODES
def test_logprobs_seed_and_n(start, mode):
    def answer(request):
        reply = completion(*["Yes."] * request.body.get("n", 1))
        body = json.loads(reply.body)
        for choice in body["choices"]:
            choice["logprobs"] = LOGPROBS
        return Reply(200, json.dumps(body).encode(), reply.headers)

    service, upstream = start(answer, policies=[{"mode": mode}])
    with client_of(service) as client:
        found = client.chat.completions.create(model="tiny", messages=ASKED, logprobs=True, seed=5, n=2)
    assert [choice.logprobs.content[0].token for choice in found.choices] == ["Yes", "Yes"]
    assert (upstream.requests[0].body["seed"], upstream.requests[0].body["logprobs"]) == (5, True)


@MODES
@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, openai.BadRequestError), (401, openai.AuthenticationError), (429, openai.RateLimitError)],
)
def test_errors_of_the_upstream_are_the_clients_own_exceptions(start, mode, status, kind):
    service, _ = start(lambda request: refused(status, "as it said", code="c"), policies=[{"mode": mode}])
    with client_of(service, max_retries=0) as client, pytest.raises(kind, match="as it said") as caught:
        client.chat.completions.create(model="tiny", messages=ASKED)
    assert caught.value.code == "c"


@MODES
def test_the_client_tries_again_as_it_would_without_us(start, mode):
    replies = iter([refused(429, wait=0.01), refused(500, wait=0.01), *[completion("Yes.", "Yes.", "Yes.")] * 2])
    service, upstream = start(lambda request: next(replies), policies=[{"mode": mode}])
    with client_of(service, max_retries=2) as client:
        answer = client.chat.completions.create(model="tiny", messages=ASKED)
    assert answer.choices[0].message.content == "Yes."
    assert len(upstream.requests) == 3


def test_a_contradiction_is_a_conflict_that_is_not_tried_again(start):
    service, upstream = start(saying("Yes.", "Yes.", "No."), judge=CLASH)
    with client_of(service, max_retries=3) as client, pytest.raises(openai.ConflictError) as caught:
        client.chat.completions.create(model="tiny", messages=ASKED)
    assert caught.value.code == "likewise_contradiction"
    assert caught.value.response.json()["likewise"]["label"] == "CRITICAL"
    assert len(upstream.requests) == 1


def test_a_wrong_key_is_an_authentication_error(start):
    service, _ = start(saying("Yes."))
    client = openai.OpenAI(api_key="sk-wrong", base_url=f"{service.url}/v1", http_client=httpx2.Client(trust_env=False))
    with client, pytest.raises(openai.AuthenticationError, match="API key of the service"):
        client.chat.completions.create(model="tiny", messages=ASKED)


@MODES
def test_a_client_whose_patience_ends_cancels_the_upstream(start, mode):
    service, upstream = start(lambda request: Reply(200, b"{}", delay=30), policies=[{"mode": mode}])
    with client_of(service, max_retries=0, timeout=0.5) as client, pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(model="tiny", messages=ASKED)
    ends = time.monotonic() + 10
    while upstream.hung_up < 1 and time.monotonic() < ends:
        time.sleep(0.02)
    assert (upstream.hung_up, upstream.under_way) == (1, 0)


def test_a_client_that_goes_while_side_by_side_calls_run_cancels_each_of_them(start):
    service, upstream = start(lambda request: Reply(200, b"{}", delay=30), upstream={"by_n": False})
    with client_of(service, max_retries=0, timeout=1.0) as client, pytest.raises(openai.APITimeoutError):
        client.chat.completions.create(model="tiny", messages=ASKED)
    ends = time.monotonic() + 10
    while upstream.hung_up < 3 and time.monotonic() < ends:
        time.sleep(0.02)
    assert (upstream.hung_up, upstream.under_way) == (3, 0)
    assert service.verdicts() == 0


def test_models(start):
    listed = b'{"object": "list", "data": [{"id": "tiny", "object": "model", "created": 1, "owned_by": "us"}]}'
    service, _ = start(lambda request: Reply(200, listed, {"Content-Type": "application/json"}))
    with client_of(service) as client:
        assert [model.id for model in client.models.list()] == ["tiny"]
