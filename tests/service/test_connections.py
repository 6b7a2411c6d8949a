"""What is known of a call that failed: over which connection it went, and whether anything came back."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import httpx2
import pytest

from likewise.service.connections import LIMITS, Wire, upstream_client, watched
from wire_server import WHOLE, wire_serving

PROXIES = ("http_proxy", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def calls(url, count=1):
    """What was on the wire in each of so many calls, one after another, with one client."""

    async def run():
        found = []
        async with upstream_client() as client:
            for _ in range(count):
                with watched() as wire:
                    with suppress(httpx2.TransportError):
                        await client.post(url, content=b"{}")
                    found.append(wire)
        return found

    return asyncio.run(run())


def test_a_call_over_a_connection_of_its_own_and_then_one_over_the_kept_one():
    with wire_serving([WHOLE, WHOLE]) as upstream:
        assert calls(upstream.url, 2) == [Wire(True, True, True), Wire(True, False, True)]


def test_a_kept_connection_that_ends_without_a_word_is_told_from_one_that_began_to_answer():
    with wire_serving([WHOLE]) as upstream:
        _, silent = calls(upstream.url, 2)
    with wire_serving([WHOLE, b"HTTP/1.1 200 OK\r\nConte"]) as upstream:
        _, begun, *_ = calls(upstream.url, 2)
    assert silent == Wire(sent=True, connected=False, heard=False)
    assert silent.unheard_on_kept
    assert begun == Wire(sent=True, connected=False, heard=True)
    assert not begun.unheard_on_kept


def test_a_new_connection_that_ends_without_a_word_was_not_kept():
    with wire_serving([]) as upstream:
        (wire,) = calls(upstream.url)
    assert wire == Wire(sent=True, connected=True, heard=False)
    assert not wire.unheard_on_kept


def test_calls_side_by_side_are_watched_each_for_itself():
    async def run(url):
        async with upstream_client() as client:

            async def one():
                with watched() as wire, pytest.raises(httpx2.RemoteProtocolError):
                    await client.post(url, content=b"{}")
                return wire

            async def other():
                with watched() as wire:
                    await asyncio.sleep(0.05)
                return wire

            return await asyncio.gather(one(), other())

    with wire_serving([]) as upstream:
        assert asyncio.run(run(upstream.url)) == [Wire(True, True, False), Wire()]


def test_what_is_not_watched_is_not_known_to_have_been_silent(monkeypatch):
    with wire_serving([WHOLE]) as proxy:  # which answers in place of who is asked, and closes at the second request
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        first, second = calls("http://upstream.example/v1", 2)
        assert [body for _, body in proxy.requests] == [b"{}", b"{}"]
    assert (first, second) == (Wire(), Wire())
    assert not second.unheard_on_kept


def test_hosts_that_no_proxy_is_for_change_nothing_where_there_is_no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    with wire_serving([WHOLE]) as upstream:
        assert calls(upstream.url) == [Wire(True, True, True)]


def test_connections_are_let_go_before_a_server_closes_them():
    assert LIMITS.keepalive_expiry is not None
    assert LIMITS.keepalive_expiry < 5  # seconds that uvicorn and Node keep an idle connection
