"""What the layer adds: 200 concurrent queries of 5 runs each against a local endpoint that takes 200 ms.

    python benchmarks/layer_overhead.py [QUERIES]

Three ways, the same requests in each: the bare client (gather of all calls), the layer with judging left out of the
account (its answers are identical, so that structure decides and no model is asked), and the layer with the embedded
judge on answers that differ in wording. Overhead is wall time over the bare client's, as a share and in milliseconds a
query; beside it stands processor time, which other programs of a busy machine disturb less. The endpoint is a process
of its own, which answers from a table after waiting.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import sys
import time

from common import save

from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.runner import RunSettings

RUNS, LATENCY = 5, 0.2
WORDINGS = (
    "The refund has been sent to your card.",
    "We have sent the refund to your card.",
    "Your refund was sent to the card.",
    "The refund is on its way to your card.",
    "Your card has been refunded.",
)


def serve(port: object) -> None:
    """A bare HTTP/1.1 server in asyncio: quicker than what is measured."""
    import json

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(int(h.split(b":")[1]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-le"))
                body = json.loads(await reader.readexactly(length))
                await asyncio.sleep(LATENCY)
                message = {"role": "assistant", "content": body["messages"][-1]["content"]}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                done = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
                sent = json.dumps(done).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(sent)
                )
                writer.write(sent)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def live() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=2048)
        port.value = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    asyncio.run(live())


async def measure(url: str, queries: int) -> dict[str, object]:
    """Wall and processor seconds of each way."""
    import openai

    from likewise.reliability.agents import current_run

    client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=600)

    async def call(text: str) -> str:
        done = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
        return str(done.choices[0].message.content)

    async def alike(query: str) -> str:
        return await call(f"The answer to {query} is yes.")

    async def worded(query: str) -> str:
        run = current_run()
        return await call(f"{WORDINGS[(run.index if run else 0) % RUNS]} It is query {query}.")

    settings = RunSettings(deadline=600, attempts=1)
    layer = ReliabilityLayer(RUNS, running=settings)
    rows: dict[str, object] = {}

    async def timed(name: str, work: object) -> float:
        began, spent = time.perf_counter(), time.process_time()
        results = await asyncio.gather(*work)
        wall = time.perf_counter() - began
        rows[name] = {"wall_s": round(wall, 2), "processor_s": round(time.process_time() - spent, 2)}
        if name.startswith("layer"):
            assert all(verdict.runs_failed == 0 for verdict in results)
            judging = sum(verdict.metadata["seconds_judging"] for verdict in results)
            rows[name]["judging_s"] = round(judging, 2)
        print(name, rows[name], flush=True)
        return wall

    await asyncio.gather(*(call("warm") for _ in range(queries * RUNS)))  # connections
    bare = await timed("bare client", [alike(str(i)) for i in range(queries) for _ in range(RUNS)])
    wrapped = layer.wrap(alike)
    excluded = await timed("layer, identical answers", [wrapped.aquery(str(i)) for i in range(queries)])
    await layer.wrap(worded).aquery("warm")  # models load
    wrapped = layer.wrap(worded)
    included = await timed("layer, judging", [wrapped.aquery(str(i)) for i in range(queries)])
    await client.close()
    for way, name, wall in (
        ("layer, identical answers", "overhead, judging excluded", excluded),
        ("layer, judging", "overhead, judging included", included),
    ):
        rows[name] = {
            "share": round(wall / bare - 1, 3),
            "ms_a_query": round(1000 * (wall - bare) / queries, 2),
            "processor_ms_a_query": round(
                1000 * (rows[way]["processor_s"] - rows["bare client"]["processor_s"]) / queries, 2
            ),
        }
    return rows


def main() -> None:
    """Start the endpoint, measure, save."""
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    port = multiprocessing.Value("i", 0)
    server = multiprocessing.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    load = os.getloadavg()[0]
    rows = asyncio.run(measure(f"http://127.0.0.1:{port.value}/v1", queries))
    server.terminate()
    save(
        "layer_overhead",
        {
            "queries": queries,
            "runs": RUNS,
            "latency_s": LATENCY,
            "note": f"load {load:.1f} on {os.cpu_count()} cores when it began; wall times of a busy machine are weak",
            **rows,
        },
    )


if __name__ == "__main__":
    main()
