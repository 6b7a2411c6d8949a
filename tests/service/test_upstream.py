"""Which headers and whose key go to an upstream, and which come back."""

from __future__ import annotations

import pytest

from likewise.service.metrics import Metrics
from likewise.service.settings import TelemetrySettings, UpstreamSettings
from likewise.service.tracing import Tracing
from likewise.service.upstream import Upstream, forwarded, returned


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
