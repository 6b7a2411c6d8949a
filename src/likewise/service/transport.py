"""The HTTP client's own transport, over connections that somebody else makes.

The client has no way in for a maker of connections; its pool has one. The pool is therefore made here, in the one place
that knows the client from inside: `connections` watches what it carries, `security.outbound` checks where it leads.
"""

from __future__ import annotations

import ssl

import httpcore2
import httpx2

__all__ = ["Around", "BackendTransport"]


class Around(httpcore2.AsyncNetworkBackend):
    """What makes connections by having another make them; only TCP, so no socket of this machine is ever opened."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend | None = None) -> None:
        """Take what makes them in the end; the event loop's own where None."""
        self.inner = inner or httpcore2.AnyIOBackend()

    async def sleep(self, seconds: float) -> None:
        """Wait between two tries."""
        await self.inner.sleep(seconds)


class BackendTransport(httpx2.AsyncHTTPTransport):
    """The client's own transport, over the connections of a backend; no proxy enters it."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend, context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        """Set up.

        Args:
            backend: Makes the connections.
            context: How certificates are checked.
            limits: Connections at once, and how long idle ones are kept.
        """
        super().__init__(verify=context, trust_env=False, limits=limits)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=limits.max_connections,
            max_keepalive_connections=limits.max_keepalive_connections,
            keepalive_expiry=limits.keepalive_expiry,
            network_backend=backend,
        )
