"""Memory and pace of `likewise label` on a stream: 300,000 distinct pairs, then repeats of them up to 1,000,000.

The embedded judge would take hours for that many, so the full count runs with a judge that answers by a hash: what is
measured there is everything else (reading, telling pairs apart, rules, slot guard, label store, writing). Beside it
`likewise label` runs as it is, with the embedded judge, on the same file, until it is killed: what the label store then
holds is what it judged, and its pace is projected to the full count. Each part is written as it ends, beside what the
other part measured before.

    python benchmarks/label_stream.py [stream] [judge] [--distinct 300000] [--total 1000000] [--seconds 360]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import RESULTS, machine, rollout_file, save

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

LONGEST = 140
"""Characters of a text, before its case number: rules read every character, and a million pairs have many."""
COMMAND = str(Path(sys.executable).with_name("likewise"))


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
    return sorted(text for text in texts if 40 <= len(text) <= LONGEST)


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


def waited(process: subprocess.Popen, began: float) -> tuple[int, dict[str, float]]:
    """The exit status of a process, and its seconds, processor seconds and peak memory."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, {
        "seconds": round(time.perf_counter() - began, 1),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_megabytes": round(usage.ru_maxrss / 1024, 1),
    }


def streamed(folder: Path, pairs: Path, total: int, distinct: int) -> dict[str, object]:
    """The whole stream, with an empty label store."""
    out = folder / "labels.jsonl"
    arguments = [sys.executable, __file__, "--child", str(pairs), str(out), str(folder / "hash.sqlite")]
    began = time.perf_counter()
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        summary = json.loads(process.stdout.read() or "{}")
        status, used = waited(process, began)
    with out.open() as lines:
        written = sum(1 for _ in lines)
    if status or summary["distinct_pairs"] != distinct or written != distinct:
        raise SystemExit(f"the stream: {status}, {summary}, {written} labels written")
    return {
        "pairs": total,
        "distinct": distinct,
        "labels written": written,
        "file_megabytes": round(pairs.stat().st_size / 1e6, 1),
        **used,
        "pairs_per_processor_second": round(total / used["processor_seconds"]),
        "judged": summary["judge_use"]["from_model"],
    }


def real_judge(folder: Path, pairs: Path, distinct: int, seconds: float) -> dict[str, object]:
    """`likewise label` with the embedded judge, killed when its time is over; no two pairs of the file share a text."""
    store = folder / "embedded.sqlite"
    arguments = [COMMAND, "label", str(pairs), "--out", str(folder / "never.jsonl"), "--store", str(store), "--quiet"]
    began = time.perf_counter()
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        said = process.stderr.read()
        status, used = waited(process, began)
    if status != -signal.SIGKILL:
        raise SystemExit(f"likewise label ended by itself with {status}: {said}")
    with LabelStore(store) as kept:
        judged = len(kept)
    if not judged:
        raise SystemExit(f"nothing was judged in {seconds:g} seconds; give it more with --seconds")
    cores = len(os.sched_getaffinity(0))
    each = used["processor_seconds"] / judged
    return {
        "judge": embedded_judge().judge_id,
        "pairs judged until killed": judged,
        **used,
        "processor_milliseconds_a_pair": round(1000 * each, 1),
        f"hours_for_{distinct}_on_{cores}_idle_cores (projection)": round(each * distinct / cores / 3600, 2),
    }


def main() -> None:
    """Measure what is asked for, and write it beside what is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="stream, judge; both where none is named")
    parser.add_argument("--distinct", type=int, default=300_000)
    parser.add_argument("--total", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=360.0, help="time for the embedded judge")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return
    if unknown := set(args.parts) - {"stream", "judge"}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are stream and judge")
    known = RESULTS / "label_stream.json"
    measured: dict[str, object] = json.loads(known.read_text()) if known.exists() else {}
    measured.pop("machine", None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = folder / "pairs.jsonl"
        write_pairs(pairs, args.total, args.distinct)
        said = sentences()
        for part in args.parts or ("judge", "stream"):
            where = machine()
            if part == "judge":
                figures = real_judge(folder, pairs, args.distinct, args.seconds)
            else:
                figures = streamed(folder, pairs, args.total, args.distinct)
            measured[{"judge": "embedded judge", "stream": "stream, hash judge"}[part]] = {
                "load_before": where["load_before"],
                "date": where["date"],
                "mean_characters_of_a_text": round(sum(map(len, said)) / len(said) + len(" (case A0000000)")),
                **figures,
            }
            save("label_stream", measured)


if __name__ == "__main__":
    main()
