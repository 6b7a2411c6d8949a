"""Seconds and memory of `likewise report`: cold (empty label store), warm (full one), and of `likewise --help`.

    python benchmarks/report_time.py [--store FILE]

With --store, a label store that is full already, only the warm report and --help are measured; the cold figures stay as
they are. Byte code is written and used, as it is where the package is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import RESULTS, machine, rollout_file, save

INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
COMMAND = str(Path(sys.executable).with_name("likewise"))


def run(*arguments: str) -> dict[str, float]:
    """Wall and processor seconds and peak memory of one command."""
    began = time.perf_counter()
    silent = subprocess.DEVNULL
    process = subprocess.Popen([COMMAND, *arguments], stdout=silent, stderr=silent, env=INSTALLED)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"likewise {' '.join(arguments)} failed with {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_megabytes": round(usage.ru_maxrss / 1024, 1),
    }


def judged_anew(report: Path) -> int:
    """Pairs of texts that went through the network."""
    return json.loads(report.read_text())["judge_use"]["from_model"]


def main() -> None:
    """One cold run, three warm ones, ten of --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="full label store: measure no cold report")
    args = parser.parse_args()
    figures: dict[str, object] = {"rollouts": rollout_file().name}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = args.store or folder / "labels.sqlite"
        outputs = ("--json", f"{folder}/out.json", "--html", f"{folder}/out.html", "--store", str(store))
        if args.store:
            figures["cold"] = json.loads((RESULTS / "report_time.json").read_text())["cold"]
            run("report", str(rollout_file()), *outputs)  # writes what byte code is missing
        else:
            load = machine()["load_before"]
            figures["cold"] = {**run("report", str(rollout_file()), *outputs), "load_before": load}
        warm = [run("report", str(rollout_file()), *outputs) for _ in range(3)]
        if judged := judged_anew(folder / "out.json"):
            raise SystemExit(f"{store} is not full: {judged} pairs were judged")
        figures["warm_median"] = sorted(warm, key=lambda row: row["seconds"])[1]
        html = (folder / "out.html").stat().st_size
    figures["help_median_seconds"] = statistics.median(run("--help")["seconds"] for _ in range(10))
    save("report_time", {**figures, "html_megabytes": round(html / 1e6, 2)})


if __name__ == "__main__":
    main()
