"""Connections to upstreams, watched: whether a call went over a kept one, and whether any of its answer came.

A server may close a connection that it kept in the moment in which a request is sent over it. The client then has an
error where nothing is wrong with either side. What may be done about it depends on what was on the wire, which the
errors do not tell: half a head and then the end reads as no answer at all.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.request import getproxies

import httpcore2
import httpx2

__all__ = ["LIMITS", "Wire", "upstream_client", "watched"]

LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=128, keepalive_expiry=4.0)
"""Many servers close a connection that was idle for five seconds: one that is older is not used again."""


@dataclass
class Wire:
    """What happened to one call.

    Attributes:
        sent: A part of it was written to a watched connection.
        connected: A connection was made for it.
        heard: At least one byte came back.
    """

    sent: bool = False
    connected: bool = False
    heard: bool = False

    @property
    def unheard_on_kept(self) -> bool:
        """It went over a connection kept from before, and not one byte came back; False where that is not known."""
        return self.sent and not self.connected and not self.heard


_WIRE: ContextVar[Wire | None] = ContextVar("likewise_wire", default=None)


@contextmanager
def watched() -> Iterator[Wire]:
    """Watch the calls of this task."""
    wire = Wire()
    token = _WIRE.set(wire)
    try:
        yield wire
    finally:
        _WIRE.reset(token)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that tells the call which uses it what it does."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._inner.read(max_bytes, timeout)
        wire = _WIRE.get()
        if wire is not None and data:
            wire.heard = True
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        wire = _WIRE.get()
        if wire is not None:
            wire.sent = True
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as in the interface
        return self._inner.get_extra_info(info)


class _Backend(httpcore2.AsyncNetworkBackend):
    """Makes watched connections."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        wire = _WIRE.get()
        if wire is not None:
            wire.connected = True
        return _Stream(await self._inner.connect_tcp(host, port, timeout, local_address, socket_options))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Transport(httpx2.AsyncHTTPTransport):
    """The client's own transport, over watched connections."""

    def __init__(self, limits: httpx2.Limits) -> None:
        context = httpx2.create_ssl_context()
        super().__init__(verify=context)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=_Backend(httpcore2.AnyIOBackend()),
        )


def upstream_client(limits: httpx2.Limits = LIMITS) -> httpx2.AsyncClient:
    """The HTTP client of all upstreams, without time-outs of its own.

    Where the environment names proxies they are used, and what happens behind them is not watched.
    """
    proxied = getproxies().keys() & {"http", "https", "all"}
    return httpx2.AsyncClient(limits=limits, transport=None if proxied else _Transport(limits), timeout=None)
