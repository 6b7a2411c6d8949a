"""What the proxy costs: time of a request at policy off against direct calls, throughput at k = 3, memory over many.

    python benchmarks/proxy_load.py                            # short: some minutes
    python benchmarks/proxy_load.py --memory 20000             # memory over 20,000 requests of each kind

Service, upstream and client are three processes on loopback. The upstream answers at once (overhead) or after 50 ms
(throughput). At policy off no judge is asked; at k = 3 the runs agree word for word, so that what is measured is the
service and not the judge. Memory is followed with both kinds of requests, each verdict stored, and called flat where
the last half of the requests adds less than 1 % to what there was in the middle. Other work on the machine makes every
time worse: `load` says how much there was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import numpy as np
from common import machine, save

KEYLESS = {"LIKEWISE_KEYS": "false", "LIKEWISE_LOG_LEVEL": "warning", "LIKEWISE_JOBS": "false"}
BODY = {"model": "fast", "messages": [{"role": "user", "content": "What is the capital of France?"}]}
SLOW = BODY | {"model": "slow"}
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
        started.wait(180)


def resident(pid: int) -> float:
    """Resident memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


async def one_by_one(client: httpx2.AsyncClient, url: str, count: int) -> list[float]:
    """Seconds of each of so many requests, one after another on one connection."""
    content = json.dumps(BODY).encode()
    headers = {"Content-Type": "application/json"}
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        answer = await client.post(f"{url}/chat/completions", content=content, headers=headers)
        seconds.append(time.perf_counter() - began)
        answer.raise_for_status()
    return seconds


async def side_by_side(url: str, at_once: int, body: dict, count: float):
    """So many requests, `at_once` at a time; how many there were, and seconds."""
    done, began = 0, time.perf_counter()
    limits = httpx2.Limits(max_connections=at_once)
    async with httpx2.AsyncClient(trust_env=False, timeout=120, limits=limits) as client:

        async def ask() -> None:
            nonlocal done
            while done < count:
                done += 1
                (await client.post(f"{url}/chat/completions", json=body)).raise_for_status()

        await asyncio.gather(*(ask() for _ in range(at_once)))
        return done, time.perf_counter() - began


def milliseconds(seconds: list[float]) -> dict[str, float]:
    """Median and 99th percentile."""
    p50, p99 = np.percentile(np.array(seconds) * 1_000, [50, 99])
    return {"p50_ms": round(float(p50), 3), "p99_ms": round(float(p99), 3), "requests": len(seconds)}


async def overhead(direct: str, proxied: str, requests: int) -> dict[str, object]:
    """Direct and proxied requests in turn, block by block, so that both see the same machine; a connection each."""
    urls = {"direct": direct, "proxied": proxied}
    found: dict[str, list[float]] = {"direct": [], "proxied": []}
    async with httpx2.AsyncClient(trust_env=False, timeout=60, limits=httpx2.Limits(keepalive_expiry=60)) as client:
        for url in urls.values():
            await one_by_one(client, url, 50)
        for _ in range(10):
            for name, url in urls.items():
                found[name] += await one_by_one(client, url, max(requests // 10, 1))
    both = {name: milliseconds(seconds) for name, seconds in found.items()}
    added = {p: round(both["proxied"][p] - both["direct"][p], 3) for p in ("p50_ms", "p99_ms")}
    return {**both, "difference_of_percentiles": added}


async def throughput(url: str, requests: int) -> dict[str, object]:
    """Verified requests a second, with one, eight and 32 callers at once."""
    await side_by_side(url, 10, SLOW, 20)
    rates = {}
    for at_once in (1, 8, 32):
        done, seconds = await side_by_side(url, at_once, SLOW, requests)
        rates[str(at_once)] = round(done / seconds, 1)
    return {"requests_each": requests, "per_second_at_once": rates}


async def memory(pid: int, url: str, body: dict, count: int) -> dict[str, object]:
    """Resident memory of the service before, and after each tenth of so many requests, with 16 callers at once."""
    requests, resident_mb, seconds = [0], [round(resident(pid), 1)], 0.0
    for _ in range(10):
        done, took = await side_by_side(url, 16, body, count / 10)
        requests.append(requests[-1] + done)
        resident_mb.append(round(resident(pid), 1))
        seconds += took
    growth = resident_mb[10] / resident_mb[5] - 1
    return {
        "seconds": round(seconds, 1),
        "after_requests": requests,
        "resident_mb": resident_mb,
        "growth_in_last_half": round(growth, 4),
        "flat": growth < 0.01,
    }


def measure(folder: str, asked: argparse.Namespace) -> dict[str, object]:
    """Start upstream and service; all figures."""
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
        proxy = f"{service}/v1"
        return {
            "policy_off": asyncio.run(overhead(upstream, proxy, asked.requests)),
            "verified_k3_upstream_50_ms": asyncio.run(throughput(proxy, asked.verified)),
            "memory_policy_off": asyncio.run(memory(running.pid, proxy, BODY, asked.memory)),
            "memory_verified_k3": asyncio.run(memory(running.pid, proxy, SLOW, asked.memory)),
        }


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=500, help="requests of each way, direct and proxied")
    parser.add_argument("--verified", type=int, default=200, help="verified requests at each number of callers")
    parser.add_argument("--memory", type=int, default=2_000, help="requests over which memory is followed, each kind")
    asked = parser.parse_args()
    before, here = os.getloadavg(), machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(folder, asked)
    load = {"before_1_5_15_min": before, "after_1_5_15_min": os.getloadavg(), "cores": here["cores"]}
    command = shlex.join(["python", *sys.argv])
    save("proxy_load", {"command": command, "machine": here, "load": load, **rows})


if __name__ == "__main__":
    main()
