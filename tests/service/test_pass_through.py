"""Where the policy is off: byte for byte, in both directions, as it comes."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time

import httpx2
import pytest

from llm_server import Reply, refused

OFF = [{"mode": "off"}]
# Spaces, an unusual order, an escape, a duplicate key and a number that no parser would write the same way again.
ODD = b'{ "messages":[{"content":"caf\\u00e9 \xe2\x82\xac"}] , "model" : "tiny","x":1.50e+2,"seed":1,"seed":2 }\n'
EVENTS = [b'data: {"a":1}\n\n', b": a comment\n", b"\n", b'data: {"b":\xe2\x82', b"\xac}\n\ndata: [DONE]\n\n"]
SSE = {"Content-Type": "text/event-stream; charset=utf-8", "X-Request-Id": "req-1"}


def post(service, content=ODD, **headers):
    with service.client() as client:
        headers = {"Content-Type": "application/json"} | headers
        return client.post("/v1/chat/completions", content=content, headers=headers)


def test_request_and_answer_are_the_same_bytes(start):
    answer = b'{"id" :"c",\n"choices": [ ], "odd": 1.10}\n'
    service, upstream = start(lambda request: Reply(200, answer, {"Content-Type": "application/json"}), policies=OFF)
    response = post(service)
    assert upstream.requests[0].raw == ODD
    assert response.content == answer
    assert response.headers["x-likewise-mode"] == "off"
    assert service.verdicts() == 0


def test_the_callers_headers_go_and_the_upstreams_come_and_nothing_is_added(start):
    reply = Reply(200, b"{}", {"Content-Type": "application/json", "X-Request-Id": "req-1", "X-RateLimit-Left": "3"})
    service, upstream = start(lambda request: reply, policies=OFF)
    own = {"openai-organization": "org", "user-agent": "OpenAI/Python", "accept-encoding": "gzip"}
    response = post(service, **own)
    sent = upstream.requests[0].headers
    assert {name: sent[name] for name in own} == own
    assert set(sent) == {"host", "content-length", "content-type", "accept", *own}
    assert (response.headers["x-request-id"], response.headers["x-ratelimit-left"]) == ("req-1", "3")


def test_a_compressed_answer_stays_compressed(start):
    packed = gzip.compress(b'{"choices": []}', mtime=0)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    service, _ = start(lambda request: Reply(200, packed, headers), policies=OFF)
    with service.client() as client, client.stream("POST", "/v1/chat/completions", content=ODD) as response:
        assert b"".join(response.iter_raw()) == packed
        assert response.headers["content-encoding"] == "gzip"


def test_a_stream_comes_piece_by_piece_with_the_same_bytes(start):
    service, _ = start(lambda request: Reply(200, headers=SSE, pieces=EVENTS, pause=0.2), policies=OFF)
    found, times = [], []
    began = time.monotonic()
    with service.client() as client, client.stream("POST", "/v1/chat/completions", content=ODD) as response:
        for piece in response.iter_raw():
            found.append(piece)
            times.append(time.monotonic() - began)
    assert b"".join(found) == b"".join(EVENTS)
    assert response.headers["content-type"] == SSE["Content-Type"]
    assert times[-1] - times[0] > 0.5  # the first came long before the last was written


@pytest.mark.parametrize("status", [400, 401, 404, 409, 429, 500, 503])
def test_an_error_of_the_upstream_is_passed_on_as_it_is(start, status):
    reply = refused(status, "no", wait=7, code="x", param="messages")
    reply.headers["Retry-After"] = "7"
    service, _ = start(lambda request: reply, policies=OFF)
    response = post(service)
    assert (response.status_code, response.content, response.headers["retry-after"]) == (status, reply.body, "7")


def test_a_redirect_is_not_followed(start):
    service, upstream = start(lambda request: Reply(307, b"", {"Location": "http://127.0.0.1:9/"}), policies=OFF)
    with service.client(follow_redirects=False) as client:
        assert client.post("/v1/chat/completions", content=ODD).status_code == 307
    assert len(upstream.requests) == 1


def test_an_upstream_that_is_not_there_is_a_502_that_says_so(start):
    service, _ = start(None, upstreams={"gone": {"base_url": "http://127.0.0.1:9/v1"}}, policies=OFF)
    response = post(service)
    assert response.status_code == 502
    assert response.json()["error"] == {
        "message": "the upstream 'gone' cannot be reached (ConnectError)",
        "type": "upstream_error",
        "code": "upstream_unreachable",
        "param": None,
    }


def test_an_upstream_that_says_nothing_is_a_504(start):
    service, _ = start(lambda request: Reply(200, b"{}", delay=5), upstream={"timeout": 0.3}, policies=OFF)
    response = post(service)
    assert (response.status_code, response.json()["error"]["code"]) == (504, "upstream_timeout")


def test_half_an_answer_is_not_passed_off_as_a_whole_one(start):
    service, _ = start(lambda request: Reply(200, headers=SSE, pieces=EVENTS[:2], cut=1), policies=OFF)
    with (
        service.client() as client,
        pytest.raises(httpx2.RemoteProtocolError),
        client.stream("POST", "/v1/chat/completions", content=ODD) as response,
    ):
        list(response.iter_raw())


@pytest.mark.parametrize("streams", [False, True])
def test_a_client_that_hangs_up_cancels_the_call(start, streams):
    pieces = {"pieces": EVENTS, "pause": 20} if streams else {"body": b"{}", "delay": 20}
    service, upstream = start(lambda request: Reply(200, headers=SSE, **pieces), policies=OFF)
    host, _, port = service.url.removeprefix("http://").partition(":")
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n"
    head += f"Content-Length: {len(ODD)}\r\n\r\n"
    with socket.create_connection((host, int(port))) as client:
        client.sendall(head.encode() + ODD)
        _until(lambda: upstream.under_way == 1)
        if streams:
            assert b"200" in client.recv(100)
    _until(lambda: upstream.hung_up == 1)
    _until(lambda: "likewise_clients_gone_total 1.0" in service.service.metrics.text().decode())


def test_many_requests_at_once_do_not_mix(start):
    def answer(request):
        return Reply(200, json.dumps({"echo": request.body["n"]}).encode(), {"Content-Type": "application/json"}, 0.01)

    service, _ = start(answer, policies=OFF)
    found = {}

    def ask(number):
        found[number] = post(service, json.dumps({"model": "m", "n": number}).encode()).json()["echo"]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(30)}


def _until(condition, seconds=10):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.02)
