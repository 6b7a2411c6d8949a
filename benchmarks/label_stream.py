"""Memory and pace of `likewise label` on streams: 300,000 distinct pairs, and 1,000,000 with repeats.

The embedded judge would take hours for that many, so the full counts run with a judge that answers by a hash: what is
measured there is everything else (reading, telling pairs apart, rules, slot guard, label store, writing). Beside it
stands the embedded judge's pace on a sample of pairs of which no two share a text, with the projection to the full
count.

    python benchmarks/label_stream.py [--distinct 300000] [--total 1000000] [--sample 120]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import rollout_file, save

from likewise import group_rollouts, read_rollouts
from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.cli.label import _run
from likewise.core.labels import Judgement, Relation
from likewise.core.protocols import no_progress
from likewise.core.state_text import canonical_text
from likewise.scoring.label import Labeller
from likewise.scoring.label_sources import label_input
from likewise.scoring.stored_judge import StoredJudge


class HashJudge:
    """Answers at once, by a hash of the texts: stands in for a judge where only the road to it is measured."""

    judge_id = "hash"

    def judge(self, pairs, progress=None):
        """One relation of three for each pair."""
        for first, second in pairs:
            digest = hashlib.blake2b(f"{first}\x00{second}".encode(), digest_size=1).digest()
            yield Judgement.certain(Relation(digest[0] % 3), "nli")
            if progress is not None:
                progress.advance()


def sentences() -> list[str]:
    """What agents really say, as material."""
    groups = group_rollouts(read_rollouts(rollout_file()))
    texts = {canonical_text(action.text) for group in groups for run in group.valid for action in run.actions}
    return sorted(text for text in texts if 40 <= len(text) <= 240)


def write_pairs(path: Path, total: int, distinct: int) -> None:
    """Pairs of real sentences made distinct by a case number; beyond `distinct`, earlier pairs again, half turned."""
    said, draw = sentences(), random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for i in range(total):
            number = i if i < distinct else draw.randrange(distinct)
            make = random.Random(number)
            a, b = (f"{make.choice(said)} (case {side}{number:07})" for side in "AB")
            pair = (a, b) if i < distinct or draw.random() < 0.5 else (b, a)
            file.write(json.dumps({"a": pair[0], "b": pair[1]}) + "\n")


def child(pairs: str, out: str, store: str) -> None:
    """The road of `likewise label`, with the judge above; run in a process of its own so that its memory is its own."""
    with label_input([pairs]) as source, LabelStore(Path(store)) as label_store:
        summary = _run(source, Labeller(StoredJudge(HashJudge(), label_store)), 4096, out, no_progress)
    print(json.dumps(summary.as_json()))


def streamed(total: int, distinct: int, stores: tuple[str, ...]) -> dict[str, object]:
    """Seconds, processor seconds and peak memory of one stream, with an empty label store and then with a full one."""
    figures: dict[str, object] = {"pairs": total, "distinct": distinct}
    with tempfile.TemporaryDirectory() as folder:
        pairs = Path(folder, "pairs.jsonl")
        write_pairs(pairs, total, distinct)
        figures["file_megabytes"] = round(pairs.stat().st_size / 1e6, 1)
        for name in stores:
            out = Path(folder, f"{name}.jsonl")
            arguments = [sys.executable, __file__, "--child", str(pairs), str(out), f"{folder}/labels.sqlite"]
            began = time.perf_counter()
            process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
            summary = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            if status or summary["distinct_pairs"] != distinct or sum(1 for _ in out.open()) != distinct:
                raise SystemExit(f"{name}: {status}, {summary}")
            seconds = usage.ru_utime + usage.ru_stime
            figures[name] = {
                "seconds": round(time.perf_counter() - began, 1),
                "processor_seconds": round(seconds, 1),
                "pairs_per_processor_second": round(total / seconds),
                "peak_megabytes": round(usage.ru_maxrss / 1024, 1),
                "judged": summary["judge_use"]["from_model"],
            }
        contents = {Path(folder, f"{name}.jsonl").read_bytes() for name in stores}
        figures["same labels each time"] = len(contents) == 1
    return figures


def real_judge(sample: int, projected: int) -> dict[str, object]:
    """The embedded judge on pairs of which no two share a text: the most work that a pair can be."""
    said = sentences()
    random.Random(1).shuffle(said)
    pairs = [tuple(sorted(pair)) for pair in zip(said[::2], said[1::2], strict=False)][:sample]
    judge = embedded_judge()
    list(judge.judge(pairs[:2]))  # the graphs load once
    began, worked = time.perf_counter(), time.process_time()
    list(judge.judge(pairs))
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    cores = len(os.sched_getaffinity(0))
    return {
        "judge": judge.judge_id,
        "pairs": len(pairs),
        "mean_characters_of_a_text": round(sum(len(t) for pair in pairs for t in pair) / len(pairs) / 2),
        "seconds": round(seconds, 1),
        "processor_seconds": round(worked, 1),
        "processor_milliseconds_a_pair": round(1000 * worked / len(pairs), 1),
        f"hours_for_{projected}_on_{cores}_idle_cores (projection)": round(
            worked / len(pairs) * projected / cores / 3600, 2
        ),
    }


def main() -> None:
    """Measure both streams and the sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distinct", type=int, default=300_000)
    parser.add_argument("--total", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=120)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return
    save(
        "label_stream",
        {
            "streams (hash judge)": [
                streamed(args.distinct, args.distinct, ("empty store", "full store")),
                streamed(args.total, args.distinct // 3, ("empty store",)),
            ],
            "embedded judge": real_judge(args.sample, args.distinct),
        },
    )


if __name__ == "__main__":
    main()
