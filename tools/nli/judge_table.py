"""The judge's accuracy on agents' actions, held out by task and by domain, beside simpler judges. Writes a table.

    python tools/nli/judge_table.py --cache build/witnesses.npz --gold gold/action_pairs_dev.jsonl \
        --out benchmarks/results/judge_accuracy.json

`build/witnesses.npz` is what fit_head.py kept. Every judge is measured on the same pairs: majority class, equal text,
cosine with the two thresholds that suit the test pairs best (so better than it could be), gradient boosting on the
surface features alone, the network's NLI alone by Def. 1, and the head that ships, fitted without the fold.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from fit_head import FOLDS, Material, fit, weights_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score

from likewise.backends.action_features import FEATURES
from likewise.backends.action_judge import WITNESSES
from likewise.core.version import VERSION
from likewise.evaluation.judge_eval import evaluate_judge, read_labelled_pairs
from likewise.metrics.resampling import wilson_interval

Judge = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rows to learn from, rows to judge -> relations."""
DRAWS = 2_000


def judges(m: Material, weight: np.ndarray, strength: float) -> dict[str, Judge]:
    """The competitors, by name."""
    cosine = m.features[:, WITNESSES.index("cosine")]
    surface = m.features[:, [WITNESSES.index(name) for name in FEATURES]]
    least = m.features[:, [WITNESSES.index(f"least-{label}") for label in ("entails", "neutral", "contradicts")]]
    most = m.features[:, [WITNESSES.index(f"most-{label}") for label in ("entails", "neutral", "contradicts")]]

    def majority(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return np.full(test.sum(), np.bincount(m.truth[train]).argmax())

    def equal(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        del train
        return np.where(cosine[test] > 1 - 1e-6, 0, 1)

    def thresholds(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        del train
        grid = np.quantile(cosine[test], np.linspace(0, 1, 41))
        guesses = [np.where(cosine[test] >= high, 0, np.where(cosine[test] < low, 2, 1)) for high in grid for low in
                   [-2.0, *grid] if low < high]  # fmt: skip
        return max(guesses, key=lambda guess: (guess == m.truth[test]).mean())

    def boosting(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        learn = train & (m.source == "silver")
        model = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.06, max_leaf_nodes=8, random_state=0)
        return model.fit(surface[learn], m.truth[learn]).predict(surface[test])

    def nli(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        del train
        entailed = np.exp(least[test, 0]) > 0.5  # both directions say so
        return np.where(np.exp(most[test, 2]) > 0.5, 2, np.where(entailed, 0, 1))

    def head(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        return fit(m.features[train], m.truth[train], weight[train], strength).predict(m.features[test])

    return {
        "majority class": majority,
        "equal text": equal,
        "cosine, best thresholds": thresholds,
        "boosting on surface features": boosting,
        "NLI alone": nli,
        "embedded judge": head,
    }


def macro_f1(truth: np.ndarray, guess: np.ndarray) -> float:
    """Over the classes present."""
    return float(f1_score(truth, guess, labels=sorted(set(truth.tolist())), average="macro", zero_division=0))


def scored(truth: np.ndarray, guess: np.ndarray) -> dict[str, object]:
    """Accuracy with Wilson's interval, macro-F1 with a bootstrap over pairs, recall by class."""
    low, high = wilson_interval(int((truth == guess).sum()), len(truth))
    draws = np.random.default_rng(0).integers(0, len(truth), (DRAWS, len(truth)))
    spread = np.quantile([macro_f1(truth[draw], guess[draw]) for draw in draws[:500]], [0.025, 0.975])
    names = ("equivalent", "neutral", "contradictory")
    recall = {name: float((guess[truth == k] == k).mean()) for k, name in enumerate(names) if (truth == k).any()}
    return {
        "n": len(truth),
        "accuracy": {"value": float((truth == guess).mean()), "low": low, "high": high},
        "macro_f1": {"value": macro_f1(truth, guess), "low": float(spread[0]), "high": float(spread[1])},
        "recall": recall,
        "counts": {name: int((truth == k).sum()) for k, name in enumerate(names)},
    }


def held_out(m: Material, judge: Judge, test: np.ndarray, part: np.ndarray, others: Callable[[object], np.ndarray]):
    """Predictions for `test`, part by part, each learnt from `others(part)`."""
    guess = np.zeros_like(m.truth)
    for value in sorted(set(part[test].tolist())):
        rows = test & (part == value)
        guess[rows] = judge(others(value), rows)
    return guess[test]


def main() -> None:
    """Parse, judge, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--gold", type=Path, required=True, help="for the pairs that rules decide")
    parser.add_argument("--variant-weight", type=float, default=1.0)
    parser.add_argument("--made-weight", type=float, default=0.1)
    parser.add_argument("--strength", type=float, default=0.1)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    m = Material(**np.load(args.cache))
    weight = weights_of(m, args.variant_weight, args.made_weight)
    silver, variants, gold, made = (m.source == name for name in ("silver", "variants", "gold", "made"))

    def other_tasks(fold: object) -> np.ndarray:
        return (silver & ~(m.airline & (m.fold == fold))) | ((variants | made) & ~m.airline)

    def other_domains(domain: object) -> np.ndarray:
        return (silver | variants | made) & (m.domain != domain)

    tests = {
        f"gold dev, text-text, {FOLDS} folds by task": (gold, m.fold, other_tasks),
        "written variants, domain by domain": (variants, m.domain, other_domains),
        "written variants, airline (unseen by the network too)": (variants & m.airline, m.domain, other_domains),
    }
    rows = []
    for test_name, (test, part, others) in tests.items():
        for name, judge in judges(m, weight, args.strength).items():
            guess = held_out(m, judge, test, part, others)
            rows.append({"test": test_name, "judge": name, **scored(m.truth[test], guess)})
            found = rows[-1]
            print(f"{test_name:55} {name:30} {found['accuracy']['value']:.3f} {found['macro_f1']['value']:.3f}")
    by_rule = evaluate_by_rule(args.gold)
    content = {"made_by": "tools/nli/judge_table.py", "version": VERSION, "rows": rows, "by_rule": by_rule}
    args.out.write_text(json.dumps(content, indent=2) + "\n")


def evaluate_by_rule(gold: Path) -> dict[str, object]:
    """Accuracy per kind of pair where calls are involved: rules decide, no network is asked."""
    from likewise.backends.judges import embedded_judge
    from likewise.scoring.stored_judge import StoredJudge

    labelled = read_labelled_pairs(gold, task="action")
    called = tuple(pair for pair in labelled.pairs if pair.kind in ("tool-tool", "text-tool"))
    result = evaluate_judge(replace(labelled, path=gold.name, pairs=called), StoredJudge(embedded_judge())).as_json()
    return {key: result[key] for key in ("accuracy", "macro_f1", "per_kind", "confusion")}


if __name__ == "__main__":
    main()
