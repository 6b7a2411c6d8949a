"""The learned metric on tasks it has not seen, beside baselines that cost nothing; tau-bench airline, 5 folds by task.

python benchmarks/learned_airline.py [--store labels.sqlite] [--steps 300] [--rate 1e-3] [--variants NAME ...] [--quick]

What is predicted: the divergence from a turn on of a run from the other runs of its task, as measured (Monte Carlo),
for every turn of every held-out run. Baselines see the training tasks of the same fold, and the ridge regressions
choose their penalty within them. The task's own mean is shown for comparison only: it needs the rollouts that a score
is there to spare. Differences come with intervals from a bootstrap over tasks, which is what is independent.

Distances, vectors and trainings are kept under build/: the same command goes on where it was stopped, and with further
variants it trains only those.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from common import rollout_file, save
from learned_kept import KeptEncoder, keep, keep_distances, kept, kept_distances, key_of
from scipy.stats import rankdata

from likewise.backends.judges import embedded_judge
from likewise.backends.label_store import LabelStore, default_path
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.evaluation.calibrate import futures
from likewise.evaluation.measured_tasks import MeasuredTasks, measure_tasks
from likewise.formats.registry import read_rollouts
from likewise.learned.forward import forward, self_distance
from likewise.learned.network import load_torch
from likewise.learned.options import MICO_BETA, FitOptions, Loss, SameState
from likewise.learned.pairs import TaskRuns, task_runs
from likewise.learned.state_encoding import StateEncoder
from likewise.learned.train import train
from likewise.metrics.calibration import controlled_threshold

FOLDS = 5
WHOLE = {"same_state": SameState.TURN, "n": 30}
"""Every future that was measured, of all runs of a task at a turn: the very number that is to be foretold."""
VARIANTS = {
    "default": {},
    "loss huber": {"loss": Loss.HUBER},
    "beta of MICo": {"beta": MICO_BETA},
    "no angle": {"angle": False},
    "same state: text": {"same_state": SameState.TEXT},
    "same state: equivalent": {"same_state": SameState.EQUIVALENT},
    "no clamp": {"clamp": False},
    "8 siblings": {"siblings": 8, "same_state": SameState.EQUIVALENT},
    "n 1": {"n": 1},
    "n 30": {"n": 30},
    "5 heads": {"heads": 5},
    "not standardised": {"standardise": False},
    "same state: turn": {"same_state": SameState.TURN},
    "same state: turn, n 30": {**WHOLE},
    "same state: turn, n 30, 8 siblings": {**WHOLE, "siblings": 8},
    "same state: turn, n 30, huber": {**WHOLE, "loss": Loss.HUBER},
    "same state: turn, n 30, 5 heads": {**WHOLE, "heads": 5},
    "64 components": {"components": 64},
    "same state: turn, n 30, 64 components": {**WHOLE, "components": 64},
    "same state: turn, n 30, 16 components": {**WHOLE, "components": 16},
    "same state: turn, n 30, 16 components, 5 heads": {**WHOLE, "components": 16, "heads": 5},
    "same state: turn, n 30, 4 components, 5 heads": {**WHOLE, "components": 4, "heads": 5},
    "same state: turn, n 30, 1 component, 5 heads": {**WHOLE, "components": 1, "heads": 5},
}
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
RUNS: dict[str, list[TaskRuns]] = {}
DATA: list[str] = []
"""Names the measured tasks and the encoder; filled before the workers are forked."""


class Rows:
    """One entry a state: its task, run and turn, what was measured, whether its run failed, and simple facts of it."""

    def __init__(self, measured: MeasuredTasks, runs: list[TaskRuns]) -> None:
        """Measure each state that has another run beside it."""
        rows, vectors = [], []
        for number, (task, encoded) in enumerate(zip(measured.tasks, runs, strict=True)):
            low, high = futures(task, 0.8)
            lengths, pairs = np.array(task.group.lengths), np.array(task.group.pairs)
            for run, rollout in enumerate(task.group.valid):
                mine = (pairs == run).any(axis=1)
                differs = task.distance[mine] > 0
                fork = int(np.argmax(differs.any(axis=0))) if differs.any() else len(rollout.turns)
                for turn in range(len(rollout.turns)):
                    beside = mine & (lengths[pairs].min(axis=1) > turn)
                    if beside.any():
                        bad = (high[beside, turn] > 2.5).mean()
                        rows.append(
                            (number, run, turn, low[beside, turn].mean(), bad, rollout.success is False,
                             len(rollout.turns), fork)
                        )  # fmt: skip
                        vectors.append(encoded.states[run][turn])
        (self.task, self.run, self.turn, self.measured, self.bad, self.failed, self.length, self.fork) = (
            np.array(column) for column in zip(*rows, strict=True)
        )
        self.z = np.stack(vectors)


def folds(tasks: int) -> list[np.ndarray]:
    """Tasks of each fold, the same for every setting."""
    return np.array_split(np.random.default_rng(0).permutation(tasks), FOLDS)


def fold_scores(job: tuple[str, int, int, float]) -> tuple[str, int, np.ndarray, float]:
    """Train on the tasks outside a fold; scores of the states of all tasks, by state."""
    variant, fold, steps, rate = job
    options = FitOptions(steps=steps, rate=rate, every=20, patience=6, **VARIANTS[variant])
    name = "airline-" + key_of(*DATA, options, FOLDS, fold)
    before = kept(name)
    if before is not None:
        return variant, fold, np.array(before["values"]), before["seconds"]
    runs = RUNS[str(options.same_state)]
    held = set(folds(len(runs))[fold].tolist())
    began = time.process_time()
    trained = train([each for k, each in enumerate(runs) if k not in held], options)
    vectors = np.concatenate([s for k in sorted(held) for s in runs[k].states])
    values = self_distance(forward(trained.weights, vectors), options.alpha).mean(axis=0)
    values, seconds = np.minimum(values, options.largest), time.process_time() - began
    keep(name, {"values": values.tolist(), "seconds": seconds})
    return variant, fold, values, seconds


def ridge(x: np.ndarray, y: np.ndarray, new: np.ndarray, penalties: Sequence[float]) -> list[np.ndarray]:
    """Ridge regression with an intercept; what it says by each penalty."""
    centre, mean = x.mean(axis=0), y.mean()
    a = x - centre
    values, axes = np.linalg.eigh((a.T @ a).astype(np.float32))
    aim, seen = axes.T @ (a.T @ (y - mean)), (new - centre) @ axes
    return [seen @ (aim / (np.maximum(values, 0) + penalty)) + mean for penalty in penalties]


def chosen_ridge(x: np.ndarray, y: np.ndarray, task: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Ridge regression with the penalty that does best on a third of its own training tasks, left out for that."""
    tasks = np.random.default_rng(1).permutation(np.unique(task))
    out = np.isin(task, tasks[: len(tasks) // 3])
    misses = [float(((guess - y[out]) ** 2).mean()) for guess in ridge(x[~out], y[~out], x[out], PENALTIES)]
    return ridge(x, y, new, [PENALTIES[int(np.argmin(misses))]])[0]


def baselines(rows: Rows, groups: list[np.ndarray], whole_state: bool) -> dict[str, np.ndarray]:
    """Predictions of each baseline for every state, made on the other folds."""
    name_of_all = "baselines-" + key_of(*DATA, FOLDS, PENALTIES, whole_state)
    before = kept(name_of_all)
    if before is not None:
        return {name: np.array(values) for name, values in before.items()}
    d = (rows.z.shape[1] - 6) // 3
    length = rows.z[:, 3 * d + 2 : 3 * d + 3].astype(np.float64)
    names = ["constant", "turn number", "history length", "last observation + ridge"]
    names += ["whole state + ridge"] if whole_state else []
    found = {name: np.zeros(len(rows.task)) for name in names}
    for held in groups:
        new = np.isin(rows.task, held)
        old, y = ~new, rows.measured[~new]
        found["constant"][new] = y.mean()
        means = {t: y[rows.turn[old] == t].mean() for t in np.unique(rows.turn[old])}
        found["turn number"][new] = [means.get(t, y[rows.turn[old] >= 20].mean()) for t in rows.turn[new]]
        (found["history length"][new],) = ridge(length[old], y, length[new], [1e-6])
        seen = rows.z[:, d : 2 * d].astype(np.float64)
        found["last observation + ridge"][new] = chosen_ridge(seen[old], y, rows.task[old], seen[new])
        if whole_state:
            whole = rows.z.astype(np.float64)
            found["whole state + ridge"][new] = chosen_ridge(whole[old], y, rows.task[old], whole[new])
    own = np.array([rows.measured[rows.task == t].mean() for t in range(int(rows.task.max()) + 1)])
    found["task's own mean (needs its rollouts)"] = own[rows.task]
    keep(name_of_all, {name: values.tolist() for name, values in found.items()})
    return found


def quality(rows: Rows, guess: np.ndarray) -> dict[str, object]:
    """Spearman and mean absolute error over states, and the interval of Spearman by a bootstrap over tasks."""
    rng, tasks = np.random.default_rng(0), np.unique(rows.task)
    where = {t: np.flatnonzero(rows.task == t) for t in tasks}
    draws = []
    for _ in range(200):
        pick = np.concatenate([where[t] for t in rng.choice(tasks, len(tasks))])
        draws.append(_rank(guess[pick], rows.measured[pick]))
    first = rows.turn == 0
    return {
        "spearman": round(_rank(guess, rows.measured), 3),
        "spearman_95": [round(float(q), 3) for q in np.quantile(draws, [0.025, 0.975])],
        "mae": round(float(np.abs(guess - rows.measured).mean()), 3),
        "spearman_turn_0": round(_rank(guess[first], rows.measured[first]), 3),
    }


def against(rows: Rows, guess: np.ndarray, others: dict[str, np.ndarray]) -> dict[str, object]:
    """The learned score minus each baseline: Spearman (above 0 is better) and absolute error (below 0 is better)."""
    rng, tasks = np.random.default_rng(0), np.unique(rows.task)
    where = {t: np.flatnonzero(rows.task == t) for t in tasks}
    draws = [np.concatenate([where[t] for t in rng.choice(tasks, len(tasks))]) for _ in range(200)]
    found: dict[str, object] = {}
    for name, other in others.items():
        ranks, misses = [], []
        for pick in [np.arange(len(guess)), *draws]:
            true = rows.measured[pick]
            ranks.append(_rank(guess[pick], true) - _rank(other[pick], true))
            misses.append(float((np.abs(guess[pick] - true) - np.abs(other[pick] - true)).mean()))
        found[name] = {
            key: [round(values[0], 3), *(round(float(q), 3) for q in np.quantile(values[1:], [0.025, 0.975]))]
            for key, values in (("spearman", ranks), ("mae", misses))
        }
    return found


def _rank(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's rank correlation; 0 of a constant, which ranks nothing."""
    return 0.0 if np.ptp(a) == 0 or np.ptp(b) == 0 else float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def auc(score: np.ndarray, positive: np.ndarray) -> float:
    """Probability that a failed run has the higher score (ties half)."""
    ranks, n = rankdata(score), int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def failure(rows: Rows, guess: np.ndarray) -> dict[str, float]:
    """AUC of "this run will fail" from the score at a share of the run."""
    found = {}
    for share in (0.25, 0.5, 0.75):
        at = [
            np.flatnonzero((rows.task == t) & (rows.run == r) & (rows.turn <= share * (rows.length - 1)))[-1]
            for t, r in sorted({(int(t), int(r)) for t, r in zip(rows.task, rows.run, strict=True)})
        ]
        found[f"{share:.0%}"] = round(auc(guess[at], rows.failed[at].astype(bool)), 3)
    return found


def lead(rows: Rows, guess: np.ndarray) -> dict[str, object]:
    """Turns from the first alarm to the fork, each task with a threshold calibrated on the other tasks."""
    leads, never, no_threshold = [], 0, 0
    for t in np.unique(rows.task):
        others = rows.task != t
        _, numbered = np.unique(rows.task[others], return_inverse=True)
        found = controlled_threshold(numbered, guess[others], rows.bad[others], at_most=0.2, confidence=None)
        if found.value is None:
            no_threshold += 1
            continue
        for r in np.unique(rows.run[rows.task == t]):
            mine = (rows.task == t) & (rows.run == r)
            above = rows.turn[mine & (guess > found.value)]
            if not len(above):
                never += 1
            else:
                leads.append(int(rows.fork[mine][0]) - int(above[0]))
    forks = [int(rows.fork[(rows.task == t) & (rows.run == r)][0]) for t, r in {*zip(rows.task, rows.run, strict=True)}]
    return {
        "claim": "on average at most 20 % of run pairs let through that diverge by more than 2.5",
        "tasks_without_threshold": no_threshold,
        "runs_without_alarm": never,
        "runs_with_alarm": len(leads),
        "fork_turn_quartiles": np.quantile(forks, [0.25, 0.5, 0.75]).tolist(),
        "lead_turns_quartiles": np.quantile(leads, [0.25, 0.5, 0.75]).tolist() if leads else None,
        "alarm_before_the_fork": float(np.mean([x > 0 for x in leads])) if leads else None,
    }


def _states_of(runs: list[TaskRuns], tasks: list[int]) -> Iterator[tuple[int, int, int]]:
    """Task, run and turn of each state, in the order in which `fold_scores` gives them."""
    for k in tasks:
        for r, states in enumerate(runs[k].states):
            yield from ((k, r, t) for t in range(len(states)))


def main() -> None:
    """Baselines, then every variant."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", type=Path, default=None)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    parser.add_argument("--whole-state", action="store_true", help="a further baseline; takes a while")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="ask the judge again, whatever was kept")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    rollouts = list(read_rollouts([rollout_file()]))
    found = None if given.fresh else kept_distances(rollouts)
    if found is None:
        with LabelStore(given.store or default_path()) as store:
            found = measure_tasks(rollouts, store=store)
        keep_distances(found)
    measured = found
    if given.quick:
        measured = replace(measured, tasks=measured.tasks[:6])
    vectors = KeptEncoder(embedded_encoder())
    encoder = StateEncoder(vectors)
    for task in measured.tasks:
        encoder.prepare(task.group.valid)
        vectors.save()
    DATA[:] = [measured.fingerprint, vectors.encoder_id]
    variants = given.variants[:1] if given.quick else given.variants
    for option in {SameState.START, *(VARIANTS[name].get("same_state", SameState.START) for name in variants)}:
        RUNS[str(option)] = [task_runs(task.group, task.distance, encoder, option) for task in measured.tasks]
    runs = RUNS["start"]
    rows, groups = Rows(measured, runs), folds(len(runs))
    results: dict[str, object] = {}
    simple = baselines(rows, groups, given.whole_state)
    for name, guess in simple.items():
        results[name] = {**quality(rows, guess), "failure_auc": failure(rows, guess)}
        print(name, results[name], flush=True)
    places = [{place: n for n, place in enumerate(_states_of(runs, sorted(held.tolist())))} for held in groups]
    fold_of = {int(k): f for f, held in enumerate(groups) for k in held}
    steps = 20 if given.quick else given.steps
    jobs = [(variant, fold, steps, given.rate) for variant in variants for fold in range(FOLDS)]
    guesses = {variant: np.zeros(len(rows.task)) for variant in variants}
    seconds = dict.fromkeys(variants, 0.0)
    learned: dict[str, object] = {}
    load_torch()  # once, before the workers are forked
    with ProcessPoolExecutor(given.processes, mp_context=get_context("fork")) as pool:
        for variant, fold, values, spent in pool.map(fold_scores, jobs):
            seconds[variant] += spent
            for n, (k, r, t) in enumerate(zip(rows.task, rows.run, rows.turn, strict=True)):
                if fold_of[int(k)] == fold:
                    guesses[variant][n] = values[places[fold][int(k), int(r), int(t)]]
            if fold == FOLDS - 1:
                learned[variant] = {
                    **quality(rows, guesses[variant]),
                    "minus_baselines": against(rows, guesses[variant], simple),
                    "lead_time": lead(rows, guesses[variant]),
                    "failure_auc": failure(rows, guesses[variant]),
                    "seconds": round(seconds[variant], 1),
                }
                print(variant, {k: learned[variant][k] for k in ("spearman", "mae", "failure_auc")}, flush=True)
    save(
        "learned_airline" + ("_quick" if given.quick else ""),
        {
            "rollouts": rollout_file().name,
            "tasks": len(runs),
            "runs": measured.rollouts,
            "states": len(rows.task),
            "judge": measured.judge_id,
            "judge_of_this_version": embedded_judge().judge_id,
            "steps": steps,
            "rate": given.rate,
            "baselines": results,
            "learned": learned,
            "lead_time_of_turn_number": lead(rows, simple["turn number"]),
            "load_after": round(os.getloadavg()[0], 2),
        },
    )


if __name__ == "__main__":
    main()
