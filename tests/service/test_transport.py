"""The transport under both clients: connections of whoever makes them, certificates checked, no proxy in between."""

from __future__ import annotations

import asyncio
import ssl

import httpcore2
import httpx2
import pytest
import trustme

from likewise.service.transport import Around, BackendTransport
from service.security.test_outbound import Dialled, serving

LIMITS = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=5)


def get(urls, backend, context=None):
    """Status codes of these URLs, one after another with one client."""

    async def main():
        transport = BackendTransport(backend, context or httpx2.create_ssl_context(), LIMITS)
        async with httpx2.AsyncClient(transport=transport, timeout=10) as client:
            return [(await client.get(url)).status_code for url in urls]

    return asyncio.run(main())


def test_every_connection_is_one_of_the_backend_and_is_kept_as_the_limits_say():
    with serving() as server:
        backend = Dialled(server.server_address)
        urls = ["http://a.example/1", "http://a.example/2", "http://b.example/3"]
        assert get(urls, backend) == [200, 200, 200]
        assert backend.addresses == ["a.example", "b.example"]
        assert server.seen == [("a.example", "/1"), ("a.example", "/2"), ("b.example", "/3")]


def test_certificates_are_checked_by_the_context_that_was_given():
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.example").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serving(context) as server:
        backend = Dialled(server.server_address)
        assert get(["https://a.example/"], backend, trusting) == [200]
        with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            get(["https://a.example/"], backend)


def test_no_proxy_of_the_environment_comes_in_between(monkeypatch):
    with serving() as server, serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.server_port}")
        assert get(["http://a.example/"], Dialled(server.server_address)) == [200]
        assert proxy.seen == []


def test_a_socket_of_this_machine_is_never_opened():
    with pytest.raises(NotImplementedError):
        asyncio.run(Around().connect_unix_socket("/run/docker.sock"))


def test_what_wraps_makes_connections_by_what_it_wraps_and_by_the_loops_own_otherwise():
    inner = Dialled()
    assert Around(inner).inner is inner
    assert isinstance(Around().inner, httpcore2.AnyIOBackend)
