"""A chat endpoint of the tests' own: a real HTTP server that speaks OpenAI's API and misbehaves on demand."""

from __future__ import annotations

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARKED = re.compile(r"\n(?P<mark>\w+) (?P<side>[AB]) begins\n(?P<text>.*?)\n(?P=mark) (?P=side) ends\n", re.DOTALL)


@dataclass
class Reply:
    """What the server sends: status, body, headers; `delay` seconds later; `cut` bytes short of what it promised.

    With `pieces` in place of a body it sends one after another, in HTTP's chunks, `pause` seconds apart.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int = 0
    pieces: list[bytes] | None = None
    pause: float = 0.0


@dataclass
class Request:
    """What the server was sent."""

    headers: dict[str, str]
    body: dict
    at: float
    path: str = ""
    raw: bytes = b""

    @property
    def user(self) -> str:
        return self.body["messages"][-1]["content"]

    @property
    def texts(self) -> tuple[str, str]:
        """Action A and action B, as they stand between their markers."""
        found = {m["side"]: m["text"] for m in MARKED.finditer(self.user)}
        return found["A"], found["B"]


def said(content, *, usage=(100, 10), reason="stop", **message) -> Reply:
    """A chat completion with this content."""
    body = {
        "id": "chat-1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [
            {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content} | message}
        ],
    }
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return Reply(200, json.dumps(body).encode(), {"Content-Type": "application/json"})


def relation(name, **more) -> Reply:
    return said(json.dumps({"reason": "so", "relation": name}), **more)


def refused(status, message="no", *, wait=0.01, **fields) -> Reply:
    """An error as OpenAI words it; `wait` is what the client is told to wait before it asks again."""
    headers = {"Content-Type": "application/json", "Retry-After-Ms": str(int(wait * 1000))}
    return Reply(status, json.dumps({"error": {"message": message, "type": "x"} | fields}).encode(), headers)


class Server:
    """Where it is, and what it was sent."""

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.under_way = self.most_at_once = 0
        self.hung_up = 0
        """Clients that went before they were answered."""
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def serving(answer: Callable[[Request], Reply]) -> Iterator[Server]:
    """A server that gives each request what `answer` makes of it."""
    server = Server(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {k.lower(): v for k, v in self.headers.items()}
            request = Request(headers, json.loads(raw or b"{}"), time.monotonic(), self.path, raw)
            with server.lock:
                server.requests.append(request)
                server.under_way += 1
                server.most_at_once = max(server.most_at_once, server.under_way)
            try:
                self._send(server.answer(request))
            finally:
                with server.lock:
                    server.under_way -= 1

        def _send(self, reply: Reply) -> None:
            if not self._wait(reply.delay):
                return
            try:
                self.send_response(reply.status)
                if reply.pieces is not None:
                    self._send_pieces(reply)
                    return
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body) + reply.cut))
                if reply.cut:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(reply.body)
                self.close_connection |= bool(reply.cut)  # or a reply that says so itself
            except (BrokenPipeError, ConnectionResetError):  # who asked has gone
                self.close_connection = True

        def _send_pieces(self, reply: Reply) -> None:
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in reply.pieces or []:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
                if not self._wait(reply.pause):
                    return
            if reply.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def _wait(self, seconds: float) -> bool:
            """Wait as a model does; whether the client waits, too."""
            if seconds and select.select([self.connection], [], [], seconds)[0]:
                if self.connection.recv(1, socket.MSG_PEEK) == b"":
                    with server.lock:
                        server.hung_up += 1
                    self.close_connection = True
                    return False
                time.sleep(seconds)
            return True

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Http(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 256  # connections that wait to be taken: a crowd comes at once

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up in the middle is a part of the tests."""

    http = Http(("127.0.0.1", 0), Handler)
    server.port = http.server_port
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
