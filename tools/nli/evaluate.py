"""Accuracy of exported judges on NLI sets, and how often two of them disagree (fp32 against int8).

python tools/nli/evaluate.py --judge build/fp32 src/likewise/models/nli --data nli/eval/*.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path

import numpy as np

from likewise.backends.onnx_nli import OnnxNli
from likewise.core.state_text import canonical_text
from likewise.metrics.resampling import wilson_interval

LABELS = ("entailment", "neutral", "contradiction")


def main() -> None:
    """Parse, judge, print one JSON row a set and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", type=Path, nargs="+", required=True, help="folders written by export.py")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--limit", type=int, help="first rows only")
    args = parser.parse_args()
    for path in args.data:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines][: args.limit]
        pairs = [(canonical_text(row["premise"]), canonical_text(row["hypothesis"])) for row in rows]
        truth = np.array([LABELS.index(row["label"]) for row in rows])
        guesses = []
        for folder in args.judge:
            began = time.time()
            guess = np.array([int(np.argmax(j.forward)) for j in OnnxNli(folder).judge(pairs)])
            guesses.append(guess)
            right = int((guess == truth).sum())
            low, high = wilson_interval(right, len(truth))
            row = {"set": path.name, "judge": str(folder), "n": len(truth), "accuracy": round(right / len(truth), 4)}
            row |= {"low": round(low, 4), "high": round(high, 4), "seconds": round(time.time() - began, 1)}
            if len(guesses) > 1:
                row["labels_unlike_first_judge"] = int((guess != guesses[0]).sum())
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
