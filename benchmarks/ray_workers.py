"""One Ray worker against two on this machine: pairs a second of the embedded judge, without and with the start.

The same pairs (no two share a text) are judged by one actor and by two; the local judge on one core and on all stands
beside them. On a machine that has other work, what two workers gain is also a larger share of it: look at the load.

    make .venv-ray/.ready && .venv-ray/bin/python benchmarks/ray_workers.py [--pairs 256]
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version

from common import rollout_file, save

from likewise import group_rollouts, read_rollouts
from likewise.backends.judges import embedded_judge
from likewise.backends.ray_judge import BLOCK, RayJudge
from likewise.core.labels import Judgement
from likewise.core.state_text import canonical_text


def pairs_of_sentences(count: int) -> list[tuple[str, str]]:
    """Pairs of what agents said; no text is in two of them."""
    groups = group_rollouts(read_rollouts(rollout_file()))
    texts = {canonical_text(action.text) for group in groups for run in group.valid for action in run.actions}
    said = sorted(text for text in texts if 80 <= len(text) <= 600)
    random.Random(1).shuffle(said)
    return [(a, b) if a <= b else (b, a) for a, b in zip(said[::2], said[1::2], strict=False)][:count]


def measured(judge: Callable[[], Iterator[Judgement]], count: int) -> tuple[list[Judgement], dict[str, float]]:
    """All answers, and the pace with the start and from the end of the first block on."""
    began, ends, answers = time.perf_counter(), [], []
    for answer in judge():
        answers.append(answer)
        ends.append(time.perf_counter())
    first = min(BLOCK, count // 2)
    return answers, {
        "seconds": round(ends[-1] - began, 2),
        "pairs_per_second": round(count / (ends[-1] - began), 2),
        "seconds_to_the_first_block": round(ends[first - 1] - began, 2),
        "pairs_per_second_after_it": round((count - first) / (ends[-1] - ends[first - 1]), 2),
    }


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=256)
    args = parser.parse_args()
    pairs = pairs_of_sentences(args.pairs)
    figures: dict[str, object] = {
        "judge": embedded_judge().judge_id,
        "pairs": len(pairs),
        "ray": version("ray"),
    }
    reference, figures["local, 1 core"] = measured(lambda: embedded_judge(1).judge(pairs), len(pairs))
    cores = len(os.sched_getaffinity(0))
    answers, figures[f"local, {cores} cores"] = measured(lambda: embedded_judge().judge(pairs), len(pairs))
    same = answers == reference
    paces = []
    for workers in (1, 2):
        with RayJudge(partial(embedded_judge, 1), workers) as judge:
            answers, pace = measured(partial(judge.judge, pairs), len(pairs))
        figures[f"ray, {workers} worker(s)"] = pace
        paces.append(pace)
        same = same and answers == reference
    figures["two workers for one, with the start"] = round(paces[0]["seconds"] / paces[1]["seconds"], 2)
    figures["two workers for one, after the first block"] = round(
        paces[1]["pairs_per_second_after_it"] / paces[0]["pairs_per_second_after_it"], 2
    )
    figures["answers equal everywhere, bit for bit"] = same
    save("ray_workers", figures)


if __name__ == "__main__":
    main()
