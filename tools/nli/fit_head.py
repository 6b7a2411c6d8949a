"""Fit the head of the action judge, and the temperature of its probabilities; say what both are worth on unseen tasks.

    python tools/nli/fit_head.py --cache build/judge/witnesses.jsonl --silver silver/action_pairs_train.jsonl \
        --variants silver/action_variants_train.jsonl --gold gold/action_pairs_dev.jsonl --made build/judge/made.jsonl \
        --out src/likewise/models/nli/action_head.json

The cache is what witnesses.py kept. Gold and silver share airline tasks, so pairs are judged in five folds by task,
each by a head that saw no pair of the fold's tasks, and nothing that was written or made of their domain; variants are
judged domain by domain, each by a head that saw nothing of the domain. Both are honest only for a network that saw
neither (train.py on pairs made with `actions.py --leave-out airline`): the network is the same in all folds.

The temperature (Guo et al. 2017, section 4.2) is the one that makes held-out silver labels likeliest; gold has no part
in it. `--temperature-only` leaves the weights of the head as they are in `--out`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression
from witnesses import FOLDS, Material, add_files, files_of, material, network_of, read_rows

from likewise.backends.action_judge import WITNESSES
from likewise.core.labels import Relation
from likewise.metrics.classification import accuracy, class_scores, confusion_matrix, macro_f1

Mask = np.ndarray
"""Which pairs, as booleans."""


@dataclass(frozen=True)
class Head:
    """A fitted head."""

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Before the softmax."""
        return ((features - self.mean) / self.scale) @ self.weights.T + self.bias


def fit(features: np.ndarray, truth: np.ndarray, weight: np.ndarray, strength: float) -> Head:
    """Multinomial logistic regression on standardised features."""
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=strength, max_iter=5000).fit((features - mean) / scale, truth, sample_weight=weight)
    return Head(mean, scale, model.coef_, model.intercept_)


def weights_of(m: Material, variant: float, made: float) -> np.ndarray:
    """How much each pair counts: what agents really said in full, what was written or made for training less."""
    return np.select([m.source == "variants", m.source == "made"], [variant, made], 1.0)


def is_from(m: Material, *sources: str) -> Mask:
    """Pairs of these files."""
    return np.isin(m.source, sources)


def task_parts(m: Material) -> np.ndarray:
    """Domain and fold of each pair of a run; a task is in one fold, in silver as in gold."""
    folds = [int(n) if n >= 0 else blake2b(task.encode(), digest_size=2).digest()[0] % FOLDS
             for n, task in zip(m.fold, m.task, strict=True)]  # fmt: skip
    return np.array([f"{domain}/{fold}" for domain, fold in zip(m.domain, folds, strict=True)])


def other_tasks(m: Material) -> Callable[[str], Mask]:
    """What a head may learn that judges a part of `task_parts`."""
    parts = task_parts(m)

    def allowed(part: str) -> Mask:
        domain = part.partition("/")[0]
        return (is_from(m, "silver") & (parts != part)) | (is_from(m, "variants", "made") & (m.domain != domain))

    return allowed


def other_domains(m: Material) -> Callable[[str], Mask]:
    """What a head may learn that judges a domain."""
    return lambda domain: is_from(m, "silver", "variants", "made") & (m.domain != domain)


def held_out(test: Mask, parts: np.ndarray, judge: Callable[[str, Mask], np.ndarray], width: int) -> np.ndarray:
    """What `judge` says of the rows of each part, which it has not learnt from."""
    found = np.zeros((len(test), width))
    for part in sorted(set(parts[test].tolist())):
        rows = test & (parts == part)
        found[rows] = judge(part, rows)
    return found[test]


def head_logits(m: Material, weight: np.ndarray, strength: float, allowed: Callable[[str], Mask]):
    """A judge for `held_out`: the head, fitted on what the part allows."""

    def judge(part: str, rows: Mask) -> np.ndarray:
        learn = allowed(part)
        return fit(m.features[learn], m.truth[learn], weight[learn], strength).logits(m.features[rows])

    return judge


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Probabilities."""
    powers = np.exp((logits - logits.max(axis=1, keepdims=True)) / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def best_temperature(logits: np.ndarray, truth: np.ndarray) -> float:
    """The temperature at which the labels are likeliest."""

    def surprise(temperature: float) -> float:
        return float(-np.log(softmax(logits, temperature)[np.arange(len(truth)), truth] + 1e-12).mean())

    return round(float(minimize_scalar(surprise, bounds=(0.2, 5.0), method="bounded").x), 4)


def line(name: str, truth: np.ndarray, logits: np.ndarray) -> str:
    """Accuracy, macro-F1 over the classes present, recalls, and the confusion matrix."""
    matrix = confusion_matrix(truth, logits.argmax(axis=1), len(Relation))
    recall = {Relation(k).name.lower(): each.recall for k, each in enumerate(class_scores(matrix)) if each.support}
    figures = {"accuracy": accuracy(matrix).value, "macro_f1": macro_f1(matrix).value, "recall": recall}
    return json.dumps({"on": name, "n": len(truth), **figures, "confusion": matrix.tolist()})


def read_material(args: argparse.Namespace) -> Material:
    """What the options name."""
    return material(read_rows(files_of(args)), args.cache, network_of(args).judge_id, args.partly)


def add_fitting(parser: argparse.ArgumentParser) -> None:
    """Options of the fit."""
    parser.add_argument("--variant-weight", type=float, default=1.0)
    parser.add_argument("--made-weight", type=float, default=0.1)
    parser.add_argument("--strength", type=float, default=0.1, help="inverse of the regularisation")


def main() -> None:
    """Parse, fit in folds, report, fit on everything, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_files(parser)
    add_fitting(parser)
    parser.add_argument("--temperature-only", action="store_true")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    m = read_material(args)
    weight = weights_of(m, args.variant_weight, args.made_weight)
    by_task = head_logits(m, weight, args.strength, other_tasks(m))
    by_domain = head_logits(m, weight, args.strength, other_domains(m))
    silver, variants, gold, made = (is_from(m, name) for name in ("silver", "variants", "gold", "made"))
    logits = held_out(silver, task_parts(m), by_task, 3)
    temperature = best_temperature(logits, m.truth[silver])
    print(line("silver, text-text, five folds by task", m.truth[silver], logits), f"temperature {temperature}")
    print(line("gold dev, text-text, five folds by task", m.truth[gold], held_out(gold, task_parts(m), by_task, 3)))
    for name, test in (("variants", variants), ("variants, airline", variants & m.airline), ("made pairs", made)):
        if test.any():
            print(line(f"{name}, domain by domain", m.truth[test], held_out(test, m.domain, by_domain, 3)))
    if args.out and args.temperature_only:
        content = json.loads(args.out.read_text()) | {"temperature": temperature}
    elif args.out:
        train = silver | variants | made
        head = fit(m.features[train], m.truth[train], weight[train], args.strength)
        content = {"features": list(WITNESSES), "temperature": temperature}
        content |= {k: np.round(v, 6).tolist() for k, v in vars(head).items()}
    if args.out:
        args.out.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
