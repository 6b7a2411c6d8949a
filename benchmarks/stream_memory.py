"""Peak memory of reading a folder of 500 and of 5,000 runs: `inspect` and `convert` stream, `read_rollouts` holds all.

python benchmarks/stream_memory.py
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import save

COMMAND = str(Path(sys.executable).with_name("likewise"))
WORDS = [
    "flight",
    "hotel",
    "refund",
    "ticket",
    "please",
    "cancel",
    "booking",
    "change",
    "thank",
    "sorry",
    "gate",
    "seat",
    "bag",
]
READ = "import sys; from likewise.formats import read_rollouts; print(len(read_rollouts(sys.argv[1])))"


def fill(folder: Path, runs: int) -> float:
    """Write chat logs of some 20 kB, one run a file; their megabytes together."""
    chance = random.Random(runs)
    size = 0
    for number in range(runs):
        messages = []
        for _ in range(15):
            text = " ".join(chance.choices(WORDS, k=100))
            messages += [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}]
        data = json.dumps({"task_id": f"task {number % 500}", "messages": messages}).encode()
        (folder / f"run-{number:05}.json").write_bytes(data)
        size += len(data)
    return size / 2**20


def measure(*command: str) -> dict[str, float]:
    """Seconds and peak megabytes of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed with {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_megabytes": round(usage.ru_maxrss / 1024, 1),
    }


def main() -> None:
    """Measure both folders and save the figures."""
    rows: dict[str, object] = {}
    for runs in (500, 5_000):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "runs")
            folder.mkdir()
            out = str(Path(place, "out.jsonl.gz"))
            rows[f"{runs} runs"] = {
                "megabytes_on_disk": round(fill(folder, runs), 1),
                "inspect": measure(COMMAND, "inspect", str(folder), "--json"),
                "convert": measure(COMMAND, "convert", str(folder), "--out", out, "--quiet"),
                "read_rollouts": measure(sys.executable, "-c", READ, str(folder)),
            }
    save("stream_memory", rows)


if __name__ == "__main__":
    main()
