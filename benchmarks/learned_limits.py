"""How much of tau-bench airline can be foretold at all? A curve over training tasks, and what the runs themselves tell.

python benchmarks/learned_limits.py [--learned] [--steps 300] [--rate 1e-3] [--minutes 30] [--quick]

*Curve*: the baselines of learned_airline.py, and with --learned the learned metric, trained on 6, 12, 18 and 24 of the
24 tasks outside a fold (each size a part of the next), and tested on the same held-out tasks of all five folds. A curve
that still rises says that more tasks would help; one that is flat says that they hold nothing more of that kind.

*Runs*: what is to be foretold of a run (its divergence from its three siblings from a turn on) beside the same number
of the three siblings among themselves. That needs the very rollouts a score is there to spare. Two measurements of one
expectation correlate by r, each with the expectation by at most sqrt(r) (they share runs, which only raises r): nobody
who knows the expectation exactly, but not the run's own chance, does better.

Trainings are kept under build/: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

import numpy as np
from common import rollout_file, save
from learned_airline import DATA, FOLDS, WHOLE, Rows, chosen_ridge, folds, quality, ridge
from learned_kept import KeptEncoder, keep, kept, kept_distances, key_of

from likewise.backends.onnx_encoder import embedded_encoder
from likewise.evaluation.calibrate import futures
from likewise.evaluation.measured_tasks import MeasuredTasks
from likewise.formats.registry import read_rollouts
from likewise.learned.forward import forward, self_distance
from likewise.learned.options import FitOptions, SameState
from likewise.learned.pairs import TaskRuns, task_runs
from likewise.learned.state_encoding import StateEncoder
from likewise.learned.train import train

SIZES = (6, 12, 18, 24)
LEARNED = {**WHOLE, "components": 4}
"""The form that did best in learned_airline.py, with one head: five cost five times as much and rank alike."""


def parts(tasks: int, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Held-out tasks of each fold, and so many of the others; those of a smaller size are among those of a larger."""
    for number, held in enumerate(folds(tasks)):
        others = np.setdiff1d(np.arange(tasks), held)
        yield held, np.random.default_rng((5, number)).permutation(others)[:size]


def foretold(rows: Rows, tasks: int, size: int) -> dict[str, np.ndarray]:
    """What each baseline says of every state, from so many tasks of the other folds."""
    d = (rows.z.shape[1] - 6) // 3
    length = rows.z[:, 3 * d + 2 : 3 * d + 3].astype(np.float64)
    seen = rows.z[:, d : 2 * d].astype(np.float64)
    found = {name: np.zeros(len(rows.task)) for name in ("turn number", "history length", "last observation + ridge")}
    for held, learn in parts(tasks, size):
        new, old = np.isin(rows.task, held), np.isin(rows.task, learn)
        y, late = rows.measured[old], rows.measured[old & (rows.turn >= 20)]
        means = {t: y[rows.turn[old] == t].mean() for t in np.unique(rows.turn[old])}
        rest = late.mean() if len(late) else y.mean()
        found["turn number"][new] = [means.get(t, rest) for t in rows.turn[new]]
        (found["history length"][new],) = ridge(length[old], y, length[new], [1e-6])
        found["last observation + ridge"][new] = chosen_ridge(seen[old], y, rows.task[old], seen[new])
    return found


def learned(rows: Rows, runs: list[TaskRuns], size: int, options: FitOptions, until: float) -> np.ndarray | None:
    """What the learned metric says of every state; None where time was up before all folds were trained."""
    found = np.zeros(len(rows.task))
    for number, (held, learn) in enumerate(parts(len(runs), size)):
        name = "limits-" + key_of(*DATA, options, FOLDS, number, size)
        before = kept(name)
        if before is None:
            if time.monotonic() > until:
                return None
            trained = train([runs[k] for k in sorted(learn)], options)
            new = np.isin(rows.task, held)
            values = self_distance(forward(trained.weights, rows.z[new]), options.alpha).mean(axis=0)
            before = {"values": np.minimum(values, options.largest).tolist()}
            keep(name, before)
        found[np.isin(rows.task, held)] = before["values"]
    return found


def of_the_siblings(rows: Rows, measured: MeasuredTasks) -> dict[str, object]:
    """The measured divergence of each state beside that of the other runs of its task among themselves."""
    same_turn, all_turns = np.full(len(rows.task), np.nan), np.full(len(rows.task), np.nan)
    for number, task in enumerate(measured.tasks):
        low, _ = futures(task, 0.8)
        lengths, pairs = np.array(task.group.lengths), np.array(task.group.pairs)
        alive = lengths[pairs].min(axis=1)[:, None] > np.arange(low.shape[1])
        for run in range(len(lengths)):
            rest = ~(pairs == run).any(axis=1)
            mine = (rows.task == number) & (rows.run == run)
            if (alive & rest[:, None]).any():
                all_turns[mine] = low[alive & rest[:, None]].mean()
            for k in np.flatnonzero(mine):
                beside = rest & alive[:, rows.turn[k]]
                if beside.any():
                    same_turn[k] = low[beside, rows.turn[k]].mean()
    found: dict[str, object] = {}
    for name, guess in (("siblings at that turn", same_turn), ("siblings over all turns", all_turns)):
        known = ~np.isnan(guess)
        part = object.__new__(Rows)
        part.task, part.turn, part.measured = (each[known] for each in (rows.task, rows.turn, rows.measured))
        row = quality(part, guess[known])
        found[name] = {**row, "states": int(known.sum()), "at_most": round(max(row["spearman"], 0.0) ** 0.5, 3)}
    return found


def main() -> None:
    """The runs themselves, then the curve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no further training after so long")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    measured = kept_distances(list(read_rollouts([rollout_file()])))
    if measured is None:
        raise SystemExit("no distances are kept: run benchmarks/learned_airline.py first")
    vectors = KeptEncoder(embedded_encoder())
    encoder = StateEncoder(vectors)
    runs = [task_runs(task.group, task.distance, encoder, SameState.TURN) for task in measured.tasks]
    vectors.save()
    DATA[:] = [measured.fingerprint, vectors.encoder_id]
    rows = Rows(measured, runs)
    options = FitOptions(steps=20 if given.quick else given.steps, rate=given.rate, every=20, patience=6, **LEARNED)
    curve: dict[str, dict[str, object]] = {}
    for size in SIZES[:1] if given.quick else SIZES:
        guesses: dict[str, np.ndarray | None] = dict(foretold(rows, len(runs), size))
        if given.learned:
            guesses["learned"] = learned(rows, runs, size, options, until)
        curve[str(size)] = {name: quality(rows, guess) for name, guess in guesses.items() if guess is not None}
        print(size, curve[str(size)], flush=True)
    save(
        "learned_limits" + ("_quick" if given.quick else ""),
        {
            "rollouts": rollout_file().name,
            "judge": measured.judge_id,
            "states": len(rows.task),
            "steps": options.steps,
            "rate": given.rate,
            "runs_themselves": of_the_siblings(rows, measured),
            "by_training_tasks": curve,
            "load_after": round(os.getloadavg()[0], 2),
        },
    )


if __name__ == "__main__":
    main()
