"""What the rules before the judge make of swaps in real sentences, of paraphrases, and of labelled pairs.

    .venv/bin/python benchmarks/guard_swaps.py --labels folder [--nli nli/train.jsonl.gz] [--judge 120]

Without --judge no network is asked: only what rules settle is told.

Swaps are made by tools/nli/actions.py of sentences that agents said or that were written: one value, one exclusive word
(colour, size, cabin, day ...) or one negation is changed, the rest stays. NLI pairs, where given, show how often people
call contradictory what differs by exclusive words alone; nothing was tuned on the labels of gold.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from common import HERE, save

sys.path.append(str(HERE.parent / "tools" / "nli"))
from actions import made

from likewise.backends.aligned import aligned_verdict
from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.backends.opposites import are_opposites
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action
from likewise.core.state_text import canonical_text
from likewise.metrics.resampling import wilson_share
from likewise.scoring.label import Labeller
from likewise.scoring.stored_judge import StoredJudge

SWAPS = ("value", "category", "negation")
CONDITIONAL = ("asked", "slots:cap", "slots:lone-value", "aligned:lone-word")
"""What settles nothing by itself: the judge is asked, and the others change an "equivalent"."""
NAMES = ("equivalent", "neutral", "contradictory")


class Silent:
    """Stands where the judge would be asked: "equivalent", so that a cap shows, by a rule of its own."""

    judge_id = "silent"

    def judge(self, pairs: Iterable[tuple[str, str]], progress=None) -> Iterator[Judgement]:
        """One answer a pair."""
        for _ in pairs:
            yield Judgement.certain(Relation.EQUIVALENT, "asked")
            if progress is not None:
                progress.advance()


def read_pairs(path: Path) -> list[dict[str, str]]:
    """Pairs of texts of a labelled file."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] == "text-text"]


def settled(rows: list[dict[str, str]]) -> list[str]:
    """The relation that rules give each pair, or, where the judge decides, what waits for its answer."""
    actions = [(Action(row["action_a"]), Action(row["action_b"])) for row in rows]
    labels = Labeller(StoredJudge(Silent())).settle(actions)
    found = []
    for each in actions:
        judgement = labels.of(*each)
        on_condition = judgement.rule in CONDITIONAL  # the silent judge's "equivalent" is no answer
        found.append(judgement.rule if on_condition else judgement.relation.name.lower())
    return found


def by_truth(rows: list[dict[str, str]]) -> dict[str, dict[str, int]]:
    """Counts by label of what the rules say."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in NAMES}
    for row, how in zip(rows, settled(rows), strict=True):
        counts[row["label"]][how] += 1
    return {name: dict(each) for name, each in counts.items() if each}


def nli(path: Path) -> dict[str, object]:
    """Pairs that differ by exclusive words alone, by their label; those that `opposites` settles are left out."""
    counts: dict[str, Counter[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            a, b = canonical_text(row["premise"]), canonical_text(row["hypothesis"])
            verdict = aligned_verdict(a, b) if abs(len(a) - len(b)) <= 12 else None
            if verdict is not None and verdict.relation is Relation.CONTRADICTORY and not are_opposites(a, b):
                counts.setdefault(verdict.rule, Counter())[row["label"]] += 1
    return {
        rule: {**each, "contradiction, share": wilson_share(each["contradiction"], each.total(), "pair").as_json()}
        for rule, each in sorted(counts.items())
    }


def with_judge(rows: list[dict[str, str]], store: LabelStore) -> Counter[str]:
    """Relations by the whole road, the embedded judge behind the rules."""
    actions = [(Action(row["action_a"]), Action(row["action_b"])) for row in rows]
    labels = Labeller(StoredJudge(embedded_judge(), store)).settle(actions)
    found = [labels.of(*each) for each in actions]
    return Counter("not measured" if each is None else each.relation.name.lower() for each in found)


def whole_road(
    found: dict[str, list[dict[str, str]]],
    hows: dict[str, list[str]],
    alike: list[dict[str, str]],
    most: int,
    path: Path,
) -> dict[str, object]:
    """Recall of swaps and false alarms with the judge, on a random sample of what is not settled without it."""
    draw = random.Random(0)

    figures: dict[str, object] = {}
    with LabelStore(path) as store:
        for kind in (*SWAPS, *(f"{kind}-reworded" for kind in SWAPS)):
            open_pairs = [row for row, how in zip(found[kind], hows[kind], strict=True) if how in CONDITIONAL]
            asked, left = draw.sample(open_pairs, min(most, len(open_pairs))), len(open_pairs)
            answers, right = with_judge(asked, store), hows[kind].count("contradictory")
            share = answers["contradictory"] / len(asked) if asked else 0.0
            figures[kind] = {
                "n": len(found[kind]),
                "contradictory by rule": right,
                "left to the judge": left,
                "of them asked": len(asked),
                "the judge says": dict(answers),
                "recall, the sample standing for all that is left": round((right + share * left) / len(found[kind]), 4),
            }
        asked = draw.sample(alike, min(2 * most, len(alike)))
        alarms = with_judge(asked, store)
        figures["equivalent pairs"] = {
            "asked": len(asked),
            "the road says": dict(alarms),
            "false alarms": wilson_share(alarms["contradictory"], len(asked), "pair").as_json(),
        }
    return figures


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, required=True, help="folder that holds gold/ and silver/")
    parser.add_argument("--nli", type=Path)
    parser.add_argument(
        "--judge", type=int, metavar="MOST", help="ask the embedded judge, too: so many pairs of a kind"
    )
    parser.add_argument(
        "--store", type=Path, default=Path("build/judge/labels.sqlite"), help="its answers are kept here"
    )
    parser.add_argument("--seed", type=int, default=11, help="of the swaps; the rules were written with another")
    args = parser.parse_args()
    files = {
        "silver": args.labels / "silver" / "action_pairs_train.jsonl",
        "variants": args.labels / "silver" / "action_variants_train.jsonl",
        "gold dev": args.labels / "gold" / "action_pairs_dev.jsonl",
    }
    rows = {name: read_pairs(path) for name, path in files.items()}
    swaps = list(made([{"domain": "airline", **row} for row in rows["silver"] + rows["variants"]], args.seed))
    kinds = sorted({row["kind"] for row in swaps})
    found = {kind: [row for row in swaps if row["kind"] == kind] for kind in kinds}
    hows = {kind: settled(each) for kind, each in found.items()}
    answers = {kind: Counter(each) for kind, each in hows.items()}
    alike = [row for name in ("silver", "variants") for row in rows[name] if row["label"] == "equivalent"]
    alike += found["manners"]
    alarms = sum(how == "contradictory" for how in settled(alike))
    right, n = (sum(answers[kind][how] for kind in SWAPS for how in each) for each in (
        ("contradictory",), {how for kind in SWAPS for how in answers[kind]}))  # fmt: skip
    save(
        "guard_swaps",
        {
            "command": "python benchmarks/guard_swaps.py --labels FOLDER --nli nli/train.jsonl.gz"
            + (f" --judge {args.judge}" if args.judge else ""),
            "rules": "slot guard, opposites, words that exclude each other",
            "swaps in otherwise the same words, called contradictory": wilson_share(right, n, "swap").as_json(),
            "equivalent pairs called contradictory": wilson_share(alarms, len(alike), "pair").as_json(),
            "made pairs, by kind": {
                f"{kind} ({found[kind][0]['label']})": dict(each.most_common()) for kind, each in answers.items()
            },
            "labelled pairs, by label": {name: by_truth(each) for name, each in rows.items()},
            **(
                {"with the embedded judge": whole_road(found, hows, alike, args.judge, args.store)}
                if args.judge
                else {}
            ),
            **({"NLI pairs that differ by exclusive words alone": nli(args.nli)} if args.nli else {}),
        },
    )


if __name__ == "__main__":
    main()
