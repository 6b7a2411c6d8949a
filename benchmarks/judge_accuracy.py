"""The embedded judge on labelled actions of agents, held out by task and by domain, beside simpler judges.

    make judge-accuracy LABELS=folder       # gold/ and silver/ below it

Every judge is measured on the same pairs: majority class, equal text, cosine with the two thresholds that suit the test
pairs best (so better than it could be), gradient boosting on surface features (learnt from silver labels of other
tasks), the network's NLI alone by Def. 1, the head fitted without the fold, and the whole road: rules, slot guard and
that head. Then: swaps made by a program, false alarms on paraphrases, and whether the confidence is what it says.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from common import HERE, save

sys.path.append(str(HERE.parent / "tools" / "nli"))  # what fits the head is what measures it
from fit_head import (
    add_fitting,
    best_temperature,
    head_logits,
    held_out,
    is_from,
    other_domains,
    other_tasks,
    read_material,
    softmax,
    task_parts,
    weights_of,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from witnesses import Material, Pair, add_files, files_of, pair_of

from likewise.backends.action_features import FEATURES, action_features
from likewise.backends.action_judge import WITNESSES
from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.core.labels import Judgement, Relation
from likewise.core.protocols import Judge
from likewise.core.rollout import Action
from likewise.evaluation.judge_eval import LabelledPairs, evaluate_judge, read_labelled_pairs
from likewise.metrics.classification import accuracy, class_scores, confusion_matrix, macro_f1
from likewise.metrics.resampling import wilson_share
from likewise.scoring.label import Labeller
from likewise.scoring.stored_judge import StoredJudge

Judges = dict[str, Callable[[str, np.ndarray], np.ndarray]]
BINS = np.linspace(1 / 3, 1, 9)
"""Edges of the classes of confidence: the likeliest of three has at least a third."""
CLASHES = ("value", "category", "negation")
"""Kinds of made pairs that contradict; the same with "-reworded": said in other words besides."""


@dataclass
class Said:
    """A judge that answers what is known already; the road before it is the real one."""

    known: dict[Pair, int]
    judge_id: str = "said"

    def judge(self, pairs: Iterable[Pair], progress=None) -> Iterator[Judgement]:
        """One answer a pair."""
        for pair in pairs:
            yield Judgement.certain(Relation(self.known[pair]), "nli")
            if progress is not None:
                progress.advance()


def whole_road(pairs: list[Pair], guesses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What rules and guard make of a judge's guesses, and which pairs they settled without asking it."""
    judge: Judge = Said(dict(zip(pairs, guesses.tolist(), strict=True)))
    actions = [(Action(a), Action(b)) for a, b in pairs]
    labels = Labeller(StoredJudge(judge)).settle(actions)
    found = [labels.of(*each) for each in actions]
    return np.array([int(each.relation) for each in found]), np.array([each.rule != "nli" for each in found])


def simple_judges(m: Material) -> Judges:
    """Judges that learn nothing of the text pairs, by name."""
    cosine = m.features[:, WITNESSES.index("cosine")]
    least = m.features[:, [WITNESSES.index(f"least-{label}") for label in ("entails", "neutral", "contradicts")]]
    most = m.features[:, [WITNESSES.index(f"most-{label}") for label in ("entails", "neutral", "contradicts")]]

    def nli(part: str, rows: np.ndarray) -> np.ndarray:
        entailed = np.exp(least[rows, 0]) > 0.5  # both directions say so
        return np.where(np.exp(most[rows, 2]) > 0.5, 2, np.where(entailed, 0, 1))

    return {
        "equal text": lambda part, rows: np.where([a == b for a, b in np.array(m.pairs, dtype=object)[rows]], 0, 1),
        "cosine, best thresholds": lambda part, rows: by_cosine(cosine[rows], m.truth[rows]),
        "NLI alone": nli,
    }


def by_cosine(cosine: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """The two thresholds that are right most often on these very pairs."""
    grid = np.quantile(cosine, np.linspace(0, 1, 41))
    guesses = [np.where(cosine >= high, 0, np.where(cosine < low, 2, 1)) for high in grid for low in [-2.0, *grid]
               if low < high]  # fmt: skip
    return max(guesses, key=lambda guess: (guess == truth).mean())


def learning_judges(m: Material, allowed: Callable[[str], np.ndarray]) -> Judges:
    """Judges that learn from what a part allows."""
    surface = m.features[:, [WITNESSES.index(name) for name in FEATURES]]

    def majority(part: str, rows: np.ndarray) -> np.ndarray:
        return np.full(rows.sum(), np.bincount(m.truth[allowed(part)]).argmax())

    def boosting(part: str, rows: np.ndarray) -> np.ndarray:
        learn = allowed(part) & is_from(m, "silver")
        return boosted(surface[learn], m.truth[learn], surface[rows])

    return {"majority class": majority, "boosting on surface features": boosting}


def boosted(features: np.ndarray, truth: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Gradient boosting, as small as the material."""
    model = HistGradientBoostingClassifier(max_iter=150, learning_rate=0.06, max_leaf_nodes=8, random_state=0)
    return model.fit(features, truth).predict(asked)


def scored(matrix: np.ndarray) -> dict[str, object]:
    """Accuracy, macro-F1 over the classes present, recall by class, counts."""
    present = [(Relation(k).name.lower(), each) for k, each in enumerate(class_scores(matrix)) if each.support]
    return {
        "n": int(matrix.sum()),
        "accuracy": accuracy(matrix).as_json(),
        "macro_f1": macro_f1(matrix).as_json(),
        "recall": {name: round(each.recall or 0.0, 4) for name, each in present},
        "counts": {name: each.support for name, each in present},
        "confusion": matrix.tolist(),
    }


def matrix_of(truth: np.ndarray, guess: np.ndarray) -> np.ndarray:
    """Counts by true and guessed relation."""
    return confusion_matrix(truth.astype(np.int64), guess.astype(np.int64), len(Relation))


def table(m: Material, test: np.ndarray, parts: np.ndarray, allowed, weight, strength) -> dict[str, object]:
    """All judges on the pairs of one test; nothing where the cache has none."""
    if not test.any():
        return {}
    rows: dict[str, object] = {}
    for name, judge in {**learning_judges(m, allowed), **simple_judges(m)}.items():
        whole = name.startswith("cosine")  # its thresholds are chosen on all test pairs
        answers = judge("", test) if whole else held_out(test, parts, lambda *a, j=judge: j(*a)[:, None], 1)[:, 0]
        rows[name] = scored(matrix_of(m.truth[test], answers))
    guess = held_out(test, parts, head_logits(m, weight, strength, allowed), 3).argmax(axis=1)
    rows["embedded judge alone"] = scored(matrix_of(m.truth[test], guess))
    road, _ = whole_road([m.pairs[i] for i in np.flatnonzero(test)], guess)
    rows["embedded judge behind rules and slot guard"] = scored(matrix_of(m.truth[test], road))
    return rows


def with_calls(args: argparse.Namespace, text_text: dict[str, object]) -> dict[str, object]:
    """All kinds of gold pairs: calls by rule, texts as held out; the surface judges read calls as text."""
    labelled = read_labelled_pairs(args.gold, task="action")
    called = tuple(pair for pair in labelled.pairs if pair.kind in ("tool-tool", "text-tool"))
    by_rule = evaluate_judge(LabelledPairs(args.gold.name, "action", called), StoredJudge(embedded_judge()))
    rules = np.array(by_rule.confusion)
    rows = {
        f"{name}, calls by rule": scored(np.array(text_text[name]["confusion"]) + rules)
        for name in ("embedded judge behind rules and slot guard", "embedded judge alone", "NLI alone")
    }
    silver, gold = ([json.loads(line) for line in path.read_text().splitlines()] for path in (args.silver, args.gold))
    truth = np.array([int(Relation[row["label"].upper()]) for row in gold])
    pairs = [pair_of(row) for row in gold]
    texts = sorted({text for pair in pairs for text in pair})
    vectors = dict(zip(texts, embedded_encoder().encode(texts), strict=True))
    cosine = np.array([float(vectors[a] @ vectors[b]) for a, b in pairs])
    rows["majority class"] = scored(matrix_of(truth, np.full(len(truth), Relation.NEUTRAL)))
    rows["equal text"] = scored(matrix_of(truth, np.array([int(a != b) for a, b in pairs])))
    rows["cosine, best thresholds"] = scored(matrix_of(truth, by_cosine(cosine, truth)))
    rows["boosting on surface features"] = scored(matrix_of(truth, boosted_by_task(silver, gold)))
    return {"all kinds": rows, **{kind: by_kind(by_rule, kind) for kind in ("tool-tool", "text-tool")}}


def by_kind(score, kind: str) -> dict[str, object]:
    """What rules alone do on pairs with calls."""
    right, f1 = score.per_kind[kind]
    return {"accuracy": right.as_json(), "macro_f1": f1.as_json()}


def boosted_by_task(silver: list[dict], gold: list[dict]) -> np.ndarray:
    """Boosting on all kinds of pairs, five folds by task: no silver of the fold's airline tasks."""
    seen, asked = (np.array([action_features(*pair_of(row)) for row in rows]) for rows in (silver, gold))
    truth = np.array([int(Relation[row["label"].upper()]) for row in silver])
    fold = np.array([int(row["task_id"]) % 5 for row in gold])
    theirs = np.array([int(row["task_id"]) % 5 if row["domain"] == "airline" else -1 for row in silver])
    guess = np.zeros(len(gold), dtype=int)
    for k in range(5):
        guess[fold == k] = boosted(seen[theirs != k], truth[theirs != k], asked[fold == k])
    return guess


def made_pairs(m: Material, weight: np.ndarray, strength: float) -> dict[str, object]:
    """Swaps found and paraphrases kept, judge alone (domain by domain) and the whole road."""
    test = is_from(m, "made", "variants", "silver")
    logits = held_out(test, m.domain, head_logits(m, weight, strength, other_domains(m)), 3)
    guess = np.zeros(len(m.truth), dtype=int)
    guess[test] = logits.argmax(axis=1)
    road, settled = guess.copy(), np.zeros(len(guess), dtype=bool)
    places = np.flatnonzero(test)
    road[places], settled[places] = whole_road([m.pairs[i] for i in places], guess[places])

    def share(rows: np.ndarray, relation: Relation, what: str) -> dict[str, object]:
        n = int(rows.sum())
        return {
            "n": n,
            "settled without the judge": int(settled[rows].sum()),
            "judge alone": wilson_share(int((guess[rows] == relation).sum()), n, what).as_json(),
            "whole road": wilson_share(int((road[rows] == relation).sum()), n, what).as_json(),
        }

    found: dict[str, object] = {}
    for kind in (*CLASHES, *(f"{kind}-reworded" for kind in CLASHES)):
        found[f"{kind}: found contradictory"] = share(m.kind == kind, Relation.CONTRADICTORY, "pair")
    same_words, reworded = np.isin(m.kind, CLASHES), np.isin(m.kind, [f"{kind}-reworded" for kind in CLASHES])
    found["swaps in otherwise the same words: found contradictory"] = share(same_words, Relation.CONTRADICTORY, "pair")
    found["swaps in other words: found contradictory"] = share(reworded, Relation.CONTRADICTORY, "pair")
    alike = m.truth == Relation.EQUIVALENT
    for name, rows in {
        "reworded by a program": alike & is_from(m, "made"),
        "written variants": alike & is_from(m, "variants"),
        "silver": alike & is_from(m, "silver"),
    }.items():
        found[f"equivalent, {name}: false alarms (called contradictory)"] = share(rows, Relation.CONTRADICTORY, "pair")
    return found


def reliability(truth: np.ndarray, shares: np.ndarray) -> dict[str, object]:
    """Confidence against the share that is right, and the expected calibration error over those classes."""
    sure, right = shares.max(axis=1), shares.argmax(axis=1) == truth
    place = np.clip(np.digitize(sure, BINS) - 1, 0, len(BINS) - 2)
    rows, error = [], 0.0
    for k in range(len(BINS) - 1):
        inside = place == k
        if inside.any():
            gap = float(sure[inside].mean() - right[inside].mean())
            error += inside.mean() * abs(gap)
            rows.append(
                {"from": round(BINS[k], 3), "to": round(BINS[k + 1], 3), "n": int(inside.sum()),
                 "confidence": round(float(sure[inside].mean()), 3), "right": round(float(right[inside].mean()), 3)}
            )  # fmt: skip
    return {"expected_calibration_error": round(error, 4), "table": rows}


def calibration(m: Material, weight: np.ndarray, strength: float) -> dict[str, object]:
    """Before and after the temperature that silver gives, on silver itself and on gold, all held out by task."""
    judge = head_logits(m, weight, strength, other_tasks(m))
    silver, gold = is_from(m, "silver"), is_from(m, "gold")
    logits = {name: held_out(rows, task_parts(m), judge, 3) for name, rows in (("silver", silver), ("gold", gold))}
    truth = {"silver": m.truth[silver], "gold": m.truth[gold]}
    temperature = best_temperature(logits["silver"], truth["silver"])
    return {"temperature, of silver": temperature} | {
        f"{name}, {when}": reliability(truth[name], softmax(logits[name], value))
        for name in logits
        for when, value in (("before", 1.0), ("after", temperature))
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_files(parser)
    add_fitting(parser)
    args = parser.parse_args()
    m = read_material(args)
    weight = weights_of(m, args.variant_weight, args.made_weight)
    gold, variants = is_from(m, "gold"), is_from(m, "variants")
    by_task = table(m, gold, task_parts(m), other_tasks(m), weight, args.strength)
    by_domain, airline = (
        table(m, test, m.domain, other_domains(m), weight, args.strength) for test in (variants, variants & m.airline)
    )
    save(
        "judge_accuracy",
        {
            "judge": embedded_judge().judge_id,
            "command": "make judge-accuracy",
            "pairs, by file": {name: int(is_from(m, name).sum()) for name in files_of(args)},
            "partly (some pairs not asked yet)": args.partly,
            "gold dev, text-text, five folds by task": by_task,
            "gold dev, with calls": with_calls(args, by_task),
            "written variants, domain by domain": by_domain,
            "written variants, airline (unseen by the network too)": airline,
            "made pairs and paraphrases, domain by domain": made_pairs(m, weight, args.strength),
            "confidence": calibration(m, weight, args.strength),
        },
    )


if __name__ == "__main__":
    main()
