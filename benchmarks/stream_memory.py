"""Peak memory of reading a folder of 500 and of 5,000 runs: `inspect` and `convert` stream, `read_rollouts` holds all.

python benchmarks/stream_memory.py [--layouts chat claude-code atif] [--commands inspect convert read_rollouts]

What is not measured this time stays as it was in the result; each row says under which load it was made.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import RESULTS, save

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
TURNS = 15
TIME = "2026-01-01T10:{:02d}:{:02d}.000Z"


def chat(number: int, said: list[tuple[str, str]]) -> tuple[str, str]:
    """A log of one chat: file name and content."""
    messages = [
        {"role": role, "content": text} for pair in said for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    return f"run-{number:05}.json", json.dumps({"task_id": f"task {number % 500}", "messages": messages})


def claude_code(number: int, said: list[tuple[str, str]]) -> tuple[str, str]:
    """A session of Claude Code with a slug of its own, as any other session might go on with it."""
    lines = []
    for turn, (asked, answered) in enumerate(said):
        common = {"sessionId": f"s{number}", "slug": f"slug-{number}", "uuid": f"{number}-{turn}", "isSidechain": False}
        common["timestamp"] = TIME.format(turn, number % 60)
        told = f"Task {number % 500}. {asked}" if turn == 0 else asked
        message: dict[str, object] = {
            "id": f"m{number}-{turn}",
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
        }
        message["content"] = [{"type": "text", "text": answered}]
        lines.append({"type": "user", **common, "message": {"role": "user", "content": told}})
        lines.append({"type": "assistant", **common, "message": message})
    return f"session-{number:05}.jsonl", "".join(json.dumps(line) + "\n" for line in lines)


def atif(number: int, said: list[tuple[str, str]]) -> tuple[str, str]:
    """A trajectory; every other one goes on in the next file."""
    steps: list[dict[str, object]] = []
    for asked, answered in said:
        steps.append({"step_id": len(steps) + 1, "source": "user", "message": f"Task {number % 500}. {asked}"})
        steps.append({"step_id": len(steps) + 1, "source": "agent", "message": answered})
    top: dict[str, object] = {"schema_version": "ATIF-v1.5", "session_id": f"s{number}", "agent": {"name": "a"}}
    further = {} if number % 2 else {"continued_trajectory_ref": f"run-{number + 1:05}.json"}
    return f"run-{number:05}.json", json.dumps({**top, "steps": steps, **further})


LAYOUTS: dict[str, Callable[[int, list[tuple[str, str]]], tuple[str, str]]] = {
    "chat": chat,
    "claude-code": claude_code,
    "atif": atif,
}


def fill(folder: Path, runs: int, layout: str) -> float:
    """Write runs of some 20 kB, one a file; their megabytes together."""
    chance = random.Random(runs)
    size = 0
    for number in range(runs):
        texts = (" ".join(chance.choices(WORDS, k=100)) for _ in range(TURNS))
        name, content = LAYOUTS[layout](number, [(text, text[::-1]) for text in texts])
        size += (folder / name).write_bytes(content.encode())
    return size / 2**20


def measure(*command: str) -> dict[str, float]:
    """Seconds, peak megabytes and load of a command."""
    load = os.getloadavg()[0]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed with {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_megabytes": round(usage.ru_maxrss / 1024, 1),
        "load_before": round(load, 1),
    }


def main() -> None:
    """Measure the folders asked for and save the figures beside those that there are."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, default=list(LAYOUTS))
    parser.add_argument(
        "--commands",
        nargs="+",
        choices=("inspect", "convert", "read_rollouts"),
        default=["inspect", "convert", "read_rollouts"],
    )
    options = parser.parse_args()
    earlier = RESULTS / "stream_memory.json"
    rows: dict[str, Any] = json.loads(earlier.read_text()) if earlier.exists() else {}
    rows.pop("machine", None)
    for layout in options.layouts:
        for runs in (500, 5_000):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place, "runs")
                folder.mkdir()
                row = rows.setdefault(f"{layout}, {runs} runs", {})
                row["megabytes_on_disk"] = round(fill(folder, runs, layout), 1)
                out = str(Path(place, "out.jsonl.gz"))
                commands = {
                    "inspect": (COMMAND, "inspect", str(folder), "--json"),
                    "convert": (COMMAND, "convert", str(folder), "--out", out, "--quiet"),
                    "read_rollouts": (sys.executable, "-c", READ, str(folder)),
                }
                row |= {name: measure(*commands[name]) for name in options.commands}
    save("stream_memory", rows)


if __name__ == "__main__":
    main()
