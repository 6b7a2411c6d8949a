"""How alike are the rewards that compare siblings? Their correlation within groups, over runs of the tiny pipeline.

    python benchmarks/reward_signals.py --folder build/tiny       # after tiny_training.py; needs no PyTorch

GRPO sees a reward only against those of the siblings, so values are centred within each group of 8 runs of a task, and
scaled by its deviation. Groups come from the base and from what it was trained into. Seeds are the unit of intervals.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from common import RESULTS, machine
from scipy import stats

from likewise import RSDReward
from likewise.core.group import group_rollouts
from likewise.core.rollout import StopReason
from likewise.formats.native import read
from likewise.training.entropy import SemanticEntropyReward
from likewise.training.environments.bookings_words import BookingsJudge
from likewise.training.episode import chat_messages

PAIRS = (("rsd", "semantic"), ("rsd", "progress"), ("semantic", "progress"), ("rsd", "length"), ("semantic", "length"))
GROUP = 8


def groups(path):
    """Groups of so many runs of one task, in order."""
    runs = read(path, "").rollouts
    for group in group_rollouts(runs):
        for start in range(0, len(group.rollouts) - GROUP + 1, GROUP):
            yield group.rollouts[start : start + GROUP]


def rewards(members):
    """What each reward says of each run of a group, as a trainer would ask it."""
    first = members[0].turns[0].observations
    opening = chat_messages((), first)
    talks = [chat_messages(run.turns, run.last_observations)[len(opening) :] for run in members]
    columns = {"stop": ["cut" if run.stop is StopReason.CUT else "finished" for run in members]}
    prompts = [opening] * len(members)
    return {
        "rsd": RSDReward.in_group(BookingsJudge(), normalised=True)(prompts, talks, **columns),
        "semantic": SemanticEntropyReward(BookingsJudge())(prompts, talks, **columns),
        "progress": [run.reward for run in members],
        "length": [-float(len(run.turns)) for run in members],
    }


def standard(values):
    """Values against their group, as GRPO has them; None where they are all one."""
    values = np.array(values, dtype=float)
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else None


def correlations(path):
    """Mean over groups of the correlation within, and of pairs of runs the share that both rewards order alike."""
    found = {f"{a}~{b}": [] for a, b in PAIRS}
    alike, flat, count = [], {"rsd": 0, "semantic": 0}, 0
    for members in groups(path):
        given = rewards(members)
        scaled = {name: standard(values) for name, values in given.items()}
        count += 1
        for name in flat:
            flat[name] += scaled[name] is None
        for a, b in PAIRS:
            if scaled[a] is not None and scaled[b] is not None:
                found[f"{a}~{b}"].append(float((scaled[a] * scaled[b]).mean()))
        rsd, semantic = (np.subtract.outer(given[name], given[name]) for name in ("rsd", "semantic"))
        apart = (np.abs(rsd) > 1e-9) & (np.abs(semantic) > 1e-9)
        if apart.any():
            alike.append(float((np.sign(rsd) == np.sign(semantic))[apart].mean()))
    means = {name: float(np.mean(values)) if values else None for name, values in found.items()}
    shares = {"groups": count, "without_variance": flat, "ordered_alike": float(np.mean(alike)) if alike else None}
    return {**means, **shares}


def over_seeds(rows):
    """Mean and t-interval of 95 % over seeds."""
    out = {}
    for name in (*[f"{a}~{b}" for a, b in PAIRS], "ordered_alike"):
        values = np.array([row[name] for row in rows if row[name] is not None])
        if len(values) < 2:
            out[name] = {"value": None, "reason": f"{len(values)} seed(s) have it"}
            continue
        half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        mean = float(values.mean())
        out[name] = {"value": mean, "low": mean - float(half), "high": mean + float(half), "n": len(values)}
    return out


def main():
    """Every seed that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--folder", type=Path, default=Path("build/tiny"))
    parser.add_argument("--arms", nargs="*", default=["base", "rsd-in-group", "semantic-entropy", "token-entropy"])
    given = parser.parse_args()
    seeds = {
        path.name: {arm: correlations(path / "arms" / arm / "temperature-1.jsonl") for arm in given.arms}
        for path in sorted(given.folder.glob("seed-*"))
    }
    results = {
        "what": __doc__.split("\n", 1)[0],
        "command": "python benchmarks/reward_signals.py " + " ".join(sys.argv[1:]),
        "machine": machine(),
        "over_seeds": {arm: over_seeds([found[arm] for found in seeds.values()]) for arm in given.arms},
        "seeds": seeds,
    }
    (RESULTS / "reward_signals.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results["over_seeds"], indent=1))


if __name__ == "__main__":
    main()
