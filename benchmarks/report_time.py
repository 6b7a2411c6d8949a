"""Seconds and memory of `likewise report`: cold (empty label store), warm (full one), and of `likewise --help`.

python benchmarks/report_time.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import rollout_file, save

COMMAND = str(Path(sys.executable).with_name("likewise"))


def run(*arguments: str) -> dict[str, float]:
    """Wall and processor seconds and peak memory of one command."""
    began = time.perf_counter()
    process = subprocess.Popen([COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"likewise {' '.join(arguments)} failed with {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_megabytes": round(usage.ru_maxrss / 1024, 1),
    }


def main() -> None:
    """One cold run, three warm ones, ten of --help."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = ("--json", f"{folder}/out.json", "--html", f"{folder}/out.html", "--store", f"{folder}/labels.sqlite")
        cold = run("report", str(rollout_file()), *outputs)
        warm = [run("report", str(rollout_file()), *outputs) for _ in range(3)]
        html = Path(folder, "out.html").stat().st_size
    help_seconds = [run("--help")["seconds"] for _ in range(10)]
    save(
        "report_time",
        {
            "rollouts": rollout_file().name,
            "cold": cold,
            "warm_median": sorted(warm, key=lambda row: row["seconds"])[1],
            "help_median_seconds": statistics.median(help_seconds),
            "html_megabytes": round(html / 1e6, 2),
        },
    )


if __name__ == "__main__":
    main()
