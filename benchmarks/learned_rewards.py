"""Other ways to make a reward of the learned metric: does any of them make a policy more consistent than its base?

    OMP_NUM_THREADS=1 python benchmarks/learned_rewards.py --seeds 0 1 --folder build/tiny    # resumes

The folder is that of tiny_training.py: its base policies and fitted metrics are taken, its settings kept. Each form is
trained and evaluated as an arm is there. What the forms are and what came of them: design/0019-tiny-pipeline.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from common import RESULTS, machine
from tiny_training import cached, interval, versions

from likewise.cli.train import fit_small as fit
from likewise.training.decision_states import DecisionRSDReward
from likewise.training.environments.bookings import Bookings
from likewise.training.in_group import sibling_groups
from likewise.training.mixing import HybridReward
from likewise.training.pipeline import TinyPipeline
from likewise.training.recipe import read_recipe, settings_from
from likewise.training.reward_base import CompletionScore
from likewise.training.rewards import RSDReward
from likewise.training.tiny_settings import TinySettings

NUMBERS = ("auc", "auc_cv", "progress", "progress_cv", "success", "rsd", "turns")
BESIDE = ("base", "rsd", "rsd-in-group", "hybrid-0")


class LearnedRSD(DecisionRSDReward):
    """Rewards of the whole run from U(s_t, s_t) of the states acted from, t = 0 .. T-1."""

    def measure(self, completions, columns):
        """Each completion by `whole`, which knows its siblings."""
        after = [[value for value in score.turns[:-1] if value is not None]
                 for score in RSDReward.measure(self, completions, columns)]  # fmt: skip
        states = [np.array([first, *rest]) for first, rest in zip(self._openings(completions), after, strict=True)]
        scores = []
        for number, completion in enumerate(completions):
            mates = [k for k, other in enumerate(completions) if other.key == completion.key and k != number]
            value = self.whole(states[number], [states[k] for k in mates])
            scores.append(CompletionScore(value, (value,) * len(completion.rollout.turns), {"rsd": -value}))
        return scores


class StepRSD(LearnedRSD):
    """The divergence that the metric expects of each action itself, U(s_t, s_t) - gamma U(s_t+1, s_t+1), on average.

    After the last action nothing can part any more: U is 0 there.
    """

    def whole(self, states, mates):
        """Minus the mean over steps; values come normalised and negative."""
        ahead = np.append(states[1:], 0.0)
        return float((states - self._source.model.facts["gamma"] * ahead).mean())


class HorizonRSD(LearnedRSD):
    """U averaged over a fixed number of turns, END having 0: a long run has no smaller weights than a short one."""

    def whole(self, states, mates):
        """Minus the sum over turns, by the turn limit."""
        return float(states.sum() / Bookings.turn_limit)


class AbsorbedRSD(HorizonRSD):
    """The same, and to have ended where a sibling still acts is to contradict it, as in the measure itself."""

    def whole(self, states, mates):
        """Minus the discounted turns that only one of two siblings has, besides."""
        gamma = self._source.model.facts["gamma"]
        apart = [abs(gamma ** len(states) - gamma ** len(mate)) for mate in mates]  # (1 - gamma) gamma^t, between
        return super().whole(states, mates) - (float(np.mean(apart)) if apart else 0.0)


class SiblingRSD(RSDReward):
    """The metric between siblings, U(s_t, s'_t), summed over turns: what it was fitted for, and no judge is asked.

    Where one has ended it is by definition the discounted turns that the other still has; where both have, 0.
    """

    def measure(self, completions, columns):
        """Minus the mean over siblings."""
        super().measure(completions, columns)  # embeds all texts at once
        states = [self._states(completion)[0][:-1] for completion in completions]
        scores = [CompletionScore(None)] * len(completions)
        for _, here in sibling_groups(completions):
            members = [position for position, _ in here]
            for position in members:
                apart = [self.apart(states[position], states[mate]) for mate in members if mate != position]
                value = -float(np.mean(apart))
                turns = len(completions[position].rollout.turns)
                scores[position] = CompletionScore(value, (value,) * turns, {"rsd": -value})
        return scores

    def apart(self, first, second):
        """The sum over turns, normalised and by the turn limit."""
        model, gamma = self._source.model, self._source.model.facts["gamma"]
        both = min(len(first), len(second))
        shared = np.minimum(model.between(first[:both], second[:both]), model.largest) if both else np.zeros(0)
        more = np.arange(abs(len(first) - len(second)))
        alone = (1 - gamma ** (more + 1)) / (1 - gamma)
        return float(shared.sum() + alone.sum()) / model.largest / Bookings.turn_limit


def forms(pipeline):
    """The rewards that are tried, by their names."""
    metric = pipeline.metric()
    return {
        "learned-step": StepRSD(metric, normalised=True),
        "learned-horizon": HorizonRSD(metric, normalised=True),
        "learned-absorbed": AbsorbedRSD(metric, normalised=True),
        "learned-siblings": SiblingRSD(metric, normalised=True),
        "learned-hybrid-0.5": HybridReward(pipeline.reward("rsd"), 0.5),
    }


def numbers(folder, names, settings):
    """Of each arm: its numbers, and CVs over the tasks on which all of them have one."""
    found = {}
    for name in names:
        where = folder / "arms" / name
        if (where / "temperature-0.jsonl").exists():
            found[name] = cached(where, settings)["1"]
    support = [t for t in Bookings.tasks if all(m["auc_cv"][t] is not None for m in found.values())]
    return {
        name: {n: float(np.mean([m[n][t] for t in (support if n.endswith("cv") else m[n])])) for n in NUMBERS}
        for name, m in found.items()
    } | {"tasks_of_cv": len(support)}


def over_seeds(seeds):
    """The change of each number against the base, seed by seed and over seeds."""
    arms = [name for name in next(iter(seeds.values())) if name != "tasks_of_cv"]
    return {
        arm: {n: interval([s[arm][n] / s["base"][n] - 1 for s in seeds.values() if arm in s]) for n in NUMBERS}
        for arm in arms
        if arm != "base"
    }


def main():
    """Train what is not there yet, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--folder", type=Path, default=Path("build/tiny"))
    parser.add_argument("--forms", nargs="*")
    parser.add_argument("--out", type=Path, default=RESULTS / "learned_rewards.json")
    given = parser.parse_args()
    settings = settings_from(TinySettings, read_recipe("tiny")["tiny"], "tiny", "tiny")
    warnings.filterwarnings("ignore", category=FutureWarning)
    import torch

    torch.set_num_threads(1)
    seeds = {}
    for seed in given.seeds:
        folder = given.folder / f"seed-{seed}"
        pipeline = TinyPipeline(folder, seed, settings, fit)
        tried = forms(pipeline)
        for name in given.forms or tried:
            began = time.process_time()
            pipeline.rewarded(name, tried[name])
            print(f"seed {seed}: {name}, {time.process_time() - began:.0f} processor seconds", flush=True)
        seeds[seed] = numbers(folder, [*BESIDE, *tried], settings)
        print(json.dumps(seeds[seed]), flush=True)
    results = {
        "what": __doc__.split("\n", 1)[0],
        "command": "python benchmarks/learned_rewards.py " + " ".join(sys.argv[1:]),
        "machine": machine(),
        "versions": versions(),
        "seeds": seeds,
        "relative_change": over_seeds(seeds),
    }
    given.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
