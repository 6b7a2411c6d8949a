"""Does training with RSD as reward make a policy more consistent, and at what cost? The whole pipeline, in small.

    OMP_NUM_THREADS=1 python benchmarks/tiny_training.py --seeds 0 1 2 3 4 --folder build/tiny    # resumes
    python benchmarks/tiny_training.py --folder build/tiny --only-table           # of what is there so far

For each seed: a policy is warmed up on inconsistent demonstrations in `bookings`, its runs are collected and RSD is
fitted on them; from there every arm is trained and evaluated on its own. Seeds are the unit of every interval.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import RESULTS, machine
from scipy import stats

from likewise.cli.train import fit_small as fit
from likewise.core.group import group_rollouts
from likewise.evaluation.measured_tasks import measure_tasks
from likewise.evaluation.paper_tables import paper_tables
from likewise.formats.native import read
from likewise.metrics.divergence import discounted_sum
from likewise.metrics.pass_k import pass_hat_k
from likewise.metrics.progress_rate import progress_auc
from likewise.report.tables_text import tables_markdown
from likewise.scoring.score import ScoringOptions
from likewise.training.environments.bookings import Bookings
from likewise.training.environments.bookings_words import BookingsJudge
from likewise.training.pipeline import TinyPipeline
from likewise.training.recipe import read_recipe, settings_from
from likewise.training.tiny_settings import ARMS, TinySettings

NUMBERS = ("auc", "auc_cv", "auc_pooled_cv", "progress", "progress_cv", "progress_pooled_cv", "success", "pass^2",
           "pass^4", "pass^8", "rsd", "turns")  # fmt: skip
POOLED = """
- CVs of this file are over all {runs} trials of a task. `docs/training.md` has them beside the mean over {blocks}
  blocks of {trials}, the paper's number of trials: where failures are rare, most blocks have none and a CV of 0, so
  that a CV of {trials} trials lies lower (`auc_cv` beside `auc_pooled_cv` in `tiny_training.json`).
"""
COMPARED = ("shuffled", "token-entropy", "semantic-entropy", "sft")


def auc(members):
    """The area under the progress curve of each run."""
    return [progress_auc(np.array(run.meta["progress"]), Bookings.turn_limit) for run in members]


def last(members):
    """The progress that each run ended with."""
    return [run.reward for run in members]


def pooled(rollouts):
    """CVs over all trials of a task at once."""
    runs = {group.task_id: group.rollouts for group in group_rollouts(rollouts)}
    return {
        f"{name}_pooled_cv": {task: block_cv(value(members), len(members)) for task, members in runs.items()}
        for name, value in (("auc", auc), ("progress", last))
    }


def measure(rollouts, settings):
    """The numbers of one evaluation, by task; CVs within blocks of `trials`."""
    runs = {group.task_id: group.rollouts for group in group_rollouts(rollouts)}

    def by_task(number):
        return {task: number(members) for task, members in runs.items()}

    def won(members):
        return [run.success for run in members]

    def all_of(k):
        return lambda members: float(pass_hat_k(np.array([sum(won(members))]), np.array([len(members)]), k)[0])

    measured = measure_tasks(rollouts, judge=BookingsJudge(), options=ScoringOptions(gamma=settings.gamma))
    return {
        "auc": by_task(lambda members: float(np.mean(auc(members)))),
        "progress": by_task(lambda members: float(np.mean(last(members)))),
        "auc_cv": by_task(lambda members: block_cv(auc(members), settings.trials)),
        "progress_cv": by_task(lambda members: block_cv(last(members), settings.trials)),
        "success": by_task(lambda members: float(np.mean(won(members)))),
        **{f"pass^{k}": by_task(all_of(k)) for k in (2, 4, 8)},
        "rsd": {t.group.task_id: float(discounted_sum(t.distance, settings.gamma).mean()) for t in measured.tasks},
        "turns": by_task(lambda members: float(np.mean([len(run.turns) for run in members]))),
    }


def block_cv(values, trials):
    """Mean over blocks of the CV within a block; blocks of mean 0 are undefined and left out, none left is None."""
    blocks = np.array(values).reshape(-1, trials)
    kept = [b.std(ddof=1) / b.mean() for b in blocks if b.mean() > 0]
    return float(np.mean(kept)) if kept else None


def summary(measured, support):
    """Means over tasks; CVs over the tasks on which every arm has one."""
    out = {}
    for name in NUMBERS:
        values = [measured[name][task] for task in (support if name.endswith("cv") else measured[name])]
        out[name] = float(np.mean(values)) if values else None
    return out


def interval(values):
    """Mean over seeds with its t-interval of 95 %."""
    values = np.array([v for v in values if v is not None], dtype=float)
    if len(values) < 2:
        return {"value": float(values[0]) if len(values) else None, "reason": f"{len(values)} seed(s): no interval"}
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    mean = float(values.mean())
    return {"value": mean, "low": mean - float(half), "high": mean + float(half), "n": len(values)}


def table(folder, settings):
    """What every finished seed says, seed by seed and over seeds."""
    seeds = {}
    for path in sorted(folder.glob("seed-*"), key=lambda p: int(p.name.removeprefix("seed-"))):
        pipeline = TinyPipeline(path, int(path.name.removeprefix("seed-")), settings, fit)
        ready = [arm for arm in ARMS if (path / "arms" / arm / "temperature-0.jsonl").exists()]
        if "base" in ready:
            kept = {arm: cached(path / "arms" / arm, settings) for arm in ready}
            support = {t for t in Bookings.tasks if all(m["1"]["auc_cv"][t] is not None for m in kept.values())}
            seeds[pipeline.seed] = {
                "arms": {arm: {t: summary(m[t], support if t == "1" else ()) for t in m} for arm, m in kept.items()},
                "left_out_of_cv": sorted(set(Bookings.tasks) - support),
                "seconds": {f.stem: json.loads(f.read_text()) for f in sorted((path / "seconds").glob("*.json"))},
            }
    return {"seeds": seeds, "over_seeds": over_seeds(seeds)}


def cached(where, settings):
    """The numbers of an arm, worked out once."""
    path = where / "numbers.json"
    if not path.exists():
        runs = {t: read(where / f"temperature-{t}.jsonl", "").rollouts for t in "10"}
        path.write_text(json.dumps({t: measure(rollouts, settings) for t, rollouts in runs.items()}))
    numbers = json.loads(path.read_text())
    if "auc_pooled_cv" not in numbers["1"]:
        numbers["1"] |= pooled(read(where / "temperature-1.jsonl", "").rollouts)
        path.write_text(json.dumps(numbers))
    return numbers


def over_seeds(seeds):
    """Each arm: its numbers, their change against the base, and RSD's difference from the controls, seed by seed."""
    out = {}
    for arm in ARMS:
        have = [s["arms"] for s in seeds.values() if arm in s["arms"]]
        if not have:
            continue
        out[arm] = {
            "temperature_1": {n: interval([a[arm]["1"][n] for a in have]) for n in NUMBERS},
            "temperature_0": {n: interval([a[arm]["0"][n] for a in have]) for n in NUMBERS if not n.endswith("cv")},
            "relative_change": {n: interval([a[arm]["1"][n] / a["base"]["1"][n] - 1 for a in have]) for n in NUMBERS},
            "change": {n: interval([a[arm]["1"][n] - a["base"]["1"][n] for a in have]) for n in NUMBERS},
        }
    for arm in ("rsd-in-group", "rsd", "rsd-refreshed", "rsd-by-turn"):
        for other in COMPARED:
            both = [s["arms"] for s in seeds.values() if arm in s["arms"] and other in s["arms"]]
            if both:
                found = {n: interval([a[arm]["1"][n] - a[other]["1"][n] for a in both]) for n in NUMBERS}
                out[arm].setdefault("minus", {})[other] = found
    return out


def paper(folder, settings):
    """Tables 1 to 3 in the paper's form, of the arms that every seed has; a task of a seed is a task."""
    seeds = sorted(folder.glob("seed-*"))
    ready = [arm for arm in ARMS if all((path / "arms" / arm / "numbers.json").exists() for path in seeds)]
    runs, rsd = {arm: [] for arm in ready}, {arm: {} for arm in ready}
    for path in seeds:
        pipeline = TinyPipeline(path, int(path.name.removeprefix("seed-")), settings, fit)
        for arm in ready:
            name = f"@{pipeline.seed}"
            runs[arm] += [replace(run, task_id=run.task_id + name) for run in pipeline.arm(arm)[1.0]]
            measured = cached(path / "arms" / arm, settings)["1"]["rsd"]
            rsd[arm] |= {task + name: value for task, value in measured.items()}
    lambdas = {arm: float(arm.removeprefix("hybrid-")) for arm in ready if arm.startswith("hybrid-")}
    if "rsd-in-group" in ready:  # the hybrid of lambda 1, which stands in Table 1 as well
        runs["hybrid-1"], rsd["hybrid-1"], lambdas["hybrid-1"] = runs["rsd-in-group"], rsd["rsd-in-group"], 1.0
    return paper_tables(runs, base="base", lambdas=lambdas, turn_limit=Bookings.turn_limit, rsd=rsd)


def show(results):
    """The table for readers."""
    print(f"{'arm':18}" + "".join(f"{n:>22}" for n in ("auc", "auc_cv", "progress", "progress_cv", "rsd", "pass^8")))
    for arm, found in results["over_seeds"].items():
        cells = ""
        for name in ("auc", "auc_cv", "progress", "progress_cv", "rsd", "pass^8"):
            value, change = found["temperature_1"][name]["value"], found["relative_change"][name]
            band = f"{100 * change['value']:+.0f}%" if change["value"] is not None else ""
            if "low" in change:
                band += f"[{100 * change['low']:+.0f},{100 * change['high']:+.0f}]"
            cells += f"{value:8.3f}{band:>14}"
        print(f"{arm:18}{cells}")


def main():
    """Run seeds, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--folder", type=Path, default=Path("build/tiny"))
    parser.add_argument("--arms", nargs="*", default=list(ARMS))
    parser.add_argument("--recipe", default="tiny")
    parser.add_argument("--only-table", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS / "tiny_training.json")
    given = parser.parse_args()
    settings = settings_from(TinySettings, read_recipe(given.recipe).get("tiny", {}), given.recipe, "tiny")
    if not given.only_table:
        warnings.filterwarnings("ignore", category=FutureWarning)
        import torch

        torch.set_num_threads(1)
        for seed in given.seeds:
            run(given.folder / f"seed-{seed}", seed, settings, given.arms)
    results = {
        "what": __doc__.split("\n", 1)[0],
        **made(given),
        "settings": {name: getattr(settings, name) for name in settings.__slots__},
        **table(given.folder, settings),
    }
    given.out.write_text(json.dumps(results, indent=1) + "\n")
    trials = {"runs": settings.trials * settings.blocks, "blocks": settings.blocks, "trials": settings.trials}
    tables = tables_markdown(paper(given.folder, settings)) + POOLED.lstrip("\n").format(**trials)
    given.out.with_name(given.out.stem + "_tables.md").write_text(tables)
    show(results)


def run(folder, seed, settings, arms):
    """One seed; seconds of each stage are kept: wall and processor, as other work on the machine sways the former."""
    pipeline = TinyPipeline(folder, seed, settings, fit, say=lambda what: print(f"seed {seed}: {what}", flush=True))
    clocks = folder / "seconds"
    clocks.mkdir(exist_ok=True)
    stages = {"base": pipeline.base, "collected": pipeline.collected, "metric": pipeline.metric}
    stages |= {f"arm {name}": (lambda name=name: pipeline.arm(name)) for name in arms}
    for name, stage in stages.items():
        clock = clocks / f"{name}.json"
        if clock.exists():
            continue
        wall, processor = time.perf_counter(), time.process_time()
        stage()
        spent = [round(time.perf_counter() - wall, 1), round(time.process_time() - processor, 1)]
        clock.write_text(json.dumps(spent))


def made(given):
    """How it was made; a table that is drawn again keeps how its runs were made."""
    command = "python benchmarks/tiny_training.py " + " ".join(sys.argv[1:])
    if given.only_table and given.out.exists():
        before = json.loads(given.out.read_text())
        return {name: before[name] for name in ("command", "machine", "versions")} | {"table_command": command}
    return {"command": command, "machine": machine(), "versions": versions()}


def versions():
    """Of what moves the numbers."""
    from importlib.metadata import version

    return {name: version(name) for name in ("torch", "trl", "transformers", "accelerate", "tokenizers", "numpy")}


if __name__ == "__main__":
    main()
