"""The learned metric against the exact one, on random finite processes told in words; and Monte Carlo beside both.

python benchmarks/learned_oracle.py [--seeds 20] [--steps 2000] [--quick]

Each process has 5 to 50 states. Its runs (30 from each of at most 24 starting states, 12 turns, then cut) are read as
texts by the embedded encoder; distances are the process's own. The score of a state is the mean over the histories that
end in it. The exact value comes from a linear solve. Three settings are compared: beta = 1/(1-gamma), the published
MICo's weight, and no angle at all.
"""

from __future__ import annotations

import argparse
import statistics
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import replace

import numpy as np
from common import save
from scipy.stats import spearmanr

from likewise.backends.onnx_encoder import embedded_encoder
from likewise.learned.exact import exact_rsd, random_process
from likewise.learned.forward import forward, self_distance
from likewise.learned.options import MICO_BETA, FitOptions, SameState
from likewise.learned.pairs import task_runs
from likewise.learned.state_encoding import StateEncoder
from likewise.learned.textual import textual_tasks
from likewise.learned.train import train
from likewise.metrics.divergence import monte_carlo_rsd

GAMMA = 0.8
RUNS, TURNS, STARTS = 30, 12, 24
SETTINGS = {
    "beta 1/(1-gamma)": {},
    "beta of MICo": {"beta": MICO_BETA},
    "no angle": {"angle": False},
}


def one(job: tuple[str, int, int, int, bool]) -> dict[str, object]:
    """Train on one process and compare."""
    setting, seed, states, steps, deterministic = job
    rng = np.random.default_rng(seed)
    process = random_process(states, rng, deterministic=deterministic)
    exact = np.diagonal(exact_rsd(process, GAMMA))
    starts = rng.permutation(states)[:STARTS].tolist()
    tasks = textual_tasks(process, starts, runs=RUNS, turns=TURNS, rng=rng)
    encoder = StateEncoder(embedded_encoder())
    options = FitOptions(gamma=GAMMA, steps=steps, same_state=SameState.TEXT, seed=seed)
    options = replace(options, **SETTINGS[setting])
    runs = [task_runs(task.group, task.distance, encoder, options.same_state) for task in tasks]
    began = time.process_time()
    trained = train(runs, options)
    seconds = time.process_time() - began
    vectors = np.concatenate([each for task in runs for each in task.states])
    where = np.concatenate([task.visited.reshape(-1) for task in tasks])
    values = np.minimum(self_distance(forward(trained.weights, vectors), options.alpha).mean(axis=0), options.largest)
    seen = np.unique(where)
    learned = np.array([values[where == s].mean() for s in seen])
    fresh = np.setdiff1d(seen, starts)
    miss = np.abs(learned - exact[seen])
    return {
        "setting": setting,
        "seed": seed,
        "states": states,
        "deterministic": deterministic,
        "mae": float(miss.mean()),
        "spearman": None if deterministic else float(spearmanr(learned, exact[seen])[0]),
        "mae_of_a_constant": float(np.abs(exact[seen] - exact[seen].mean()).mean()),
        "mae_never_a_start": float(miss[np.isin(seen, fresh)].mean()) if len(fresh) else None,
        "largest": float(values.max()),
        "best_step": trained.best_step,
        "seconds": round(seconds, 1),
    }


def monte_carlo(seeds: int) -> dict[str, float]:
    """How often the interval of the direct estimate holds the exact value; runs long enough that the cut is nothing."""
    inside, count = 0, 0
    for seed in range(seeds):
        rng = np.random.default_rng((seed, 9))
        process = random_process(5 + seed % 10, rng)
        exact = np.diagonal(exact_rsd(process, GAMMA))
        for task in textual_tasks(process, range(5), runs=10, turns=40, rng=rng):
            found = monte_carlo_rsd(task.distance, np.array(task.group.pairs, dtype=np.int64), 10, GAMMA)
            true = exact[int(task.visited[0, 0])]
            inside += bool(found.low - 1e-3 <= true <= found.high + 1e-3)
            count += 1
    return {"intervals": count, "hold_the_exact_value": inside / count}


def table(rows: list[dict[str, object]]) -> dict[str, dict[str, float]]:
    """Medians over seeds."""
    found = {}
    for setting in SETTINGS:
        mine = [row for row in rows if row["setting"] == setting and not row["deterministic"]]
        if mine:
            found[setting] = {
                "seeds": len(mine),
                **{
                    name: statistics.median([row[name] for row in mine if row[name] is not None])
                    for name in ("mae", "spearman", "mae_of_a_constant", "largest")
                },
            }
    return found


def run_all(jobs: list[tuple[str, int, int, int, bool]], until: float) -> list[dict[str, object]]:
    """Results of the jobs, two at a time; those not begun in time are left out."""
    rows, waiting = [], list(jobs)
    with ProcessPoolExecutor(2) as pool:
        running = {pool.submit(one, waiting.pop(0)) for _ in range(min(2, len(waiting)))}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                print(future.result(), flush=True)
                rows.append(future.result())
                if waiting and time.monotonic() < until:
                    running.add(pool.submit(one, waiting.pop(0)))
    return rows


def main() -> None:
    """All settings on the first seeds, the default on all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--compared", type=int, default=6, help="seeds on which the other settings run too")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no further training after so long")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    seeds, steps = (2, 20) if given.quick else (given.seeds, given.steps)
    states = np.linspace(5, 50, seeds).round().astype(int).tolist()
    first = next(iter(SETTINGS))
    jobs = [(first, seed, states[seed], steps, False) for seed in range(seeds)]
    spread = np.unique(np.linspace(0, seeds - 1, min(given.compared, seeds)).astype(int)).tolist()
    jobs += [(other, seed, states[seed], steps, False) for other in list(SETTINGS)[1:] for seed in spread]
    jobs += [(first, seed, 12, steps, True) for seed in range(1 if given.quick else 2)]
    jobs = [jobs[k] for k in np.random.default_rng(0).permutation(len(jobs))]  # a short run is a fair sample
    rows = run_all(jobs, time.monotonic() + 60 * given.minutes)
    shared = set.intersection(*({r["seed"] for r in rows if r["setting"] == s} for s in SETTINGS)) & set(spread)
    on_shared = table([row for row in rows if row["seed"] in shared])
    save(
        "learned_oracle" + ("_quick" if given.quick else ""),
        {
            "gamma": GAMMA,
            "runs": RUNS,
            "turns": TURNS,
            "steps": steps,
            "bar": {"mae": 0.05 / (1 - GAMMA), "spearman": 0.9, "deterministic_largest": 0.01},
            "all_seeds": table(rows)[first],
            "on_the_seeds_of_all_settings": on_shared,
            "deterministic_largest": max((row["largest"] for row in rows if row["deterministic"]), default=None),
            "trainings_left_out": len(jobs) - len(rows),
            "monte_carlo": monte_carlo(2 if given.quick else 40),
            "rows": rows,
        },
    )


if __name__ == "__main__":
    main()
