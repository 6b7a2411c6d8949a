"""Fit the head of the action judge, and say how good it is on tasks and domains that it has not seen.

    python tools/nli/fit_head.py --network build/nli --silver silver/action_pairs_train.jsonl \
        --variants silver/action_variants_train.jsonl --gold gold/action_pairs_dev.jsonl \
        --out src/likewise/models/nli/action_head.json

Gold and silver share airline tasks, so gold is judged in five folds by task, each by a head that saw no silver of the
fold's tasks; variants are judged domain by domain, each by a head that saw nothing of the domain. Both are honest only
for a network that saw neither (train.py on pairs made with `actions.py --leave-out airline`): the network is the
same in all folds.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from likewise.backends.action_judge import WITNESSES, witness_features
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.onnx_nli import OnnxNli
from likewise.core.labels import Relation
from likewise.core.state_text import canonical_text

FOLDS = 5


@dataclass(frozen=True)
class Material:
    """Labelled text pairs with their features: one entry a pair."""

    features: np.ndarray
    truth: np.ndarray
    source: np.ndarray
    domain: np.ndarray
    fold: np.ndarray

    @property
    def airline(self) -> np.ndarray:
        """Which pairs are of the domain that gold is of."""
        return self.domain == "airline"


def read(paths: dict[str, Path]) -> list[dict[str, str]]:
    """Text pairs of all files; `source` says which file."""
    rows = []
    for source, path in paths.items():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind = row.get("kind", "text-text")
            if kind in ("text-tool", "tool-tool") or kind.startswith(
                "action_"
            ):  # the last are the labelled pairs again
                continue
            rows.append({"domain": "airline", **row, "source": source})
    return rows


def weigh(rows: list[dict[str, str]], network: OnnxNli) -> Material:
    """Ask all witnesses about all pairs."""
    pairs = [(canonical_text(r["action_a"]), canonical_text(r["action_b"])) for r in rows]
    pairs = [(a, b) if a <= b else (b, a) for a, b in pairs]
    texts = sorted({text for pair in pairs for text in pair})
    vectors = dict(zip(texts, embedded_encoder().encode(texts), strict=True))
    features = [
        witness_features(comparison, float(vectors[a] @ vectors[b]), a, b)
        for (a, b), comparison in zip(pairs, network.compare(pairs), strict=True)
    ]
    return Material(
        np.array(features),
        np.array([int(Relation[r["label"].upper()]) for r in rows]),
        np.array([r["source"] for r in rows]),
        np.array([r["domain"] for r in rows]),
        np.array([int(r["task_id"]) % FOLDS if str(r.get("task_id", "")).isdigit() else -1 for r in rows]),
    )


@dataclass(frozen=True)
class Head:
    """A fitted head."""

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: np.ndarray

    def predict(self, features: np.ndarray) -> np.ndarray:
        """Relations."""
        return (((features - self.mean) / self.scale) @ self.weights.T + self.bias).argmax(axis=1)


def fit(features: np.ndarray, truth: np.ndarray, weight: np.ndarray, strength: float) -> Head:
    """Multinomial logistic regression on standardised features."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=strength, max_iter=5000).fit((features - mean) / scale, truth, sample_weight=weight)
    return Head(mean, scale, model.coef_, model.intercept_)


def weights_of(m: Material, variant: float, made: float) -> np.ndarray:
    """How much each pair counts: what agents really said in full, what was written or made for training less."""
    return np.select([m.source == "variants", m.source == "made"], [variant, made], 1.0)


def row(name: str, truth: np.ndarray, guess: np.ndarray) -> dict[str, object]:
    """Accuracy, macro-F1 over the classes present, recalls, and the confusion matrix."""
    present = sorted(set(truth.tolist()))
    matrix = confusion_matrix(truth, guess, labels=[0, 1, 2])
    recall = {Relation(k).name.lower(): round(float(matrix[k, k] / matrix[k].sum()), 3) for k in present}
    f1 = f1_score(truth, guess, labels=present, average="macro")
    accuracy = round(float(accuracy_score(truth, guess)), 3)
    return {"on": name, "n": len(truth), "accuracy": accuracy, "macro_f1": round(float(f1), 3), "recall": recall,
            "confusion": matrix.tolist()}  # fmt: skip


def main() -> None:
    """Parse, fit in folds, report, fit on everything, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", type=Path, required=True, help="folder written by export.py")
    for name in ("silver", "variants", "gold"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--made", type=Path, help="pairs written by actions.py, to train on and to test swaps on")
    parser.add_argument("--cache", type=Path, help="keep the witnesses' answers here (.npz)")
    parser.add_argument("--variant-weight", type=float, default=1.0)
    parser.add_argument("--made-weight", type=float, default=0.1)
    parser.add_argument("--strength", type=float, default=0.1, help="inverse of the regularisation")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    paths = {name: getattr(args, name) for name in ("silver", "variants", "gold", "made") if getattr(args, name)}
    if args.cache and args.cache.exists():
        m = Material(**np.load(args.cache))
    else:
        m = weigh(read(paths), OnnxNli(args.network))
        if args.cache:
            np.savez(args.cache, **vars(m))
    weight = weights_of(m, args.variant_weight, args.made_weight)

    def judged(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return fit(m.features[train], m.truth[train], weight[train], args.strength).predict(m.features[test])

    silver, variants, gold, made = (m.source == name for name in ("silver", "variants", "gold", "made"))
    guess = np.zeros_like(m.truth)
    for k in range(FOLDS):
        test = gold & (m.fold == k)
        guess[test] = judged((silver & ~(m.airline & (m.fold == k))) | ((variants | made) & ~m.airline), test)
    print(json.dumps(row("gold dev, text-text, five folds by task", m.truth[gold], guess[gold])))
    for domain in sorted(set(m.domain[variants])):
        test = (variants | made) & (m.domain == domain)
        guess[test] = judged((silver | variants | made) & (m.domain != domain), test)
    print(json.dumps(row("variants, domain by domain", m.truth[variants], guess[variants])))
    airline = variants & m.airline
    print(json.dumps(row("variants, airline", m.truth[airline], guess[airline])))
    if made.any():
        print(json.dumps(row("made pairs, domain by domain", m.truth[made], guess[made])))
    if args.out:
        train = silver | variants | made
        head = fit(m.features[train], m.truth[train], weight[train], args.strength)
        content = {"features": list(WITNESSES)}
        content |= {k: np.round(v, 6).tolist() for k, v in vars(head).items()}
        args.out.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
