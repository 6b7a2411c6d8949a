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

from likewise.service.transport import Around, BackendTransport

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


class _WatchedBackend(Around):
    """Makes watched connections."""

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
        return _Stream(await self.inner.connect_tcp(host, port, timeout, local_address, socket_options))


def upstream_client(limits: httpx2.Limits = LIMITS) -> httpx2.AsyncClient:
    """The HTTP client of all upstreams, without time-outs of its own.

    Where the environment names proxies they are used, and what happens behind them is not watched.
    """
    if getproxies().keys() & {"http", "https", "all"}:
        return httpx2.AsyncClient(limits=limits, timeout=None)
    transport = BackendTransport(_WatchedBackend(), httpx2.create_ssl_context(), limits)
    return httpx2.AsyncClient(transport=transport, timeout=None)
