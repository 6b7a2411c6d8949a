"""What every benchmark shares: where the rollouts are, what machine this is, where results go."""

from __future__ import annotations

import json
import os
import platform
from datetime import date
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SHIPPED = HERE.parent / "examples" / "rollouts" / "airline.json"


def rollout_file() -> Path:
    """The 30-task tau-bench file where LIKEWISE_DATA names a folder that has it, else the shipped 10 tasks."""
    folder = Path(os.environ.get("LIKEWISE_DATA", HERE.parent.parent / "shared" / "data"))
    large = folder / "rollouts" / "tau-bench" / "gpt-4o-airline-tasks-0-29.json"
    return large if large.exists() else SHIPPED


def machine() -> dict[str, object]:
    """Processor, cores, what it can do in hardware, and the load before the run."""
    flags = ""
    model = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
        flags = next((line for line in lines if line.startswith("flags")), "")
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "int8": [name for name in ("avx2", "avx512_vnni", "avx_vnni", "amx_int8") if name in flags.split()],
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "date": date.today().isoformat(),
    }


def save(name: str, rows: dict[str, object]) -> None:
    """Write a result and print it."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), **rows}, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n")
    print(text)
