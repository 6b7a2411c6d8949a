"""Rows through the model and seconds: likewise against one pair at a time, same model, same rollouts, in one run.

The naive way is the published listing's loop made two-directional: for every pair of rollouts, at every turn, both
ordered pairs of texts go through the model on their own. Ours settles what structure settles, asks each distinct
pair once for both directions, and reads each text once.

    python benchmarks/label_throughput.py [--tasks 6]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import rollout_file, save

from likewise import RolloutGroup, group_rollouts, read_rollouts
from likewise.backends.onnx_nli import OnnxNli, embedded_nli
from likewise.core.labels import Judgement
from likewise.core.state_text import canonical_text
from likewise.scoring.label import Labeller, time_aligned_pairs
from likewise.scoring.stored_judge import StoredJudge


class Counting:
    """Counts runs of one ONNX session."""

    def __init__(self, session) -> None:
        """Wrap a session."""
        self.session, self.rows = session, 0

    def run(self, *args):
        """Count and run."""
        self.rows += 1
        return self.session.run(*args)


def counted(judge: OnnxNli) -> OnnxNli:
    """The judge with both of its sessions counted."""
    judge._read, judge._compare = Counting(judge._read), Counting(judge._compare)
    return judge


def text_pairs(groups: list[RolloutGroup]) -> list[tuple[str, str]]:
    """Every pair of texts that stand side by side, repeats included."""
    return [
        (canonical_text(a.text), canonical_text(b.text))
        for group in groups
        for a, b in time_aligned_pairs(group)
        if a.text.strip() and b.text.strip()
    ]


def naive(pairs: list[tuple[str, str]]) -> tuple[list[int], dict[str, float]]:
    """Each ordered pair on its own: read both texts, compare, keep one direction."""
    judge = counted(embedded_nli())
    began = time.perf_counter()
    relations = []
    for a, b in pairs:
        rows = []
        for premise, hypothesis in ((a, b), (b, a)):
            states = [judge._read_one(np.array([judge._ids(text)], dtype=np.int64)) for text in (premise, hypothesis)]
            nli, _ = judge._compare.run(None, {"a": states[0], "b": states[1]})
            rows.append(tuple(nli[0, judge._order].tolist()))
        relations.append(int(Judgement.from_nli(rows[0], rows[1]).relation))
    seconds = time.perf_counter() - began
    return relations, {"read": judge._read.rows, "compared": judge._compare.rows, "seconds": round(seconds, 2)}


def ours(groups: list[RolloutGroup], pairs: list[tuple[str, str]]) -> tuple[list[int], dict[str, float]]:
    """`label_pairs` over all groups, then the same pairs looked up without the slot guard, to compare labels."""
    judge = counted(embedded_nli())
    began = time.perf_counter()
    Labeller(StoredJudge(judge)).settle(pair for group in groups for pair in time_aligned_pairs(group))
    seconds = time.perf_counter() - began
    figures = {"read": judge._read.rows, "compared": judge._compare.rows, "seconds": round(seconds, 2)}
    answers = StoredJudge(embedded_nli()).ask(pairs)
    return [int(answers[pair].relation) for pair in pairs], figures


def main() -> None:
    """Measure both ways on the same tasks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=6, help="tasks of the file, from the first")
    args = parser.parse_args()
    groups = group_rollouts(read_rollouts(rollout_file()))[: args.tasks]
    pairs = text_pairs(groups)
    fitting = embedded_nli()
    pairs = [pair for pair in pairs if max(len(fitting._ids(text)) for text in pair) <= fitting._window]
    their_labels, theirs = naive(pairs)
    our_labels, our_figures = ours(groups, pairs)
    save(
        "label_throughput",
        {
            "rollouts": f"{rollout_file().name}, first {len(groups)} tasks, {len(pairs)} pairs of texts side by side",
            "one pair at a time": theirs,
            "likewise": our_figures,
            "fewer rows": round(
                (theirs["read"] + theirs["compared"]) / (our_figures["read"] + our_figures["compared"]), 2
            ),
            "times faster": round(theirs["seconds"] / our_figures["seconds"], 2),
            "labels that differ": sum(a != b for a, b in zip(their_labels, our_labels, strict=True)),
        },
    )


if __name__ == "__main__":
    main()
