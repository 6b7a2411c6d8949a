"""Grounding on SummEdits: does the layer tell a summary from one in which a small edit made it false?

    LIKEWISE_DATA=... python benchmarks/grounding.py [ITEMS PER DOMAIN]

Balanced accuracy with a 95% interval (Wilson on each class, halves added), beside always-consistent (0.5 by
definition), lexical overlap, and the judge reading source and summary as two whole texts. Overlap's threshold is the
median of the sample: it knows the balance of the classes, and no label.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import time
from pathlib import Path

import numpy as np
from common import save

from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.metrics.resampling import wilson_interval
from likewise.reliability.grounding import Grounding, ground

DOMAINS = ("sales_call", "samsum", "qmsumm")


def sample(domain: str, most: int) -> list[dict[str, str]]:
    """As many items of both labels, spread evenly over the file."""
    path = Path(os.environ["LIKEWISE_DATA"]) / "grounding" / f"summedits_{domain}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        items = [json.loads(line) for line in file]
    chosen = []
    for label in ("consistent", "inconsistent"):
        of_label = [item for item in items if item["label"] == label]
        step = max(1, len(of_label) // (most // 2))
        chosen += of_label[::step][: most // 2]
    return chosen


def balanced(truth: list[bool], said: list[bool]) -> dict[str, float]:
    """Balanced accuracy of `said` (consistent), and its interval."""
    rates, halves = [], []
    for label in (True, False):
        hits = [s == label for t, s in zip(truth, said, strict=True) if t == label]
        low, high = wilson_interval(sum(hits), len(hits))
        rates.append(float(np.mean(hits)))
        halves.append((high - low) / 2)
    value, half = float(np.mean(rates)), float(np.hypot(*halves)) / 2
    return {"value": round(value, 3), "low": round(value - half, 3), "high": round(value + half, 3)}


def main() -> None:
    """Score each domain."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    judge, encoder = embedded_judge(), embedded_encoder()
    domains: dict[str, object] = {}
    for domain in DOMAINS:
        items, began = sample(domain, most), time.perf_counter()
        truth = [item["label"] == "consistent" for item in items]
        reports = [ground(item["answer"], {"source": item["source"]}, judge, encoder) for item in items]
        bad = [sum(s.status is Grounding.CONTRADICTED for s in r.sentences) for r in reports]
        share = [r.share.value if r.share.value is not None else 0.0 for r in reports]
        whole = [j.forward for j in judge.judge([(item["source"], item["answer"]) for item in items])]
        overlap = [_overlap(item["answer"], item["source"]) for item in items]
        domains[domain] = {
            "items": len(items),
            "no_sentence_contradicted": balanced(truth, [b == 0 for b in bad]),
            "all_sentences_supported": balanced(truth, [s == 1.0 for s in share]),
            "more_supported_than_median": balanced(truth, [s > float(np.median(share)) for s in share]),
            "plain_nli": balanced(truth, [int(np.argmax(p)) == 0 for p in whole]),
            "lexical_overlap": balanced(truth, [o >= float(np.median(overlap)) for o in overlap]),
            "seconds": round(time.perf_counter() - began, 1),
        }
        print(domain, json.dumps(domains[domain]), flush=True)
    save("grounding", {"judge": judge.judge_id, "domains": domains})


def _overlap(answer: str, source: str) -> float:
    words, known = (set(re.findall(r"\w+", text.casefold())) for text in (answer, source))
    return len(words & known) / (len(words) or 1)


if __name__ == "__main__":
    main()
