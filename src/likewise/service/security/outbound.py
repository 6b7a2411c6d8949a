"""Calls that the service makes itself: only to listed hosts, and only to addresses that were checked.

A name is resolved once for each connection; all that it stands for is checked, and the connection is made to what was
checked, not to the name: a name server that answers otherwise the second time is not asked a second time. The server's
certificate is still checked against the name. Each redirect is a request of its own and is checked as one.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any, TypeAlias

import anyio
import httpcore2
import httpx2

from likewise.service.security.addresses import Reach, reach_of
from likewise.service.security.allow_list import PORTS, AllowList, BlockedAddressError
from likewise.service.transport import Around, BackendTransport

__all__ = ["BlockedAddressError", "GuardedTransport", "Resolver", "guarded_client", "resolve"]

Resolver: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a name, as the system would."""

LIMITS = httpx2.Limits(max_connections=200, max_keepalive_connections=50, keepalive_expiry=30.0)
MOST_ADDRESSES = 8
"""Addresses of one name that are tried."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, by the system's resolver.

    Raises:
        OSError: There is no such name.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class _CheckedBackend(Around):
    """Makes connections to checked addresses alone."""

    def __init__(self, allow: AllowList, resolver: Resolver, inner: httpcore2.AsyncNetworkBackend | None) -> None:
        super().__init__(inner)
        self._allow, self._resolver = allow, resolver

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        name = host.strip("[]")
        ends = None if timeout is None else time.monotonic() + timeout
        addresses = await self._checked(name, port, timeout)
        for i, address in enumerate(addresses):
            left = None if ends is None else max(ends - time.monotonic(), 0.001)
            try:
                return await self.inner.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if i == len(addresses) - 1:
                    raise
        raise httpcore2.ConnectError(f"{name} has no address")

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise BlockedAddressError("a socket of this machine", "not on the list of addresses that may be called")

    async def _checked(self, host: str, port: int, timeout: float | None) -> list[str]:
        """The addresses of a host, all of them allowed: one that is not makes the others suspect."""
        private = self._allow.may_be_private(host, port)
        addresses = [host] if _is_address(host) else await self._resolved(host, port, timeout)
        for address in addresses:
            reach = reach_of(address) if _is_address(address) else Reach.NEVER
            if reach is Reach.NEVER:
                raise BlockedAddressError(f"{host}:{port}", f"leads to {address}, which is never called")
            if reach is Reach.PRIVATE and not private:
                problem = f"leads to {address}, a private address; list it as host:port to allow it"
                raise BlockedAddressError(f"{host}:{port}", problem)
        return addresses[:MOST_ADDRESSES]

    async def _resolved(self, host: str, port: int, timeout: float | None) -> list[str]:
        try:
            with anyio.fail_after(timeout):
                return list(await self._resolver(host, port))
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"{host} was not resolved in time") from None
        except (OSError, UnicodeError) as problem:
            raise httpcore2.ConnectError(f"{host} cannot be resolved ({problem})") from problem


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class GuardedTransport(BackendTransport):
    """The client's own transport, over connections to checked addresses; no proxy and no environment enters it."""

    def __init__(
        self,
        allow: AllowList,
        *,
        verify: ssl.SSLContext | bool = True,
        limits: httpx2.Limits | None = None,
        resolver: Resolver = resolve,
        backend: httpcore2.AsyncNetworkBackend | None = None,
    ) -> None:
        """Set up.

        Args:
            allow: What may be called.
            verify: How certificates are checked.
            limits: Connections at once, and how long idle ones are kept.
            resolver: Gives the addresses of a name.
            backend: Makes the connections to addresses.
        """
        context = httpx2.create_ssl_context(verify=verify, trust_env=False)
        super().__init__(_CheckedBackend(allow, resolver, backend), context, limits or LIMITS)
        self._allow = allow

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Check the address of this request, which may be a redirect, and send it.

        Raises:
            BlockedAddressError: It may not be called.
        """
        target = self._allow.check(request.url)
        host = request.url.raw_host.decode("ascii").strip("[]")  # what the connection will be made by
        if (host, request.url.port or PORTS[target.scheme]) != (target.host, target.port):
            raise BlockedAddressError(str(target), "is read in two ways")
        return await super().handle_async_request(request)


def guarded_client(
    allow: AllowList,
    *,
    verify: ssl.SSLContext | bool = True,
    limits: httpx2.Limits | None = None,
    resolver: Resolver = resolve,
    backend: httpcore2.AsyncNetworkBackend | None = None,
    **options: Any,  # noqa: ANN401 - what the client takes
) -> httpx2.AsyncClient:
    """An HTTP client that calls nothing but listed hosts. It follows no redirect unless told to.

    Args:
        allow: What may be called.
        verify: How certificates are checked.
        limits: Connections at once, and how long idle ones are kept.
        resolver: Gives the addresses of a name.
        backend: Makes the connections to addresses.
        options: What the client takes besides (`timeout`, `headers`, `base_url`, `follow_redirects`).

    Raises:
        TypeError: An option that would lead around the guard.
    """
    around = {"transport", "mounts", "proxy", "trust_env", "uds"} & options.keys()
    if around:
        raise TypeError(f"{', '.join(sorted(around))} would lead around the guard")
    transport = GuardedTransport(allow, verify=verify, limits=limits, resolver=resolver, backend=backend)
    return httpx2.AsyncClient(transport=transport, trust_env=False, **options)
