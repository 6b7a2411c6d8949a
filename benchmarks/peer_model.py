"""A cross-encoder to measure pace with, where no trained one is at hand: a base model, and a head fitted in a minute.

    .venv-peers/bin/python benchmarks/peer_model.py --base minilm --data nli/train.jsonl.gz --out build/peer-model

The base stays as it is; three classes are read off its first token by ridge regression on a few hundred labelled pairs.
It answers a little better than chance, and differently from pair to pair: enough to count rows and to see whether two
ways of asking it agree. It is no judge, and fails the self-test of `hf:`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

LABELS = ("entailment", "neutral", "contradiction")
RIDGE = 10.0


def main() -> None:
    """Read, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder of an encoder (safetensors)")
    parser.add_argument("--data", type=Path, required=True, help=".jsonl.gz with premise, hypothesis, label")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    names = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    model = AutoModelForSequenceClassification.from_pretrained(args.base, num_labels=len(LABELS), **names).eval()
    tokenizer = AutoTokenizer.from_pretrained(args.base)
    with gzip.open(args.data, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, args.pairs)]
    seen: list[np.ndarray] = []
    hook = model.classifier.register_forward_pre_hook(lambda _, given: seen.append(given[0].numpy()))
    with torch.no_grad():
        for row in rows:
            model(**tokenizer(row["premise"], row["hypothesis"], truncation=True, return_tensors="pt"))
    hook.remove()
    features = np.concatenate(seen)
    truth = np.eye(len(LABELS))[[LABELS.index(row["label"]) for row in rows]] - 1 / len(LABELS)
    mean = features.mean(axis=0)
    centred = features - mean
    weights = np.linalg.solve(centred.T @ centred + RIDGE * np.eye(len(mean)), centred.T @ truth)
    with torch.no_grad():
        model.classifier.weight.copy_(torch.from_numpy(weights.T))
        model.classifier.bias.copy_(torch.from_numpy(-mean @ weights))
    model.save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    (args.out / "NOTE.txt").write_text(
        f"{args.base.name}, untrained but for three classes fitted on {len(rows)} NLI pairs: pace, not accuracy\n"
    )


if __name__ == "__main__":
    main()
