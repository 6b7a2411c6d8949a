"""Which headers and whose key go to an upstream, which come back, and what is sent a second time."""

from __future__ import annotations

import asyncio

import pytest

import likewise.service.upstream as upstream_module
from likewise.service.connections import upstream_client
from likewise.service.metrics import Metrics
from likewise.service.settings import TelemetrySettings, UpstreamSettings
from likewise.service.tracing import Tracing
from likewise.service.upstream import STALE_SECONDS, Upstream, UpstreamError, forwarded, returned
from wire_server import WHOLE, wire_serving

HALF_A_HEAD = b"HTTP/1.1 200 OK\r\nConte"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"


def upstream(**settings):
    made = UpstreamSettings(base_url="http://u/v1/", **settings)
    return Upstream("u", made, None, Metrics(), Tracing(TelemetrySettings()), 1_000)


def test_what_belongs_to_this_hop_and_to_us_is_not_forwarded():
    headers = [
        (b"Accept", b"text/event-stream"),
        (b"OpenAI-Organization", b"org"),
        (b"X-Stainless-Lang", b"python"),
        (b"Authorization", b"Bearer lw_x"),
        (b"Cookie", b"session=1"),
        (b"Host", b"proxy"),
        (b"Content-Length", b"3"),
        (b"Connection", b"keep-alive, X-Private"),
        (b"X-Private", b"1"),
        (b"X-Likewise-Key", b"lw_x"),
        (b"X-Forwarded-For", b"10.0.0.1"),
        (b"Transfer-Encoding", b"chunked"),
    ]
    assert forwarded(headers) == headers[:3]


def test_what_belongs_to_that_hop_is_not_returned_nor_any_cookie():
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Content-Encoding", b"gzip"),
        (b"Content-Length", b"3"),
        (b"Retry-After", b"7"),
        (b"X-Request-Id", b"req-1"),
        (b"Set-Cookie", b"session=theirs"),
        (b"Transfer-Encoding", b"chunked"),
        (b"X-Likewise-Decision", b"serve"),
        (b"Access-Control-Allow-Origin", b"*"),
    ]
    kept = [b"content-type", b"content-encoding", b"content-length", b"retry-after", b"x-request-id"]
    assert [name for name, _ in returned(headers)] == kept
    decoded = [name for name, _ in returned(headers, decoded=True)]
    assert decoded == [name for name in kept if name not in (b"content-encoding", b"content-length")]


@pytest.mark.parametrize(
    ("key_from", "callers", "sent"),
    [
        ("either", "Bearer theirs", "Bearer theirs"),
        ("either", None, "Bearer own-key"),
        ("caller", "Bearer theirs", "Bearer theirs"),
        ("caller", None, None),
        ("server", "Bearer theirs", "Bearer own-key"),
        ("server", None, "Bearer own-key"),
    ],
)
def test_whose_key_is_sent(key_from, callers, sent):
    headers = dict(
        upstream(api_key="own-key", key_from=key_from).headers([(b"authorization", b"Bearer lw_x")], callers)
    )
    assert headers.get(b"authorization") == (sent and sent.encode())


def test_without_a_key_none_is_sent():
    assert upstream().headers([], None) == []


def test_own_headers_come_in_place_of_the_callers():
    made = upstream(api_key="own-key", headers={"Api-Key": "azure", "Authorization": "Basic x"})
    headers = made.headers([(b"API-KEY", b"theirs"), (b"Accept", b"*/*")], "Bearer theirs")
    assert headers == [(b"Accept", b"*/*"), (b"api-key", b"azure"), (b"authorization", b"Basic x")]


def test_a_request_goes_below_the_base_url_with_its_query_and_nothing_added():
    request = upstream().request("POST", "/chat/completions", b"api-version=1", [(b"x-a", b"1")], b"{}")
    assert str(request.url) == "http://u/v1/chat/completions?api-version=1"
    assert {name.lower() for name, _ in request.headers.raw} == {b"host", b"content-length", b"x-a"}


def test_models_that_heed_no_n_are_remembered_up_to_a_number():
    made = upstream()
    made.remember_no_n("a")
    assert (made.heeds_n("a"), made.heeds_n("b")) == (False, True)
    for number in range(2_000):
        made.remember_no_n(str(number))
    assert len(made._heeds_n) == 1_000
    assert upstream(by_n=False).heeds_n("b") is False


@pytest.fixture
def patient(monkeypatch):
    """A closed connection counts as one for longer: this machine may be busy."""
    monkeypatch.setattr(upstream_module, "STALE_SECONDS", 4.0)


def asked(url, *bodies, method="POST", path="/chat/completions"):
    """Status of each of these requests, one after another over kept connections; the error's code where none came."""

    async def run():
        found = []
        async with upstream_client() as client:
            made = upstream()
            made.settings, made.client = UpstreamSettings(base_url=url, timeout=5), client
            for body in bodies:
                try:
                    answer = await made.whole(made.request(method, path, b"", [], body))
                except UpstreamError as problem:
                    found.append(problem.code)
                else:
                    found.append(answer.status)
        return found

    return asyncio.run(run())


def test_a_request_that_met_a_closing_connection_is_sent_once_more_over_a_new_one(patient):
    with wire_serving([WHOLE], [WHOLE]) as server:
        assert asked(server.url, b"1", b"2") == [200, 200]
    assert server.requests == [(0, b"1"), (0, b"2"), (1, b"2")]


def test_it_is_sent_no_third_time(patient):
    with wire_serving([WHOLE], []) as server:
        assert asked(server.url, b"1", b"2") == [200, "upstream_unreachable"]
    assert server.requests == [(0, b"1"), (0, b"2"), (1, b"2")]


def test_a_connection_made_for_the_request_is_no_reason_to_ask_again(patient):
    with wire_serving([], [WHOLE]) as server:
        assert asked(server.url, b"1") == ["upstream_unreachable"]
    assert server.requests == [(0, b"1")]


@pytest.mark.parametrize("begun", [HALF_A_HEAD, HINTS, WHOLE[:-4]], ids=["half a head", "a hint", "half a body"])
def test_what_was_answered_in_part_is_not_asked_again(patient, begun):
    with wire_serving([WHOLE, begun], [WHOLE]) as server:
        assert asked(server.url, b"1", b"2") == [200, "upstream_unreachable"]
    assert server.requests == [(0, b"1"), (0, b"2")]


def test_what_breaks_after_a_while_was_worked_on_and_is_not_asked_again():
    with wire_serving([WHOLE, STALE_SECONDS + 0.2], [WHOLE]) as server:
        assert asked(server.url, b"1", b"2") == [200, "upstream_unreachable"]
    assert server.requests == [(0, b"1"), (0, b"2")]


@pytest.mark.parametrize(("method", "path", "times"), [("POST", "/batches", 1), ("GET", "/models", 2)])
def test_a_post_that_may_make_a_thing_is_never_sent_twice_and_what_only_reads_is(patient, method, path, times):
    with wire_serving([WHOLE], [WHOLE]) as server:
        found = asked(server.url, b"1", b"2", method=method, path=path)
    assert found == [200, 200 if times == 2 else "upstream_unreachable"]
    assert [body for _, body in server.requests].count(b"2") == times
