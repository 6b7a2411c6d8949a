"""Do the intervals and tests hold what they say? Coverage, false alarms and power, by simulation.

python benchmarks/interval_coverage.py          # all of it, about two minutes on one core

Agents that draw each action with a known agreement, so that the true RSD is known in closed form. Three kinds of task:
*one decision* (a run takes the main action with probability a, else one of two others), *independent turns* (ten turns,
each such a decision among four actions, half of which only differ while the others contradict), *branches* (at each of
ten turns a run may leave the main road for one of its own, and never comes back). RSD is normalised, gamma is 0.8. The
interval ends at what the turns allow, as in a report; *two lengths* asks what that costs where runs have one turn or
ten, and none of the long ones may have come.

The numbers come from the code that users run: pair_mean, bootstrap_mean (its draws are those of its seed, applied to
all replications at once), paired_permutation_p, compare_runs, clopper_pearson, tasks_for_difference.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from itertools import combinations

import numpy as np
from common import save

from likewise.metrics.intervals import clopper_pearson
from likewise.metrics.power import tasks_for_difference
from likewise.metrics.resampling import (
    bca_levels,
    bootstrap_mean,
    jackknife,
    pair_mean,
    student_t_quantile,
    wilson_interval,
)
from likewise.metrics.testing import benjamini_hochberg, compare_runs, paired_permutation_p

GAMMA, TURNS = 0.8, 10
WEIGHTS = (1 - GAMMA) * GAMMA ** np.arange(TURNS)
TAILS = np.concatenate([np.cumsum(WEIGHTS[::-1])[::-1], [0.0]])
KINDS = ("one decision", "independent turns", "branches")
LARGEST = {"one decision": 1.0, "independent turns": float(WEIGHTS.sum()), "branches": float(WEIGHTS.sum())}
RUNS = (3, 4, 8)
ALPHA = 0.05


def draw(rng: np.random.Generator, agreement: np.ndarray, runs: int, kind: str) -> np.ndarray:
    """Distances of all pairs of runs, in [0, 1]: one row of pairs for each agreement (shape: ..., pairs)."""
    i, j = np.triu_indices(runs, 1)
    shape = (*agreement.shape, runs)
    if kind == "one decision":
        leaves = rng.random(shape) >= agreement[..., None]
        action = np.where(leaves, rng.integers(1, 3, shape), 0)
        return (action[..., i] != action[..., j]).astype(np.float64)
    if kind == "independent turns":
        shape = (*shape, TURNS)
        leaves = rng.random(shape) >= agreement[..., None, None]
        action = np.where(leaves, rng.integers(1, 4, shape), 0).astype(np.int8)
        first, second = action[..., i, :], action[..., j, :]
        distance = np.where(first == second, 0.0, np.where((first + second) % 2 == 0, 1.0, 0.5))
        return distance @ WEIGHTS
    stays = rng.random((*shape, TURNS)) < agreement[..., None, None] ** (1 / TURNS)
    left_at = np.where(stays.all(axis=-1), TURNS, np.argmin(stays, axis=-1))
    return TAILS[np.minimum(left_at[..., i], left_at[..., j])]


def truth(agreement: np.ndarray, kind: str) -> np.ndarray:
    """The true mean distance of two runs, in closed form."""
    rest = 1 - agreement
    if kind == "one decision":
        return 1 - agreement**2 - rest**2 / 2
    if kind == "independent turns":
        each = rest / 3  # actions 0..3; the sum of two different ones is even for (0, 2) and (1, 3): these contradict
        contradict = 2 * (agreement * each + each * each)
        equal = agreement**2 + 3 * each**2
        return (contradict + 0.5 * (1 - contradict - equal)) * WEIGHTS.sum()
    turns = np.arange(1, TURNS + 1)
    return ((1 - np.asarray(agreement)[..., None] ** (2 * turns / TURNS)) * WEIGHTS).sum(axis=-1)


# ------------------------------------------------------------------ one task
def old_interval(values: np.ndarray, pairs: np.ndarray, runs: int) -> tuple[float, float] | None:
    """The jackknife-t interval that was used before; None where it has no width."""
    value = float(values.mean())
    without = np.array([values[(pairs != run).all(axis=1)].mean() for run in range(runs)])
    stderr = jackknife(without, value)
    reach = student_t_quantile(0.975, runs - 1) * stderr
    return None if stderr < 1e-12 else (value - reach, value + reach)


def single_task(replications: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Coverage for one task, beside that of the jackknife-t interval with none at all where it has no spread."""
    rows = []
    for kind in KINDS:
        for runs in RUNS:
            pairs = np.array(list(combinations(range(runs), 2)))
            for agreement in (0.98, 0.9, 0.5):
                true = float(truth(np.array(agreement), kind))
                drawn = draw(rng, np.full(replications, agreement), runs, kind)
                known: dict[bytes, tuple[float, float, bool]] = {}  # the same values give the same interval
                covered = old = zero = 0
                width = 0.0
                for values in drawn:
                    key = values.tobytes()
                    if key not in known:
                        found = pair_mean(values, pairs, LARGEST[kind])
                        before = old_interval(values, pairs, runs)
                        known[key] = (found.low, found.high, before is not None and before[0] <= true <= before[1])
                    low, high, held = known[key]
                    covered += low <= true <= high
                    old += held
                    zero += high <= low
                    width += high - low
                rows.append(
                    {
                        "kind": kind,
                        "runs": runs,
                        "agreement": agreement,
                        "true_rsd": round(true, 4),
                        "coverage": round(covered / replications, 4),
                        "zero_width": zero,
                        "mean_width": round(width / replications, 3),
                        "coverage_of_jackknife_t": round(old / replications, 4),
                    }
                )
    return rows


def two_lengths(replications: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Coverage where a run has one turn with probability a, else ten, and all actions are equal: only ends differ.

    The interval is about as many turns as the longest run recorded; beside it, how often it holds the RSD of all ten.
    """
    rows = []
    for runs in RUNS:
        i, j = np.triu_indices(runs, 1)
        pairs = np.stack([i, j], axis=1)
        for short in (0.98, 0.9, 0.5):
            lengths = np.where(rng.random((replications, runs)) < short, 1, TURNS)
            whole = 2 * short * (1 - short) * float(TAILS[1])
            as_said = of_all = 0
            for row in lengths:
                turns = int(row.max())
                values = np.where(row[i] != row[j], TAILS[1], 0.0)
                found = pair_mean(values, pairs, float(WEIGHTS[:turns].sum()))
                as_said += found.low <= (0.0 if turns == 1 else whole) <= found.high
                of_all += found.low <= whole <= found.high
            rows.append(
                {
                    "runs": runs,
                    "share_of_short_runs": short,
                    "coverage": round(as_said / replications, 4),
                    "coverage_of_all_ten_turns": round(of_all / replications, 4),
                }
            )
    return rows


# ------------------------------------------------------------------ over tasks
POPULATIONS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "agreement .98, .9 or .5": lambda rng, shape: rng.choice([0.98, 0.9, 0.5], shape),
    "agreement beta(2, 2)": lambda rng, shape: rng.beta(2, 2, shape),
    "four tasks in five at .99": lambda rng, shape: np.where(rng.random(shape) < 0.8, 0.99, rng.beta(2, 2, shape)),
    "all at .9": lambda rng, shape: np.full(shape, 0.9),
}


def bootstrap_ends(values: np.ndarray, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of `bootstrap_mean` (seed 0) for each row, NaN for one without spread (it claims no interval there).

    Its draws depend on the seed and the number of tasks alone, so that all rows can share them.
    """
    n = values.shape[1]
    drawn = np.random.default_rng(0).integers(0, n, (resamples, n))
    weights = np.stack([np.bincount(row, minlength=n) for row in drawn]) / n
    ends = np.full((len(values), 2), np.nan)
    spread = np.flatnonzero(np.ptp(values, axis=1) > 1e-9)
    for start in range(0, len(spread), 500):
        rows = spread[start : start + 500]
        for row, resampled in zip(rows, values[rows] @ weights.T, strict=True):
            ends[row] = np.quantile(resampled, bca_levels(values[row], resampled, 0.95))
    for row in spread[:3]:
        check = bootstrap_mean(values[row], 0.95, resamples, seed=0)
        if not np.allclose(ends[row], (check.low, check.high)):
            raise SystemExit("the shortcut does not give what bootstrap_mean gives")
    return ends[:, 0], ends[:, 1]


def over_tasks(replications: int, rng: np.random.Generator, tasks: int = 30) -> list[dict[str, object]]:
    """Coverage of the mean RSD over 30 tasks; tasks are drawn from a population, whose mean is the true value."""
    rows = []
    for name, population in POPULATIONS.items():
        for kind in KINDS:
            true = float(truth(population(rng, (1_000_000,)), kind).mean())
            for runs in RUNS:
                values = draw(rng, population(rng, (replications, tasks)), runs, kind).mean(axis=-1)
                low, high = bootstrap_ends(values, 2000)
                rows.append(
                    {
                        "population": name,
                        "kind": kind,
                        "runs": runs,
                        "true_rsd": round(true, 4),
                        "coverage": round(float(((low <= true) & (true <= high))[~np.isnan(low)].mean()), 4),
                        "no_interval": round(float(np.isnan(low).mean()), 4),
                        "mean_width": round(float(np.nanmean(high - low)), 3),
                    }
                )
    return rows


# ------------------------------------------------------------------ comparing
def called(differences: np.ndarray, resamples: int = 2000) -> np.ndarray:
    """-1, 0 or 1 for each row of differences: the verdict of `compare` (p below 0.05 and the interval beyond 0)."""
    n = differences.shape[1]
    signs = 1.0 - 2.0 * np.random.default_rng(0).integers(0, 2, (resamples, n), dtype=np.int8)
    size = np.abs(differences.sum(axis=1)) - 1e-9 * np.abs(differences).sum(axis=1)
    hits = np.zeros(len(differences))
    for start in range(0, len(differences), 500):
        block = differences[start : start + 500]
        hits[start : start + 500] = (np.abs(signs @ block.T) >= size[start : start + 500]).sum(axis=0)
    p = (1 + hits) / (1 + resamples)
    if n > 12 and not math.isclose(p[0], paired_permutation_p(differences[0], resamples, seed=0)):
        raise SystemExit("the shortcut does not give what paired_permutation_p gives")
    low, high = bootstrap_ends(differences, resamples)
    low, high = (np.where(np.isnan(end), differences.mean(axis=1), end) for end in (low, high))  # all tasks alike
    return np.where(p < ALPHA, np.where(low > 0, 1, np.where(high < 0, -1, 0)), 0)


def false_alarms(replications: int, rng: np.random.Generator, tasks: int = 30) -> list[dict[str, object]]:
    """How often `compare` calls a difference where base and candidate are the same agent."""
    rows = []
    for name, population in POPULATIONS.items():
        for kind in ("one decision", "branches"):
            for base_runs, runs in ((3, 3), (4, 4), (8, 8), (8, 3)):
                agreement = population(rng, (replications, tasks))
                base, candidate = (draw(rng, agreement, count, kind).mean(axis=-1) for count in (base_runs, runs))
                rate = float((called(candidate - base) != 0).mean())
                rows.append({"population": name, "kind": kind, "runs": [base_runs, runs], "called": round(rate, 4)})
    return rows


def task_alarms(replications: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """How often some task is called (permutation of runs, Benjamini-Hochberg over tasks) where nothing changed.

    Three tasks, so that five or six runs a side can be significant at all after the correction.
    """
    rows, tasks = [], 3
    for runs in (5, 6):
        i, j = np.triu_indices(2 * runs, 1)
        for name in ("agreement .98, .9 or .5", "agreement beta(2, 2)"):
            alarms = {"rsd": 0, "acts otherwise": 0}
            for _ in range(replications):
                pooled = draw(rng, POPULATIONS[name](rng, (tasks,)), 2 * runs, "branches")
                found = []
                for values in pooled:
                    matrix = np.zeros((2 * runs, 2 * runs))
                    matrix[i, j] = matrix[j, i] = values
                    found.append(compare_runs(matrix, runs))
                for label, p in (("rsd", "difference_p"), ("acts otherwise", "shift_p")):
                    adjusted = benjamini_hochberg(np.array([getattr(each, p) for each in found]))
                    alarms[label] += bool((adjusted < ALPHA).any())
            rows.append(
                {"population": name, "tasks": tasks, "runs": runs}
                | {f"any task called, {label}": round(count / replications, 4) for label, count in alarms.items()}
            )
    return rows


def power(replications: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """How often a true rise is called worse, and what `likewise plan` says of the tasks needed for 80 %.

    In half of the tasks the candidate's agreement is lower, so that the change differs from task to task.
    """
    rows = []
    kind = "branches"
    for fall in (0.1, 0.2, 0.4):
        for runs in RUNS:
            for tasks in (10, 30, 100):
                agreement = rng.uniform(0.5, 1.0, (replications, tasks))
                lower = np.where(rng.random(agreement.shape) < 0.5, agreement - fall, agreement)
                change = truth(lower, kind) - truth(agreement, kind)
                base, candidate = draw(rng, agreement, runs, kind), draw(rng, lower, runs, kind)
                differences = candidate.mean(axis=-1) - base.mean(axis=-1)
                sd, mean = float(differences.std(ddof=1)), float(change.mean())
                rows.append(
                    {
                        "rise_in_mean_rsd": round(mean, 3),
                        "runs": runs,
                        "tasks": tasks,
                        "called_worse": round(float((called(differences) == 1).mean()), 3),
                        "called_better": round(float((called(differences) == -1).mean()), 4),
                        "planned_tasks_for_80_percent": tasks_for_difference(sd, mean),
                    }
                )
    return rows


# ------------------------------------------------------------------ shares, exactly
def share_coverage() -> list[dict[str, object]]:
    """Lowest coverage over all true shares, by summing the binomial distribution: no simulation."""
    rows = []
    shares = np.linspace(0.0005, 0.9995, 2000)
    for runs in (*RUNS, 16, 30):
        counts = np.arange(runs + 1)
        chance = np.array([math.comb(runs, k) * shares**k * (1 - shares) ** (runs - k) for k in counts.tolist()])
        row: dict[str, object] = {"runs": runs}
        for name, interval in (("wilson", wilson_interval), ("clopper_pearson", clopper_pearson)):
            ends = np.array([interval(k, runs) for k in counts.tolist()])
            held = (ends[:, :1] <= shares) & (shares <= ends[:, 1:])
            row[f"lowest_coverage_{name}"] = round(float((chance * held).sum(axis=0).min()), 4)
        rows.append(row)
    return rows


def study(scale: float = 1.0, seed: int = 0) -> dict[str, object]:
    """All tables; `scale` shrinks the number of replications."""
    rng = np.random.default_rng(seed)
    count = lambda full: max(20, int(full * scale))  # noqa: E731
    return {
        "single_task": single_task(count(1500), rng),
        "two_lengths": two_lengths(count(1000), np.random.default_rng(seed + 1)),
        "mean_over_30_tasks": over_tasks(count(3000), rng),
        "compare_without_change": false_alarms(count(4000), rng),
        "tasks_without_change": task_alarms(count(600), rng),
        "power": power(count(1000), rng),
        "shares_exactly": share_coverage(),
    }


def verdicts(result: dict[str, object]) -> dict[str, object]:
    """The worst rows against what is promised."""
    single = [row["coverage"] for row in (*result["single_task"], *result["two_lengths"])]
    mean = [row["coverage"] for row in result["mean_over_30_tasks"]]
    alarms = [row["called"] for row in result["compare_without_change"]]
    return {
        "single_task_at_least_0.95": min(single),
        "single_task_zero_width": sum(row["zero_width"] for row in result["single_task"]),
        "mean_over_30_tasks_between_0.92_and_0.97": [min(mean), max(mean)],
        "compare_false_alarms_at_most_0.06": max(alarms),
    }


def main() -> None:
    """Run the study, write it, and fail where a promise is broken."""
    began = time.process_time()
    result = study(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
    worst = verdicts(result)
    if len(sys.argv) > 1:
        print(worst, round(time.process_time() - began, 1))
        return
    save("interval_coverage", {"worst": worst, "cpu_seconds": round(time.process_time() - began, 1), **result})
    low, high = worst["mean_over_30_tasks_between_0.92_and_0.97"]
    if not (
        worst["single_task_at_least_0.95"] >= 0.95
        and worst["single_task_zero_width"] == 0
        and 0.92 <= low <= high <= 0.97
        and worst["compare_false_alarms_at_most_0.06"] <= 0.06
    ):
        raise SystemExit("a promise is broken")


if __name__ == "__main__":
    main()
