"""The process: listens, finishes what is in flight when it is told to end, then stops."""

from __future__ import annotations

import logging
import signal
import socket
from types import FrameType

import uvicorn

from likewise.service.app import create_service_app
from likewise.service.logs import set_up_logs
from likewise.service.service import Service

__all__ = ["Server", "config_of", "serve"]

_LOG = logging.getLogger("likewise.service")


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
    return uvicorn.Config(
        create_service_app(service),
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
