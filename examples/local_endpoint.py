"""A chat endpoint on this machine, for the examples: it speaks OpenAI's API, and answers from a table.

No model: what it says follows from the question and from how often it was asked. `LIKEWISE_EXAMPLE_URL` and
`LIKEWISE_EXAMPLE_MODEL` in the environment put a real endpoint in its place, or change the line in the example.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWERS = {
    "capital of France": ["Paris is the capital of France.", "The capital of France is Paris."],
    "drug X": ["Drug X is safe for children.", "Drug X is not safe for children."],
    "refund": ["The refund is $20.", "The refund is $20.", "The refund is $30."],
}


@contextmanager
def local_endpoint() -> Iterator[str]:
    """Its base URL, while the block runs."""
    asked: dict[str, int] = {}
    lock = threading.Lock()

    def answer(question: str) -> str:
        key = next((key for key in ANSWERS if key in question), "")
        with lock:
            number = asked.get(key, 0)
            asked[key] = number + 1
        choices = ANSWERS.get(key, ["I do not know."])
        return choices[number % len(choices)]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [answer(body["messages"][-1]["content"]) for _ in range(body.get("n") or 1)]
            choices = [
                {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                for i, text in enumerate(texts)
            ]
            usage = {"prompt_tokens": 20, "completion_tokens": 8 * len(texts), "total_tokens": 20 + 8 * len(texts)}
            reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "table", "choices": choices}
            sent = json.dumps(reply | {"usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
