"""Reads 10,000 mutated log files of every format: no traceback, none slower than 10 s, memory below 1 GB.

LIKEWISE_DATA=... python benchmarks/fuzz_formats.py [--files 10000] [--seed 0]

Starts from the real samples where LIKEWISE_DATA names them, beside the small files of the tests. A file that breaks the
reading is kept under benchmarks/results/fuzz and named; the command then ends with 1.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from common import HERE, RESULTS, save

sys.path.insert(0, str(HERE.parent / "tests"))

from formats.fuzz import Seed, mutated, read, seeds_of
from formats.seeds import SEEDS

SLOWEST, LARGEST = 10.0, 1024.0


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"not read within {SLOWEST:g} s")


def _peak() -> float:
    """Megabytes that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _starts() -> list[tuple[str, Seed]]:
    """(group, file) to start from: groups take turns, so that a format of one sample is as much tried as one of ten."""
    starts = [(f"small {name}", seed) for name, seeds in SEEDS.items() for seed in seeds]
    folder = Path(os.environ.get("LIKEWISE_DATA", HERE.parent.parent / "shared" / "data")) / "rollouts"
    if folder.is_dir():
        starts += [(each.name, seed) for each in sorted(folder.iterdir()) if each.is_dir() for seed in seeds_of(each)]
    return starts


def main() -> int:
    """Fuzz, write the result, and tell by the exit code whether every file was survived."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    groups: dict[str, list[Seed]] = {}
    for group, seed in _starts():
        groups.setdefault(group, []).append(seed)
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    signal.signal(signal.SIGALRM, _too_slow)
    outcomes: Counter[str] = Counter()
    slowest, largest, failures = (0.0, ""), (0.0, ""), []
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.files):
            group = list(groups)[number % len(groups)]
            chance = random.Random(f"{options.seed} {number}")
            seed = chance.choice(groups[group])
            how, data = mutated(seed, chance)
            path = Path(folder, seed.name)
            path.write_bytes(data)
            before = _peak()
            started = time.process_time()
            signal.alarm(int(6 * SLOWEST))  # on a busy machine the clock runs faster than the processor
            try:
                outcomes[read(path, chance)] += 1
            except Exception:
                outcomes["broke"] += 1
                failures.append(f"{number} {group} {seed.name} ({how}): {traceback.format_exc(limit=-3)}")
                (RESULTS / "fuzz").mkdir(parents=True, exist_ok=True)
                (RESULTS / "fuzz" / f"{options.seed}-{number}-{seed.name}").write_bytes(data)
            finally:
                signal.alarm(0)
            slowest = max(slowest, (time.process_time() - started, f"{group} {seed.name} ({how})"))
            largest = max(largest, (_peak() - before, f"{group} {seed.name} ({how})"))
    rows = {
        "files": options.files,
        "seed": options.seed,
        "starts": {group: len(seeds) for group, seeds in groups.items()},
        "outcomes": dict(outcomes.most_common()),
        "slowest_processor_seconds": round(slowest[0], 2),
        "slowest": slowest[1],
        "peak_megabytes": round(_peak(), 1),
        "most_megabytes_added": round(largest[0], 1),
        "most_added_by": largest[1],
        "seconds": round(time.perf_counter() - began, 1),
        "failures": failures,
    }
    save("fuzz_formats", rows)
    return int(bool(failures) or slowest[0] > SLOWEST or _peak() > LARGEST)


if __name__ == "__main__":
    raise SystemExit(main())
