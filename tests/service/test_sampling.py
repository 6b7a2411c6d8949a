"""Samples of an upstream, over a real server."""

from __future__ import annotations

import json

import anyio
import httpx2
import pytest

from likewise.service.metrics import Metrics
from likewise.service.sampling import ChatSampler, output_of
from likewise.service.settings import TelemetrySettings, UpstreamSettings
from likewise.service.tracing import Tracing
from likewise.service.upstream import Upstream, UpstreamError
from llm_server import Reply, refused, said, serving


def choices(*texts):
    made = [{"index": i, "message": {"role": "assistant", "content": t}} for i, t in enumerate(texts)]
    return Reply(200, json.dumps({"id": "c", "choices": made}).encode(), {"Content-Type": "application/json"})


def sampled(server, count, body=None, again=None, headers=()):
    """Outputs of one or two askings, the sampler, and the upstream."""

    async def work():
        async with httpx2.AsyncClient() as client:
            settings = UpstreamSettings(base_url=server.url)
            upstream = Upstream("u", settings, client, Metrics(), Tracing(TelemetrySettings()), 100_000)
            sampler = ChatSampler(upstream, {"model": "m", "messages": []} | (body or {}), list(headers))
            outputs = list(await sampler.sample("not looked at", count))
            if again:
                outputs += await sampler.sample("", again)
            return outputs, sampler, upstream

    return anyio.run(work)


def test_several_samples_are_asked_for_at_once_and_the_request_is_the_callers():
    body = {"temperature": 0.3, "n": 9, "stream": True, "stream_options": {}, "something_new": [1]}
    with serving(lambda request: choices("a", "b", "c")) as server:
        outputs, sampler, _ = sampled(server, 3, body)
        (request,) = server.requests
    assert [output.text for output in outputs] == ["a", "b", "c"]
    assert request.body == {"model": "m", "messages": [], "temperature": 0.3, "something_new": [1], "n": 3}
    assert request.path == "/v1/chat/completions"
    assert [sample.choice["message"]["content"] for sample in sampler.samples] == ["a", "b", "c"]


def test_an_upstream_that_refuses_n_is_asked_without_and_remembered():
    def answer(request):
        return refused(400, "n must be 1") if "n" in request.body else choices("a")

    with serving(answer) as server:
        outputs, sampler, upstream = sampled(server, 3, again=3)
        assert ["n" in request.body for request in server.requests] == [True, False, False]
    assert [output.text for output in outputs] == ["a", "a"]  # the rest is left to the runner, one by one
    assert sampler.by_n is False
    assert upstream.heeds_n("other")


def test_a_request_that_is_refused_either_way_is_its_own_fault_and_n_is_tried_again():
    with serving(lambda request: refused(400, "no such parameter", param="tools")) as server:
        with pytest.raises(UpstreamError) as caught:
            sampled(server, 3)
        assert len(server.requests) == 2
    assert caught.value.answer.object["error"]["param"] == "tools"


def test_an_upstream_that_heeds_no_n_is_remembered():
    with serving(lambda request: choices("a")) as server:
        outputs, sampler, _ = sampled(server, 3)
    assert len(outputs) == 1
    assert sampler.by_n is False


def test_single_samples_of_a_seeded_request_have_seeds_of_their_own():
    with serving(lambda request: choices("a")) as server:
        sampled(server, 1, {"seed": 7}, again=1)
        assert [request.body["seed"] for request in server.requests] == [7, 8]


def test_no_header_makes_the_answer_unreadable():
    headers = [(b"Accept-Encoding", b"br"), (b"X-Org", b"o"), (b"Content-Type", b"text/plain")]
    with serving(lambda request: choices("a")) as server:
        sampled(server, 1, headers=headers)
        sent = server.requests[0].headers
    assert (sent["accept-encoding"], sent["content-type"], sent["x-org"]) == ("gzip, deflate", "application/json", "o")


@pytest.mark.parametrize(
    ("reply", "code", "status"),
    [
        (Reply(200, b"<html>"), "upstream_nonsense", 502),
        (Reply(200, b'{"choices": []}'), "upstream_nonsense", 502),
        (Reply(200, b'{"choices": [{"logprob": NaN}]}'), "upstream_nonsense", 502),
        (Reply(200, b'{"choices": [{}]}' + b" " * 200_000), "upstream_nonsense", 502),
        (Reply(200, b"{}", cut=50), "upstream_unreachable", 502),
        (Reply(307, b"", {"Location": "http://127.0.0.1:1/"}), "upstream_error", 307),
        (refused(429, "slow down"), "upstream_error", 429),
    ],
)
def test_what_is_no_completion_is_an_error_that_says_which(reply, code, status):
    with serving(lambda request: reply) as server, pytest.raises(UpstreamError) as caught:
        sampled(server, 1)
    assert (caught.value.code, caught.value.status) == (code, status)


@pytest.mark.parametrize(
    ("message", "text", "calls"),
    [
        ({"content": "Hello."}, "Hello.", []),
        ({"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}]}, "Hello.", []),
        ({"content": None, "refusal": "I cannot."}, "I cannot.", []),
        ({"content": None, "audio": {"transcript": "Spoken."}}, "Spoken.", []),
        (
            {"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
            "",
            [("f", {"a": 1})],
        ),
        ({"tool_calls": [{"type": "custom", "custom": {"name": "g", "input": "x = 1"}}]}, "", [("g", "x = 1")]),
        ({"function_call": {"name": "h", "arguments": "{}"}}, "", [("h", {})]),
        ({}, "", []),
    ],
)
def test_a_message_of_any_shape_is_read(message, text, calls):
    completion = {"choices": [{}]}
    output = output_of(completion, {"message": message}, 0, 0)
    assert output.text == text
    assert [(call.name, call.arguments) for call in output.tool_calls] == calls


def test_tokens_written_are_shared_out_and_tokens_read_are_entered_once():
    completion = {"choices": [{}, {}], "usage": {"prompt_tokens": 10, "completion_tokens": 7}}
    found = [output_of(completion, {}, place, place).usage for place in (0, 1)]
    assert [(usage.input_tokens, usage.output_tokens) for usage in found] == [(10, 4), (0, 3)]


def test_what_says_no_tokens_has_none():
    assert output_of({"choices": [{}]}, {}, 0, 0).usage.input_tokens is None
    with serving(lambda request: said("x", usage=None)) as server:
        assert sampled(server, 1)[1].usage() is None
