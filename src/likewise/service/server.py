"""The process: listens, lets go of who says nothing, finishes what is in flight when it is told to end, then stops."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from contextlib import suppress
from types import FrameType

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from likewise.service.app import create_service_app
from likewise.service.logs import set_up_logs
from likewise.service.service import Service

__all__ = ["MOST_FILES", "Patient", "Server", "config_of", "open_many_files", "serve"]

MOST_FILES = 65_536
"""Open files that are asked for: each request has a connection, and each of its runs may have one."""
_LOG = logging.getLogger("likewise.service")


class Patient(HttpToolsProtocol):
    """One connection. A request whose head does not come whole in time is waited for no longer.

    The server itself waits for ever, so that a few bytes a minute would keep as many connections as one likes.
    """

    seconds = 30.0
    _late: asyncio.TimerHandle | None = None

    # The server narrows the type of its base class in the same way.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The head of the first request is waited for."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Between two requests any byte begins the next."""
        if self._late is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        self.transport.close()


class Server(uvicorn.Server):
    """Tells the service when it is told to end, so that streams and background work end of their own."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        """Serve `service`."""
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """No new connection is taken; requests under way are finished."""
        if not self._service.stopping:
            _LOG.info(
                "shutting down: what is in flight is finished, for up to %d s", self.config.timeout_graceful_shutdown
            )
        self._service.stopping = True
        super().handle_exit(sig, frame)


def config_of(service: Service) -> uvicorn.Config:
    """How the server runs; log lines are ours."""
    settings = service.settings

    class Connection(Patient):
        seconds = settings.receive_seconds

    return uvicorn.Config(
        create_service_app(service),
        http=Connection,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # addresses count for throttling: anyone can write a header
        lifespan="on",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


def serve(service: Service) -> None:
    """Load, listen, and return when the process was told to end and all is stored.

    Raises:
        LikewiseError: The service cannot be loaded.
        OSError: The address cannot be listened on.
    """
    settings = service.settings
    set_up_logs(service.redactor, settings.log_level)
    open_many_files()
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.create_server((settings.host, settings.port), family=family, backlog=2048) as listener:
        service.load()
        server = Server(config_of(service), service)
        # The server raises the signal that ended it once more when it is done; what is told to end and does is no
        # failure.
        before = signal.signal(signal.SIGTERM, lambda number, frame: None)
        try:
            server.run(sockets=[listener])
        finally:
            signal.signal(signal.SIGTERM, before)


def open_many_files() -> None:
    """Take what the system allows: by its default of 1,024 a busy proxy could not open its connections."""
    try:
        import resource
    except ImportError:  # Windows, which has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
