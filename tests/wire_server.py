"""An upstream of the tests' own that does to its connections what it is told: a real server on loopback, below HTTP."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n" + b'{"choices": []}'


class Wire:
    """Where it is, and which requests came: `(connection, body)`, connections by number, in order."""

    def __init__(self, listener: socket.socket, script: list[list[bytes | float]]) -> None:
        self.listener, self.script = listener, script
        self.requests: list[tuple[int, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"

    def serve(self, number: int, connection: socket.socket) -> None:
        """Do what the script says; after its end one more request is read, and the connection closed without a word."""
        steps = self.script[number] if number < len(self.script) else []
        with connection, suppress(OSError):
            for step in [*steps, b""]:
                body = _read(connection)
                if body is None:
                    return
                self.requests.append((number, body))
                if isinstance(step, float):
                    time.sleep(step)
                    return
                connection.sendall(step)
                if step != WHOLE:
                    return

    def accept(self) -> None:
        with suppress(OSError):
            for number in range(1_000):
                connection, _ = self.listener.accept()
                connection.settimeout(10)
                threading.Thread(target=self.serve, args=(number, connection), daemon=True).start()


def _read(connection: socket.socket) -> bytes | None:
    """The body of the next request; None where the client has gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(fields.get(b"content-length", 0)):
        body += connection.recv(65_536)
    return body


@contextmanager
def wire_serving(*script: list[bytes | float]) -> Iterator[Wire]:
    """A server whose connections follow a script each, a step for each request that comes.

    WHOLE is sent and the connection kept; other bytes are sent and the connection closed; a number is a pause, after
    which it is closed. After the last step one more request is read, and the connection closed without a word.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wire = Wire(listener, list(script))
        thread = threading.Thread(target=wire.accept, daemon=True)
        thread.start()
        try:
            yield wire
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(timeout=5)
