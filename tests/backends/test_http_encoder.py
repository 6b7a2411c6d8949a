from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from likewise.backends.http_encoder import HttpEncoder
from likewise.core.errors import BackendError


class Endpoint(ThreadingHTTPServer):
    """Answers with the scripted (status, body) in turn, the last for ever; keeps what it was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.asked = [], []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        status, answer = self.server.script[min(len(self.server.asked), len(self.server.script)) - 1]
        content = (answer(body) if callable(answer) else answer).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/v1/elsewhere")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def endpoint():
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def openai(body):
    """Out of order, as the form allows; the vector of a text is its length and 1."""
    rows = [{"index": k, "embedding": [len(text), 1.0]} for k, text in enumerate(body["input"])]
    return json.dumps({"data": rows[::-1]})


def cohere(body):
    return json.dumps({"embeddings": {"float": [[len(text), 1.0] for text in body["texts"]]}})


def encoder(endpoint, kind="openai"):
    return HttpEncoder(kind, "m", endpoint.url, wait=0.0)


@pytest.mark.parametrize(
    ("kind", "answer", "path"), [("openai", openai, "/v1/embeddings"), ("cohere", cohere, "/v1/embed")]
)
def test_vectors_come_in_order_and_of_unit_length(endpoint, monkeypatch, kind, answer, path):
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", "secret")
    endpoint.script = [(200, answer)]
    found = encoder(endpoint, kind).encode(["abc", ""])
    expected = np.array([[3, 1], [1, 1]]) / np.sqrt([[10], [2]])
    assert found == pytest.approx(expected)
    assert endpoint.asked[0][0] == path
    assert endpoint.asked[0][1] == "Bearer secret"
    assert encoder(endpoint, kind).encoder_id == f"{kind}-m"


def test_many_texts_go_in_batches(endpoint):
    endpoint.script = [(200, openai)]
    assert encoder(endpoint).encode(["a"] * 130).shape == (130, 2)
    assert [len(body["input"]) for _, _, body in endpoint.asked] == [64, 64, 2]


def test_passing_faults_are_tried_again_and_others_are_not(endpoint):
    endpoint.script = [(503, "busy"), (429, "slow down"), (200, openai)]
    assert len(encoder(endpoint).encode(["a"])) == 1
    endpoint.asked.clear()
    endpoint.script = [(401, "no")]
    with pytest.raises(BackendError, match="HTTP 401 no"):
        encoder(endpoint).encode(["a"])
    assert len(endpoint.asked) == 1
    endpoint.asked.clear()
    endpoint.script = [(500, "broken")]
    with pytest.raises(BackendError, match="HTTP 500"):
        encoder(endpoint).encode(["a"])
    assert len(endpoint.asked) == 4


def test_the_key_never_shows_and_is_not_carried_elsewhere(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    endpoint.script = [(400, "bad key sk-secret")]
    with pytest.raises(BackendError) as caught:
        encoder(endpoint).encode(["a"])
    assert "sk-secret" not in str(caught.value)
    endpoint.asked.clear()
    endpoint.script = [(302, "")]
    with pytest.raises(BackendError, match="302"):
        encoder(endpoint).encode(["a"])
    assert [path for path, _, _ in endpoint.asked] == ["/v1/embeddings"]


@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        '{"data": []}',
        '{"data": [{"embedding": "x"}]}',
        '{"data": [{"embedding": [0, 0]}]}',
        '{"data": [{"embedding": [NaN, 1]}]}',
        "{",
        '{"data": [{"embedding": [1]}, {"embedding": [1]}]}',
    ],
)
def test_an_answer_that_holds_no_vectors_is_an_error(endpoint, answer):
    endpoint.script = [(200, answer)]
    with pytest.raises(BackendError, match="openai:m at"):
        encoder(endpoint).encode(["a"])


def test_an_endpoint_that_is_not_there_is_an_error():
    with pytest.raises(BackendError, match=r"127\.0\.0\.1:9"):
        HttpEncoder("openai", "m", "http://127.0.0.1:9", wait=0.0).encode(["a"])


@pytest.mark.parametrize("url", ["ftp://host", "host", "http://user:secret@host", "http://"])
def test_refuses_an_address_that_cannot_be_one(url):
    with pytest.raises(ValueError, match="is http") as caught:
        HttpEncoder("openai", "m", url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("model", ["", "a b", "a|b"])
def test_refuses_a_name_that_cannot_be_one(model):
    with pytest.raises(ValueError, match="no model's name"):
        HttpEncoder("openai", model, "http://localhost")
