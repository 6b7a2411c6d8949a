"""Two whole servers on one history: two thousand requests in flight at once, a full disk, a database gone, a kill."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sqlite3
import subprocess
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import httpx2
import pytest
import uvicorn
from sqlalchemy import func, select

from likewise.store.models import RunRow, VerdictRow
from likewise.store.store import Store
from service_process import free_port
from store.postgres import control

pytestmark = [
    pytest.mark.service,
    pytest.mark.alone,
    pytest.mark.timeout(1800),
]  # two processes that load models, and much to do
CROWD = 2_000
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "Is it safe?"}]}
ANSWER = {"message": {"role": "assistant", "content": "It is safe."}, "finish_reason": "stop"}
"""Every run says the same, so that no model is asked: what is tested is what is kept."""
FAILING_SQLITE_BYTES = 300_000


class Upstream:
    """An endpoint that holds its answers back until a crowd waits for them: then all are in flight at once."""

    def __init__(self):
        self.crowd, self.waiting, self.most = 1, 0, 0
        self._enough = asyncio.Event()

    def expect(self, crowd):
        self.crowd, self.waiting, self.most = crowd, 0, 0
        self._enough.clear()

    async def __call__(self, scope, receive, send):
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting >= self.crowd:
            self._enough.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._enough.wait(), 600)
        self.waiting -= 1
        choices = [{"index": i, **ANSWER} for i in range(json.loads(body).get("n", 1))]
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "tiny", "choices": choices}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


@asynccontextmanager
async def upstream_serving():
    found, port = Upstream(), free_port()
    config = uvicorn.Config(found, host="127.0.0.1", port=port, log_config=None, lifespan="off", backlog=4096)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield found, f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def replicas(command, environment, folder, url, upstream, count=2):
    """So many `likewise serve`, ready: (process, its address) each."""
    started = []
    settings = {
        "LIKEWISE_DATABASE_URL": url,
        "LIKEWISE_KEYS": "false",
        "LIKEWISE_LOG_LEVEL": "warning",
        "LIKEWISE_MAX_IN_FLIGHT": str(CROWD),
        # A crowd takes its time to speak, and to be heard, where the cores have other work.
        "LIKEWISE_RECEIVE_SECONDS": "900",
        "LIKEWISE_UPSTREAMS__MAIN__TIMEOUT": "900",
        "LIKEWISE_UPSTREAMS__MAIN__CONNECT_TIMEOUT": "300",
        "LIKEWISE_UPSTREAMS__MAIN__BASE_URL": upstream,
        "LIKEWISE_POLICIES": '[{"mode": "standard", "runs": 3, "deadline": 900}]',
        "NO_PROXY": "*",
    }
    try:
        for number in range(count):
            port, log = free_port(), folder / f"replica{number}.log"
            with log.open("wb") as stream:
                process = subprocess.Popen(
                    [command, "serve", "--port", str(port)],
                    env=environment | settings,
                    stdout=stream,
                    stderr=stream,
                    cwd=folder,
                )
            started.append((process, f"http://127.0.0.1:{port}", log))
        for process, address, log in started:
            await _ready(process, address, log)
        yield [(process, address) for process, address, _ in started]
    finally:
        for process, _, _ in started:
            process.kill()
            process.wait(60)


async def _ready(process, address, log, seconds=300):
    async with asyncio.timeout(seconds):
        async with httpx2.AsyncClient(trust_env=False, timeout=20) as client:
            while True:
                assert process.poll() is None, log.read_text()
                with suppress(httpx2.TransportError):
                    if (await client.get(f"{address}/readyz")).status_code == 200:
                        return
                await asyncio.sleep(0.2)


async def ask(client, address):
    return await client.post(f"{address}/v1/chat/completions", json=BODY)


def client_of():
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx2.AsyncClient(trust_env=False, timeout=900, limits=limits, verify=False)


async def crowd_is_served(upstream, servers):
    """The names of the verdicts of two thousand requests that were all in flight at once, half with each server."""
    upstream.expect(CROWD)
    async with client_of() as client:
        answers = await asyncio.gather(*(ask(client, servers[i % 2][1]) for i in range(CROWD)))
    assert Counter(answer.status_code for answer in answers) == {200: CROWD}
    assert upstream.most == CROWD
    upstream.expect(1)
    assert {answer.headers["x-likewise-stored"] for answer in answers} == {"yes"}
    return [answer.headers["x-likewise-verdict-id"] for answer in answers]


async def one_is_killed(servers, enough):
    """Names acknowledged by both servers under load, the first of which is killed in the middle of it."""
    (doomed, _), _ = servers
    acknowledged, over = {0: [], 1: []}, asyncio.Event()

    async def go_on(number):
        with suppress(httpx2.TransportError):  # it is dead
            while not over.is_set():
                answer = await ask(client, servers[number][1])
                if answer.status_code == 200:
                    acknowledged[number].append(answer.headers["x-likewise-verdict-id"])

    async with client_of() as client:
        tasks = [asyncio.create_task(go_on(i % 2)) for i in range(40)]
        while len(acknowledged[0]) < enough:
            await asyncio.sleep(0.01)
        doomed.send_signal(signal.SIGKILL)
        assert doomed.wait(60) == -signal.SIGKILL
        alive = len(acknowledged[1])
        while len(acknowledged[1]) < alive + 20:  # the other goes on
            await asyncio.sleep(0.01)
        over.set()
        await asyncio.gather(*tasks)
        read = await client.get(f"{servers[1][1]}/v1/verdicts/{acknowledged[0][-1]}")
        assert read.status_code == 200
    return acknowledged[0] + acknowledged[1]


@asynccontextmanager
async def without_room(servers):
    """Files of both servers grow no further, which is what a full disk looks like from inside; and then they do."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for process, _ in servers:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (FAILING_SQLITE_BYTES, before[1]))
    yield
    for process, _ in servers:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)


@asynccontextmanager
async def without_server(servers):
    """The database's server is gone; and then it is back."""
    del servers
    await asyncio.to_thread(control, "-m", "immediate", "stop")
    try:
        yield
    finally:
        options = os.environ["LIKEWISE_TEST_POSTGRES_OPTIONS"]
        await asyncio.to_thread(control, "-o", options, "-l", "/dev/null", "start")


async def refused_while(trouble, servers, log, words):
    """Names acknowledged before, in and after a trouble of the database; in it, requests are refused and say why."""
    acknowledged, refused = [], None
    async with client_of() as client:
        async with trouble(servers):
            for _ in range(1_000):  # a file has some room left at first
                answer = await ask(client, servers[0][1])
                if answer.status_code != 200:
                    refused = answer
                    break
                acknowledged.append(answer.headers["x-likewise-verdict-id"])
        assert refused is not None
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "store_unavailable")
        assert "try again later" in refused.json()["error"]["message"]
        assert words in log.read_text()  # what is wrong is the operator's to know
        async with asyncio.timeout(120):
            while (answer := await ask(client, servers[0][1])).status_code == 503:
                await asyncio.sleep(0.1)
        assert answer.status_code == 200
        acknowledged.append(answer.headers["x-likewise-verdict-id"])
    return acknowledged


def stored(url):
    """Names of all verdicts, and how many runs there are."""
    with Store.open(url, upgrade=False) as store, store.database.reading() as connection:
        names = list(connection.execute(select(VerdictRow.id)).scalars())
        return names, connection.execute(select(func.count()).select_from(RunRow)).scalar()


def test_two_servers_lose_and_double_nothing_whatever_comes(command, command_environment, tmp_path, url, backend):
    trouble, words = (
        (without_room, "free the disk") if backend == "sqlite" else (without_server, "see that the server runs")
    )

    async def main():
        async with AsyncExitStack() as stack:
            upstream, address = await stack.enter_async_context(upstream_serving())
            servers = await stack.enter_async_context(replicas(command, command_environment, tmp_path, url, address))
            named = await crowd_is_served(upstream, servers)
            names, runs = stored(url)
            assert sorted(names) == sorted(named)  # each once, and none besides
            assert runs == 3 * CROWD
            named += await refused_while(trouble, servers, tmp_path / "replica0.log", words)
            return named + await one_is_killed(servers, 150)

    acknowledged = asyncio.run(main())
    names, runs = stored(url)
    assert len(acknowledged) == len(set(acknowledged))
    assert set(acknowledged) <= set(names)
    assert runs == 3 * len(names)  # whole or not at all
    if backend == "sqlite":
        connection = sqlite3.connect(tmp_path / "history.sqlite")
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
