"""What the proxy costs: time of a request at policy off against direct calls, throughput at k = 3, memory over many.

    python benchmarks/proxy_load.py                    # short: 2,000 requests a way, memory over 2,000
    python benchmarks/proxy_load.py --requests 20000   # the long one

Service, upstream and client are three processes on loopback. The upstream answers at once (overhead) or after 50 ms
(throughput). At policy off no judge is asked; at k = 3 the runs agree word for word, so that what is measured is the
service and not the judge.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import numpy as np
from common import save

KEYLESS = {"LIKEWISE_KEYS": "false", "LIKEWISE_LOG_LEVEL": "warning", "LIKEWISE_JOBS": "false"}
BODY = {"model": "fast", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
CHOICE = {"message": {"role": "assistant", "content": "The capital of France is Paris."}, "finish_reason": "stop"}

UPSTREAM = """
import asyncio, json, sys
import uvicorn
CHOICE = json.loads(sys.argv[2])

async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    asked = json.loads(body or b"{}")
    if asked.get("model") == "slow":
        await asyncio.sleep(0.05)
    count = asked.get("n", 1)
    usage = {"prompt_tokens": 9, "completion_tokens": 7 * count, "total_tokens": 9 + 7 * count}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    answer["choices"] = [{"index": i, **CHOICE} for i in range(count)]
    data = json.dumps(answer).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": data})

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical", lifespan="off", access_log=False)
"""


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def process(command: list[str], environment: dict[str, str], url: str):
    """A process that answers at `url`."""
    started = subprocess.Popen(command, env=os.environ | environment)
    try:
        ends = time.monotonic() + 300
        while True:
            if started.poll() is not None or time.monotonic() > ends:
                raise SystemExit(f"{command[:3]} did not start")
            with suppress(httpx2.TransportError):
                httpx2.get(url, trust_env=False)
                break
            time.sleep(0.1)
        yield started
    finally:
        started.terminate()
        started.wait(60)


def resident(pid: int) -> float:
    """Resident memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


async def one_by_one(url: str, count: int, body: dict) -> list[float]:
    """Seconds of each of so many requests, one after another on one connection."""
    content = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    seconds = []
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        for _ in range(count):
            began = time.perf_counter()
            answer = await client.post(f"{url}/chat/completions", content=content, headers=headers)
            seconds.append(time.perf_counter() - began)
            answer.raise_for_status()
    return seconds


async def side_by_side(url: str, count: int, at_once: int, body: dict) -> float:
    """Seconds that so many requests take, `at_once` at a time."""
    slots = asyncio.Semaphore(at_once)
    async with httpx2.AsyncClient(
        trust_env=False, timeout=120, limits=httpx2.Limits(max_connections=at_once)
    ) as client:

        async def one() -> None:
            async with slots:
                (await client.post(f"{url}/chat/completions", json=body)).raise_for_status()

        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(count)))
        return time.perf_counter() - began


def milliseconds(seconds: list[float]) -> dict[str, float]:
    """Median and 99th percentile."""
    p50, p99 = np.percentile(np.array(seconds) * 1_000, [50, 99])
    return {"p50_ms": round(float(p50), 3), "p99_ms": round(float(p99), 3), "requests": len(seconds)}


def overhead(direct: str, proxied: str, requests: int) -> dict[str, object]:
    """Direct and proxied requests in turn, block by block, so that both see the same machine."""
    asyncio.run(one_by_one(proxied, 50, BODY))
    asyncio.run(one_by_one(direct, 50, BODY))
    found: dict[str, list[float]] = {"direct": [], "proxied": []}
    block = max(requests // 10, 1)
    for _ in range(10):
        found["direct"] += asyncio.run(one_by_one(direct, block, BODY))
        found["proxied"] += asyncio.run(one_by_one(proxied, block, BODY))
    both = {name: milliseconds(seconds) for name, seconds in found.items()}
    added = {p: round(both["proxied"][p] - both["direct"][p], 3) for p in ("p50_ms", "p99_ms")}
    return {**both, "added": added}


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=2_000, help="requests of the overhead and of the memory run")
    parser.add_argument("--verified", type=int, default=300, help="requests of the throughput run")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        upstream_port, port = free_port(), free_port()
        upstream, service = f"http://127.0.0.1:{upstream_port}/v1", f"http://127.0.0.1:{port}"
        settings = Path(folder) / "serve.toml"
        settings.write_text(
            f'[upstreams.one]\nbase_url = "{upstream}"\n\n[[policies]]\nmodel = "fast"\nmode = "off"\n\n'
            '[[policies]]\nmodel = "slow"\nmode = "standard"\nruns = 3\n'
        )
        environment = KEYLESS | {"LIKEWISE_DATABASE_URL": f"sqlite:///{folder}/history.sqlite"}
        serve = [sys.executable, "-m", "likewise", "serve", "--config", str(settings), "--port", str(port)]
        with (
            process([sys.executable, "-c", UPSTREAM, str(upstream_port), json.dumps(CHOICE)], {}, upstream),
            process(serve, environment, f"{service}/readyz") as running,
        ):
            rows: dict[str, object] = {"policy_off": overhead(upstream, f"{service}/v1", asked.requests)}
            slow = BODY | {"model": "slow"}
            asyncio.run(side_by_side(f"{service}/v1", 20, 10, slow))
            throughput = {}
            for at_once in (1, 8, 32):
                seconds = asyncio.run(side_by_side(f"{service}/v1", asked.verified, at_once, slow))
                throughput[str(at_once)] = round(asked.verified / seconds, 1)
            rows["verified_k3_upstream_50_ms"] = {"requests": asked.verified, "per_second_at_once": throughput}
            memory = [round(resident(running.pid), 1)]
            for _ in range(4):
                asyncio.run(side_by_side(f"{service}/v1", asked.requests // 4, 16, BODY))
                memory.append(round(resident(running.pid), 1))
            rows["memory_policy_off"] = {"requests": asked.requests, "resident_mb_at_quarters": memory}
            memory = [round(resident(running.pid), 1)]
            for _ in range(4):
                asyncio.run(side_by_side(f"{service}/v1", asked.verified, 16, slow))
                memory.append(round(resident(running.pid), 1))
            rows["memory_verified"] = {"requests": 4 * asked.verified, "resident_mb_at_quarters": memory}
        save("proxy_load", rows)


if __name__ == "__main__":
    main()
