"""What `likewise label --settle-by-classes` saves and what it changes, on recorded runs.

Every pair is judged once (the label store remembers); then the same stream is labelled with the option on, and the two
answers of each distinct pair are held against each other.

    python benchmarks/settle_by_classes.py [--store FILE] [RUNS ...]
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from common import rollout_file, save

from likewise import Rollout, RolloutGroup, group_rollouts, read_rollouts
from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore
from likewise.core.labels import Judgement
from likewise.core.state_text import action_text
from likewise.scoring.classes import CLASS_RULE
from likewise.scoring.label import Labeller
from likewise.scoring.label_sources import group_pairs
from likewise.scoring.label_stream import SettledPair, label_signature, label_stream
from likewise.scoring.stored_judge import StoredJudge


def labelled(groups, store, by_classes: bool) -> tuple[list[SettledPair], Labeller]:
    """All distinct pairs of the groups, in order."""
    labeller = Labeller(StoredJudge(embedded_judge(), store), by_classes=by_classes)
    return list(label_stream((pair for group in groups for pair in group_pairs(group)), labeller)), labeller


def name(settled: SettledPair) -> str:
    """The relation, or that there is none."""
    return settled.outcome.relation.name.lower() if isinstance(settled.outcome, Judgement) else "not measured"


def compared(groups, store) -> dict[str, object]:
    """Figures for some runs."""
    full, judged_all = labelled(groups, store, by_classes=False)
    short, judged_some = labelled(groups, store, by_classes=True)
    asked = [judged_all.judge.asked, judged_some.judge.asked]
    copied = [b for b in short if isinstance(b.outcome, Judgement) and b.outcome.rule == CLASS_RULE]
    changes = Counter(f"{name(a)} -> {name(b)}" for a, b in zip(full, short, strict=True) if name(a) != name(b))
    return {
        "rollouts a task": round(sum(len(group.valid) for group in groups) / len(groups), 1),
        "distinct pairs of actions": len(full),
        "pairs of texts judged without the option": asked[0],
        "pairs of texts judged with it": asked[1],
        "saved": round(1 - asked[1] / asked[0], 4) if asked[0] else None,
        "pairs settled by classes": len(copied),
        "labels that change": sum(changes.values()),
        "share of the settled ones that change": round(sum(changes.values()) / len(copied), 3) if copied else None,
        "changes": dict(changes.most_common()),
        "signature": label_signature(judged_some),
    }


def first_replies(groups, most: int) -> RolloutGroup:
    """The distinct first replies of all tasks as runs of one turn of one task: a clique of `most` texts."""
    texts = {action_text(rollout.actions[0]): rollout.turns[0] for group in groups for rollout in group.valid}
    turns = [turn for turn in texts.values() if not turn.action.tool_calls][:most]
    return RolloutGroup("first replies", tuple(Rollout("first replies", str(i), (t,)) for i, t in enumerate(turns)))


def main() -> None:
    """Measure on the tau-bench file, or on the files named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, default=[rollout_file()])
    parser.add_argument("--replies", type=int, default=24, help="texts of the clique")
    parser.add_argument("--store", type=Path, help="label store to use and fill; in memory if not given")
    args = parser.parse_args()
    groups = group_rollouts(read_rollouts(args.runs))
    with LabelStore(args.store) as store:
        figures = {
            "+".join(path.name for path in args.runs): compared(groups, store),
            f"first replies of all its tasks, {args.replies} distinct texts against each other": compared(
                [first_replies(groups, args.replies)], store
            ),
        }
    save("settle_by_classes", figures)


if __name__ == "__main__":
    main()
