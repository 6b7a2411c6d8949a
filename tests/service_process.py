"""Real servers of the service's tests: the service itself on a free port, and keys for it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from pydantic import SecretStr

from judges import LetterEncoder, TableJudge
from likewise.service.security.keys import Scope, create_key
from likewise.service.server import Server, config_of
from likewise.service.service import Service
from likewise.service.settings import ServiceSettings
from llm_server import Reply


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Running:
    """A service that answers at `url`, and keys with all scopes for it."""

    service: Service
    url: str
    key: str | None

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Authorization": f"Bearer {self.key}"}

    def make_key(self, *scopes: Scope, per_minute: float = 6_000, burst: int = 1_000) -> str:
        made = create_key(
            self.service.store, "tests", scopes=set(scopes), per_minute=per_minute, burst=burst, actor="tests"
        )
        return made.secret

    def make_key_of_all(self) -> str:
        """A key that may do everything, as often as it likes."""
        return self.make_key(Scope.ADMIN, per_minute=1_000_000, burst=100_000)

    def client(self, **options: Any) -> httpx2.Client:
        """A client with its key; it reads no certificates, which takes longer than a test, for none are met here."""
        return httpx2.Client(base_url=self.url, headers=self.headers, timeout=60, verify=False, **options)

    def verdicts(self) -> int:
        return len(self.service.store.verdicts.page(limit=200).items)


@contextmanager
def running(folder: Path, *, judge: Any = None, encoder: Any = None, **settings: Any) -> Iterator[Running]:
    """The service in a thread of its own, on loopback, with SQLite in `folder`."""
    settings = {"database_url": SecretStr(f"sqlite:///{folder / 'history.sqlite'}"), "port": free_port()} | settings
    service = Service(ServiceSettings(**settings), judge=judge or TableJudge(), encoder=encoder or LetterEncoder())
    service.load()
    server = Server(config_of(service), service)
    thread = threading.Thread(target=server.run, name="service", daemon=True)
    thread.start()
    try:
        patience = time.monotonic() + 30
        while not server.started:
            if not thread.is_alive() or time.monotonic() > patience:
                raise RuntimeError("the service did not start")
            time.sleep(0.01)
        found = Running(service, f"http://127.0.0.1:{settings['port']}", None)
        if service.settings.keys:
            found.key = found.make_key(Scope.ADMIN)
        yield found
    finally:
        server.handle_exit(15, None)
        thread.join(timeout=60)
    if thread.is_alive():
        raise RuntimeError("the service did not stop")


def completion(*texts, calls=None, usage=(10, 7), reason="stop", **more):
    """A chat completion with a choice for each text."""
    made = []
    for i, text in enumerate(texts):
        message = {"role": "assistant", "content": text} | ({"tool_calls": calls} if calls else {})
        made.append({"index": i, "message": message, "logprobs": None, "finish_reason": reason})
    body = {"id": "chatcmpl-9", "object": "chat.completion", "created": 1_700_000_000, "model": "tiny", "choices": made}
    if usage is not None:
        written = usage[1] * len(texts)
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": written,
            "total_tokens": usage[0] + written,
        }
    return Reply(200, json.dumps(body | more).encode(), {"Content-Type": "application/json"})


def saying(*texts):
    """An upstream that gives these texts in turn, as many at once as it is asked for."""
    place = 0

    def answer(request):
        nonlocal place
        count = request.body.get("n", 1)
        chosen = [texts[(place + i) % len(texts)] for i in range(count)]
        place += count
        return completion(*chosen)

    return answer
