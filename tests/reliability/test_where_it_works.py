"""Where the layer works: a handler of a web service, sync and async, and a pool of threads, against a real endpoint.

A script and a notebook's kernel are in e2e/test_examples.py; a running loop and bare threads in test_runner.py.
"""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic, sleep

import pytest

from judges import LetterEncoder, TableJudge
from likewise import Endpoint, ReliabilityLayer
from llm_server import said, serving

LAYER = ReliabilityLayer(2, judge=TableJudge(), encoder=LetterEncoder())


def echo(request):
    return said(f"You asked: {request.user}")


@contextmanager
def web(app):
    """The app in a real server of its own thread; its base URL."""
    import uvicorn

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


def get(url):
    with urllib.request.urlopen(url, timeout=120) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_a_handler_of_fastapi_answers_many_at_once(kind):
    fastapi = pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
    with serving(echo) as model:
        wrapped = LAYER.wrap(Endpoint("m", model.url, by_n=False))
        app = fastapi.FastAPI()
        if kind == "async":

            @app.get("/ask")
            async def ask(q: str) -> dict:
                verdict = await wrapped.aquery(q)
                return {"answer": verdict.answer, "agreed": verdict.runs_agreed}
        else:

            @app.get("/ask")
            def ask(q: str) -> dict:
                verdict = wrapped.query(q)
                return {"answer": verdict.answer, "agreed": verdict.runs_agreed}

        with web(app) as url, ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda i: get(f"{url}/ask?q=number{i}"), range(6)))
    assert answers == [{"answer": f"You asked: number{i}", "agreed": "2/2"} for i in range(6)]


def test_a_pool_of_fifty_threads_shares_one_wrapped_agent():
    with serving(echo) as model:
        wrapped = LAYER.wrap(Endpoint("m", model.url, by_n=False))
        with ThreadPoolExecutor(50) as pool:
            began = monotonic()
            verdicts = list(pool.map(lambda i: wrapped.query(f"number {i}"), range(50)))
        assert len(model.requests) == 100
    assert [verdict.answer for verdict in verdicts] == [f"You asked: number {i}" for i in range(50)]
    assert monotonic() - began < 120


def test_a_pool_of_fifty_threads_shares_one_async_agent_and_its_client():
    """The client's connections belong to one loop, in which all threads' queries run."""
    import openai

    from likewise.reliability.home_loop import run_at_home

    with serving(echo) as model:
        client = openai.AsyncOpenAI(base_url=model.url, api_key="none", max_retries=0)

        async def agent(query):
            completion = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": query}])
            return completion.choices[0].message.content

        wrapped = LAYER.wrap(agent)
        with ThreadPoolExecutor(50) as pool:
            verdicts = list(pool.map(lambda i: wrapped.query(f"number {i}"), range(50)))
        run_at_home(client.close)
    assert [verdict.answer for verdict in verdicts] == [f"You asked: number {i}" for i in range(50)]
