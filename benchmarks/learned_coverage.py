"""Does the guarantee of `likewise calibrate` hold? Coverage of threshold and margin, by simulation.

python benchmarks/learned_coverage.py [--rounds 200] [--quick]

Tasks are what is drawn independently. Within a task everything is shared: its four runs make six pairs, a pair's
futures at two turns are sums over the same later turns, and the score of all its states is off by one common amount.
Three worlds: *informative* (the score follows the true divergence, with an error a task and an error a run), *blind*
(the score has nothing to do with it), *lumpy* (three tasks in ten go wrong in nearly all their states, and those are
short, so that counting states instead of tasks is wrong on average, too).

A claim is broken where the true risk at the threshold found is above the one claimed. The true risk is that of 40,000
further tasks. The numbers come from the code that users run: controlled_threshold and conformal_margin. The sister
rows make the same claim with every state passed off as a task of its own: their true risk lies nearer to the claim (in
tests/metrics/test_calibration.py is a world where such a claim breaks).
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from typing import NamedTuple

import numpy as np
from common import save

from likewise.metrics.calibration import conformal_margin, controlled_threshold

GAMMA, RUNS, DELTA = 0.8, 4, 1.0
WORLDS = ("informative", "blind", "lumpy")
SIZES = (30, 59, 100)
CLAIMS: tuple[tuple[float, float | None], ...] = ((0.05, 0.95), (0.2, 0.95), (0.2, 0.9), (0.1, None))
SISTER = (30, (0.2, 0.9))
"""Size and claim that are also made with states passed off as tasks."""
POOL = 40_000
FIRST, SECOND = np.array(list(combinations(range(RUNS), 2))).T


class World(NamedTuple):
    """States of many tasks: task, score, share of pairs that went wrong from there, measured divergence."""

    task: np.ndarray
    score: np.ndarray
    bad: np.ndarray
    measured: np.ndarray


def draw(world: str, tasks: int, rng: np.random.Generator) -> World:
    """Draw tasks with all their runs, and score every state."""
    columns: list[tuple[np.ndarray, ...]] = []
    lump = rng.random(tasks) < 0.3
    turns = np.where(lump, 3, rng.integers(6, 13, tasks)) if world == "lumpy" else rng.integers(4, 11, tasks)
    agreement = np.where(lump, 0.2, 0.995) if world == "lumpy" else rng.beta(4, 0.6, tasks)
    for length in np.unique(turns):
        mine = np.flatnonzero(turns == length)
        leaves = rng.random((len(mine), RUNS, length)) >= agreement[mine, None, None]
        action = np.where(leaves, rng.integers(1, 4, leaves.shape), 0)
        distance = (action[:, FIRST] != action[:, SECOND]).astype(np.float64)
        ahead = np.zeros(distance.shape)
        total = np.zeros(distance.shape[:2])
        for t in reversed(range(length)):
            total = distance[..., t] + GAMMA * total
            ahead[..., t] = total
        bad, measured = (
            np.stack([each[:, (run == FIRST) | (run == SECOND)].mean(axis=1) for run in range(RUNS)], axis=1)
            for each in (ahead > DELTA, ahead)
        )
        left = (1 - GAMMA ** np.arange(length, 0, -1)) / (1 - GAMMA)
        expected = (1 - agreement[mine] ** 2)[:, None, None] * left
        error = rng.normal(0, 0.4, (len(mine), 1, 1)) + rng.normal(0, 0.2, (len(mine), RUNS, 1))
        score = np.maximum(expected + error, 0.0)
        if world != "informative":
            score = rng.random(bad.shape) + 0.5 * rng.random((len(mine), 1, 1))
        columns.append((np.repeat(mine, RUNS * length), *(each.reshape(-1) for each in (score, bad, measured))))
    return World(*(np.concatenate(column) for column in zip(*columns, strict=True)))


class Truth:
    """The risk of every threshold, and of every margin, in a large number of tasks."""

    def __init__(self, world: str, rng: np.random.Generator) -> None:
        """Sort the states of the pool by score."""
        pool = draw(world, POOL, rng)
        share = pool.bad / np.bincount(pool.task)[pool.task] / POOL
        order = np.argsort(pool.score)
        self.scores = pool.score[order]
        self.risks = np.concatenate([[0.0], np.cumsum(share[order])])
        miss = np.full(POOL, -np.inf)
        np.maximum.at(miss, pool.task, pool.measured - pool.score)
        self.misses = np.sort(miss)

    def risk(self, threshold: float) -> float:
        """Expected share of a task's run pairs let through that go wrong."""
        return float(self.risks[np.searchsorted(self.scores, threshold, side="right")])

    def below(self, margin: float) -> float:
        """Share of tasks with all states below score + margin."""
        return float(np.searchsorted(self.misses, margin, side="right") / POOL)


def thresholds(world: str, truth: Truth, size: int, rounds: int, rng: np.random.Generator) -> list[dict[str, object]]:
    """Each claim on the same calibration sets of one size."""
    found: dict[tuple[float, float | None, bool], list[float | None]] = {}
    reasons: dict[tuple[float, float | None], str | None] = {}
    for _ in range(rounds):
        drawn = draw(world, size, rng)
        for at_most, confidence in CLAIMS:
            for by_state in (False, True) if (size, (at_most, confidence)) == SISTER else (False,):
                task = np.arange(len(drawn.task)) if by_state else drawn.task
                answer = controlled_threshold(task, drawn.score, drawn.bad, at_most, confidence)
                risk = None if answer.value is None else truth.risk(answer.value)
                found.setdefault((at_most, confidence, by_state), []).append(risk)
                if not by_state and answer.value is None:
                    reasons[at_most, confidence] = answer.reason
    rows = []
    for (at_most, confidence, by_state), risks in found.items():
        made = np.array([risk for risk in risks if risk is not None])
        rows.append(
            {
                "world": world,
                "tasks": size,
                "at_most": at_most,
                "confidence": confidence,
                "unit": "state (wrong)" if by_state else "task",
                "claims_made": len(made),
                "held": round(1 - float((made > at_most).sum()) / rounds, 4),
                "mean_true_risk": round(float(made.sum()) / rounds, 4),
                "refused_because": None if len(made) == rounds or by_state else reasons[at_most, confidence],
            }
        )
    return rows


def margins(world: str, truth: Truth, size: int, rounds: int, rng: np.random.Generator) -> dict[str, object]:
    """How often all states of a new task lie below the upper limit, on average over calibration sets."""
    held = []
    for _ in range(rounds):
        drawn = draw(world, size, rng)
        misses = np.full(size, -np.inf)
        np.maximum.at(misses, drawn.task, drawn.measured - drawn.score)
        margin = conformal_margin(misses, 0.95)
        if margin is None:
            break
        held.append(truth.below(margin))
    return {"world": world, "tasks": size, "confidence": 0.95, "held": round(float(np.mean(held)), 4) if held else None}


def of_world(number: int, rounds: int) -> tuple[list[dict[str, object]], list[dict[str, object]], float]:
    """All sizes and claims in one world; and the processor seconds."""
    began, rng = time.process_time(), np.random.default_rng((7, number))
    truth = Truth(WORLDS[number], rng)
    rows: list[dict[str, object]] = []
    margin_rows: list[dict[str, object]] = []
    for size in SIZES:
        rows += thresholds(WORLDS[number], truth, size, rounds, rng)
        margin_rows.append(margins(WORLDS[number], truth, size, rounds, rng))
        print(WORLDS[number], size, round(time.process_time() - began, 1), flush=True)
    return rows, margin_rows, time.process_time() - began


def worst(rows: list[dict[str, object]], margin_rows: list[dict[str, object]]) -> dict[str, object]:
    """The figures that decide."""
    sure = [row for row in rows if row["confidence"] is not None]
    by_task = [row for row in sure if row["unit"] == "task" and row["claims_made"]]
    by_state = [row for row in sure if row["unit"] != "task"]
    average = [row for row in rows if row["confidence"] is None and row["unit"] == "task"]
    return {
        "held_minus_confidence_lowest": min(round(row["held"] - row["confidence"], 4) for row in by_task),
        "the_same_with_states_as_tasks": min(round(row["held"] - row["confidence"], 4) for row in by_state),
        "on_average_true_risk_minus_claim_highest": max(
            round(row["mean_true_risk"] - row["at_most"], 4) for row in average
        ),
        "margin_held_lowest": min(row["held"] for row in margin_rows if row["held"] is not None),
    }


def main() -> None:
    """All worlds, sizes and claims."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    rounds = 20 if given.quick else given.rounds
    with ProcessPoolExecutor(given.processes) as pool:
        answers = list(pool.map(of_world, range(len(WORLDS)), [rounds] * len(WORLDS)))
    rows = [row for thresholds_of, _, _ in answers for row in thresholds_of]
    margin_rows = [row for _, margins_of, _ in answers for row in margins_of]
    save(
        "learned_coverage" + ("_quick" if given.quick else ""),
        {
            "rounds": rounds,
            "worst": worst(rows, margin_rows),
            "processor_seconds": round(sum(seconds for _, _, seconds in answers), 1),
            "thresholds": rows,
            "margins": margin_rows,
        },
    )


if __name__ == "__main__":
    main()
