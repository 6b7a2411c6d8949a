"""Sizes, load, headers and log lines at the entrance."""

from __future__ import annotations

import logging
import socket
import threading
import time

import pytest

from llm_server import Reply
from service_process import completion, saying

BODY = {"model": "tiny", "messages": [{"role": "user", "content": "?"}]}
PATHS = ["/v1/chat/completions", "/v1/score", "/v1/analyze", "/v1/compare"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_refused_declared_or_not(start, path, declared):
    service, upstream = start(saying("Yes."), max_body_bytes=2_000)
    body = b'{"a": "' + b"x" * 3_000 + b'"}'
    with service.client() as client:
        content = body if declared else iter([body[:1_500], body[1_500:]])
        answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
    assert upstream.requests == []


def test_a_body_at_the_limit_passes(start):
    service, _ = start(saying("Yes."), max_body_bytes=2_000)
    head, tail = b'{"model": "tiny", "messages": [], "user": "', b'"}'
    with service.client() as client:
        body = head + b"x" * (2_000 - len(head) - len(tail)) + tail
        assert client.post("/v1/chat/completions", content=body).status_code == 200


def test_too_many_requests_at_once_are_told_to_come_back_and_health_still_answers(start):
    service, upstream = start(lambda request: completion("Yes.", "Yes.", "Yes."), max_in_flight=2)
    upstream.answer = lambda request: (time.sleep(1.0), completion("Yes.", "Yes.", "Yes."))[1]
    statuses = []

    def post():
        with service.client() as client:
            answer = client.post("/v1/chat/completions", json=BODY)
            statuses.append((answer.status_code, answer.headers.get("retry-after")))

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.4)
    with service.client() as client:
        assert client.get("/healthz").status_code == 200
    for thread in threads:
        thread.join()
    assert sorted(statuses, key=str) == [(200, None), (200, None), (503, "1"), (503, "1")]


def test_every_answer_has_a_name_of_its_own_and_headers_that_keep_it_private(start):
    service, _ = start(saying("Yes."))
    with service.client() as client:
        answers = [client.get("/healthz"), client.get("/v1/none"), client.get("/v1/verdicts")]
        own = client.get("/healthz", headers={"X-Likewise-Request-Id": "mine-1"})
        odd = client.get("/healthz", headers={"X-Likewise-Request-Id": "not a name!"})
    assert len({answer.headers["x-likewise-request-id"] for answer in answers}) == 3
    assert own.headers["x-likewise-request-id"] == "mine-1"
    assert odd.headers["x-likewise-request-id"] != "not a name!"
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_no_other_origin_may_read_answers(start):
    service, _ = start(saying("Yes."))
    with service.client() as client:
        headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        for answer in (client.options("/v1/score", headers=headers), client.get("/healthz", headers=headers)):
            assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_log_line_says_what_was_decided_and_holds_neither_key_nor_text(start, caplog):
    secret = "sk-of-the-caller-0123456789"
    service, _ = start(saying("The spy."), upstream={"api_key": "sk-of-the-server-0123456789"})
    with caplog.at_level(logging.DEBUG), service.client() as client:
        given = {"X-Likewise-Key": service.key, "Authorization": f"Bearer {secret}"}
        answer = client.post("/v1/chat/completions", json=BODY, headers=given)
        client.post("/v1/chat/completions", json=BODY, headers={"Authorization": f"Bearer {service.key}x"})
        client.get(f"/v1/{secret}", headers=given)
    lines = [record for record in caplog.records if record.name == "likewise.access"]
    assert [record.status for record in lines[:2]] == [200, 401]
    assert lines[0].verdict == answer.headers["x-likewise-verdict-id"]
    assert lines[0].decision == "serve"
    from likewise.service.logs import JsonFormatter

    text = "\n".join(JsonFormatter(service.service.redactor).format(record) for record in caplog.records)
    assert "/v1/chat/completions" in text
    for hidden in (secret, service.key, "sk-of-the-server-0123456789", "The spy."):
        assert hidden not in text


def test_a_request_that_is_no_http_is_answered_and_the_next_is_served(start):
    service, _ = start(saying("Yes."))
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert b"400" in raw.recv(200)
    with service.client() as client:
        assert client.get("/healthz").status_code == 200


def connected(service):
    host, _, port = service.url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


@pytest.mark.parametrize(
    "begun", [b"", b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-A: "], ids=["none", "half"]
)
def test_a_head_that_does_not_come_is_not_waited_for_however_slowly_it_drips(start, begun):
    service, _ = start(saying("Yes."), receive_seconds=2.0)
    with connected(service) as raw:
        raw.sendall(begun)
        ends = time.monotonic() + 20
        raw.settimeout(0.1)
        while time.monotonic() < ends:
            try:
                if begun:
                    raw.sendall(b"a")
                gone = raw.recv(100) == b""
            except TimeoutError:
                continue
            except OSError:
                gone = True
            break
        else:
            gone = False
    assert gone


def assert_alive(raw):
    """One whole request and its whole answer, which may come in parts."""
    raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    answer = b""
    while b'"alive"}' not in answer:
        answer += raw.recv(2_000)
    assert b"200 OK" in answer


def test_a_kept_connection_is_no_way_around_the_time_for_a_head(start):
    service, _ = start(saying("Yes."), receive_seconds=2.0)
    with connected(service) as raw:
        assert_alive(raw)
        time.sleep(2.2)  # the time is that of a head, not of the connection
        assert_alive(raw)
        raw.sendall(b"\r\n")
        assert raw.recv(100) == b""


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_does_not_come_gives_its_place_up(start, path):
    service, upstream = start(saying("Yes."), receive_seconds=2.0, max_in_flight=1)
    with connected(service) as raw:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n"
        raw.sendall(head.encode() + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        answer = b"".join(iter(lambda: raw.recv(4_000), b""))  # to the end: it hangs up
    assert b"408" in answer.splitlines()[0]
    assert b"request_too_slow" in answer
    with service.client() as client:
        assert client.post("/v1/chat/completions", json=BODY).status_code == 200
    assert len(upstream.requests) == 1


def test_an_answer_may_take_longer_than_a_request_may(start):
    service, upstream = start(saying("Yes."), receive_seconds=1.0)
    upstream.answer = lambda request: (time.sleep(1.5), completion("Yes.", "Yes.", "Yes."))[1]
    with service.client() as client:
        assert client.post("/v1/chat/completions", json=BODY).status_code == 200


def test_a_client_that_goes_in_the_middle_of_its_body_harms_nobody(start):
    service, upstream = start(lambda request: Reply())
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as raw:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n"
        raw.sendall(head.encode() + b"Content-Length: 100\r\n\r\n{")
    with service.client() as client:
        assert client.get("/healthz").status_code == 200
    assert upstream.requests == []
