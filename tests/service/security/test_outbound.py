from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpcore2
import httpx2
import pytest
import trustme
from openai import APIConnectionError, AsyncOpenAI

from likewise.service.security.allow_list import AllowList, BlockedAddressError
from likewise.service.security.outbound import guarded_client, resolve
from service.security.dns_stub import DnsStub
from service.security.spellings import LISTED, SPELLINGS
from service.security.test_addresses import NEVER, PRIVATE

NEVER_CALLED = [address for group in NEVER.values() for address in group]


class Dialled(httpcore2.AsyncNetworkBackend):
    """Notes which addresses are dialled, and dials this machine's in their place where told to."""

    def __init__(self, instead=None):
        self.addresses, self._instead, self._inner = [], instead, httpcore2.AnyIOBackend()

    async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        self.addresses.append(host)
        if self._instead is None:
            raise httpcore2.ConnectError("nobody there")
        return await self._inner.connect_tcp(*self._instead, timeout, local_address, socket_options)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)


@contextmanager
def serving(context=None, address="127.0.0.1"):
    """A real server on loopback: /to?URL redirects, all else says what it was asked."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            seen.append((self.headers["Host"], self.path))
            redirected = self.path.startswith("/to?")
            self.send_response(307 if redirected else 200)
            if redirected:
                self.send_header("Location", self.path.removeprefix("/to?"))
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def do_POST(self):
            self.do_GET()

        def log_message(self, *arguments):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            pass

    server = Server((address, 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    server.seen = seen
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def get(url, allow, **options):
    """Fetch a URL with a guarded client."""

    async def main():
        async with guarded_client(AllowList.parse(allow), timeout=10, **options) as client:
            response = await client.get(url)
            return response.status_code, response.text

    return asyncio.run(main())


def named(*addresses):
    """A resolver that gives every name these addresses."""

    async def _resolve(host, port):
        return list(addresses)

    return _resolve


def test_a_listed_host_and_port_of_this_machine_is_called():
    with serving() as server:
        port = server.server_port
        assert get(f"http://127.0.0.1:{port}/x", [f"http://127.0.0.1:{port}"]) == (200, "ok")
        assert get(f"http://localhost:{port}/y", [f"http://localhost:{port}"]) == (200, "ok")
        assert server.seen == [(f"127.0.0.1:{port}", "/x"), (f"localhost:{port}", "/y")]


@pytest.mark.parametrize("url", [url for url in SPELLINGS if url.isprintable() and "://" in url])
def test_no_spelling_of_what_is_not_listed_is_dialled(url):
    """Without the listed address: the client itself reads 127。0。0。1 as 127.0.0.1."""
    dialled, listed = Dialled(), [entry for entry in LISTED if "127" not in entry]
    refusals = (
        httpx2.InvalidURL,
        httpx2.UnsupportedProtocol,
        httpx2.LocalProtocolError,
        BlockedAddressError,
        UnicodeError,
    )
    with pytest.raises(refusals):
        get(url, listed, resolver=named("127.0.0.1"), backend=dialled)
    assert dialled.addresses == []


@pytest.mark.parametrize("address", [*NEVER_CALLED, *PRIVATE])
def test_a_listed_name_that_leads_to_no_public_address_is_not_dialled(address):
    dialled = Dialled()
    with pytest.raises(BlockedAddressError, match="leads to"):
        get("https://api.example.com/", ["api.example.com"], resolver=named(address), backend=dialled)
    with pytest.raises(BlockedAddressError):
        get("https://a.example.com/", ["*.example.com"], resolver=named("93.184.216.34", address), backend=dialled)
    assert dialled.addresses == []


@pytest.mark.parametrize("address", NEVER_CALLED)
def test_no_entry_lets_what_is_never_called_be_called(address):
    dialled = Dialled()
    with pytest.raises(BlockedAddressError, match="which is never called"):
        get("http://a.example:80/", ["http://a.example:80"], resolver=named(address), backend=dialled)
    assert dialled.addresses == []


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_needs_an_entry_with_its_port(address):
    dialled = Dialled()
    with pytest.raises(BlockedAddressError, match="a private address; list it as host:port to allow it"):
        get("http://a.example/", ["http://a.example"], resolver=named(address), backend=dialled)
    with pytest.raises(httpx2.ConnectError, match="nobody there"):
        get("http://a.example/", ["http://a.example:80"], resolver=named(address), backend=dialled)
    assert dialled.addresses == [address]


def test_addresses_are_tried_one_after_another_and_their_number_is_bounded():
    dialled = Dialled()
    many = [f"93.184.216.{i}" for i in range(30)]
    with pytest.raises(httpx2.ConnectError, match="nobody there"):
        get("https://api.example.com/", ["api.example.com"], resolver=named(*many), backend=dialled)
    assert dialled.addresses == many[:8]


def test_a_name_is_asked_for_once_and_the_connection_is_made_to_what_was_checked():
    """The name server answers with a public address first and with this machine's from then on."""
    dialled = Dialled()
    with DnsStub({"rebind.example.com": [["93.184.216.34"], ["127.0.0.1"]]}) as dns:
        with pytest.raises(httpx2.ConnectError, match="nobody there"):
            get("https://rebind.example.com/", ["rebind.example.com"], resolver=dns.resolve, backend=dialled)
        assert dns.asked == ["rebind.example.com"]
        assert dialled.addresses == ["93.184.216.34"]
        with pytest.raises(BlockedAddressError, match=r"leads to 127\.0\.0\.1"):
            get("https://rebind.example.com/", ["rebind.example.com"], resolver=dns.resolve, backend=dialled)
        assert dialled.addresses == ["93.184.216.34"]


def test_a_name_that_is_bound_anew_between_two_requests_is_checked_anew_for_a_new_connection():
    async def main(dns, port):
        allow = AllowList.parse([f"http://a.example:{port}"])
        async with guarded_client(allow, timeout=10, resolver=dns.resolve) as client:
            first = await client.get(f"http://a.example:{port}/one")
            again = await client.get(f"http://a.example:{port}/two")  # over the same connection
            closing = await client.get(f"http://a.example:{port}/three", headers={"Connection": "close"})
            assert [first.status_code, again.status_code, closing.status_code] == [200] * 3
            assert len(dns.asked) == 1
            with pytest.raises(BlockedAddressError, match=r"169\.254\.169\.254"):
                await client.get(f"http://a.example:{port}/four")

    answers = {"a.example": [["127.0.0.1"], ["169.254.169.254"]]}
    with serving() as server, DnsStub(answers) as dns:
        asyncio.run(main(dns, server.server_port))
        assert [path for _, path in server.seen] == ["/one", "/two", "/three"]


def test_a_name_with_one_bad_address_among_good_ones_is_not_called():
    with DnsStub({"mixed.example.com": [["93.184.216.34", "10.0.0.1"], ["93.184.216.34", "::1"]]}) as dns:
        for bad in (r"10\.0\.0\.1", "::1"):
            with pytest.raises(BlockedAddressError, match=bad):
                get("https://mixed.example.com/", ["mixed.example.com"], resolver=dns.resolve, backend=Dialled())


def test_a_name_that_does_not_exist_is_a_connection_error():
    with DnsStub({}) as dns, pytest.raises(httpx2.ConnectError, match="cannot be resolved"):
        get("https://nowhere.example.com/", ["nowhere.example.com"], resolver=dns.resolve)


def test_a_name_server_that_does_not_answer_in_time_is_a_time_out():
    async def never(host, port):
        await asyncio.sleep(60)

    with pytest.raises(httpx2.ConnectTimeout, match="not resolved in time"):
        asyncio.run(one(never))


async def one(resolver):
    async with guarded_client(AllowList.parse(["a.example"]), timeout=0.2, resolver=resolver) as client:
        await client.get("https://a.example/")


def test_a_redirect_is_not_followed_unless_told_to_and_then_each_is_checked():
    with serving() as server, serving() as other:
        here, there = f"http://127.0.0.1:{server.server_port}", f"http://127.0.0.1:{other.server_port}"
        assert get(f"{here}/to?{there}/x", [here])[0] == 307
        assert get(f"{here}/to?/same", [here], follow_redirects=True) == (200, "ok")
        for target in (f"{there}/x", "http://169.254.169.254/", "file:///etc/passwd", "https://user@evil.example/",
                       f"http://localhost:{other.server_port}/", f"http://127.1:{server.server_port}/"):  # fmt: skip
            with pytest.raises((BlockedAddressError, httpx2.UnsupportedProtocol)):
                get(f"{here}/to?{target}", [here], follow_redirects=True)
        assert other.seen == []
        assert get(f"{here}/to?{there}/x", [here, there], follow_redirects=True) == (200, "ok")
        assert [path for _, path in other.seen] == ["/x"]


def test_the_certificate_is_checked_against_the_name_though_the_address_is_dialled():
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asked = []
    context.sni_callback = lambda sock, name, ctx: asked.append(name)
    authority.issue_cert("api.example.com").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serving(context) as server:
        options = {"verify": trusting, "resolver": named("93.184.216.34"), "backend": Dialled(server.server_address)}
        assert get("https://api.example.com/x", ["api.example.com"], **options) == (200, "ok")
        assert asked == ["api.example.com"]
        assert server.seen == [("api.example.com", "/x")]
        with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            get("https://other.example.com/", ["other.example.com"], **options)
        options["verify"] = True
        with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            get("https://api.example.com/", ["api.example.com"], **options)


def test_no_proxy_of_the_environment_is_used(monkeypatch):
    with serving() as server, serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
        here = f"http://127.0.0.1:{server.server_port}"
        assert get(f"{here}/x", [here]) == (200, "ok")
        assert proxy.seen == []


@pytest.mark.parametrize("option", ["transport", "mounts", "proxy", "trust_env"])
def test_what_would_lead_around_the_guard_is_refused(option):
    with pytest.raises(TypeError, match=f"{option} would lead around the guard"):
        guarded_client(AllowList(), **{option: None})


def test_the_official_client_takes_it_and_sees_a_connection_that_could_not_be_made():
    async def main():
        http = guarded_client(AllowList.parse(["api.example.com"]), resolver=named("127.0.0.1"))
        url = "https://api.example.com/v1"
        async with AsyncOpenAI(api_key="k", base_url=url, max_retries=0, http_client=http) as client:
            with pytest.raises(APIConnectionError) as refused:
                await client.models.list()
        assert isinstance(refused.value.__cause__, BlockedAddressError)

    asyncio.run(main())


def test_the_systems_resolver_gives_addresses_of_this_machine():
    found = asyncio.run(resolve("localhost", 80))
    assert set(found) <= {"127.0.0.1", "::1"}
    assert found
    with pytest.raises(socket.gaierror):
        asyncio.run(resolve("no-such-host.invalid", 80))
