"""How often modes name the wrong answer, and how many runs they take: simulated, with classes known exactly.

    python benchmarks/sequential_stopping.py            # prints the table, writes results/sequential_stopping.json

An agent is a distribution over answer classes; the question is which class is its mode. `fixed k` and `adaptive` always
serve the largest class of what they ran (adaptive: 2 runs, 5 where they differ); `sequential` may also end undecided.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np

from likewise.reliability.policy import Evidence, Policy
from likewise.reliability.stopping import mode_is_settled

RESULTS = Path(__file__).parent / "results" / "sequential_stopping.json"
TRIALS = 20_000
SEED = 1
BUDGET = 12
AGENTS = {
    "1": (1.0,),
    ".95 .05": (0.95, 0.05),
    ".9 .1": (0.9, 0.1),
    ".8 .2": (0.8, 0.2),
    ".7 .3": (0.7, 0.3),
    ".6 .4": (0.6, 0.4),
    ".51 .49": (0.51, 0.49),
    ".6 .1 .1 .1 .1": (0.6, 0.1, 0.1, 0.1, 0.1),
    ".4 .3 .3": (0.4, 0.3, 0.3),
    ".28 and 8 of .09": (0.28,) + (0.09,) * 8,
}


def by_appearance(draws: tuple[int, ...]) -> tuple[int, ...]:
    """Classes numbered as they appear: what the rule looks at, and what makes its answers few enough to remember."""
    order = {kind: i for i, kind in enumerate(dict.fromkeys(draws))}
    return tuple(order[kind] for kind in draws)


@lru_cache(maxsize=2_000_000)
def settled(classes: tuple[int, ...], error: float) -> int | None:
    """What the rule says, remembered."""
    return mode_is_settled(classes, error)


def largest(draws: tuple[int, ...]) -> int:
    """The largest class; of equal ones the first, as served."""
    return Counter(draws).most_common(1)[0][0]


def sequential(draws: tuple[int, ...], error: float) -> tuple[int | None, int]:
    """The class named, if any, and the runs taken."""
    for n in range(4, BUDGET + 1):
        kind = settled(by_appearance(draws[:n]), error)
        if kind is not None:
            return list(dict.fromkeys(draws))[kind], n
    return None, BUDGET


def adaptive(draws: tuple[int, ...]) -> tuple[int, int]:
    """The class served and the runs taken."""
    same = draws[0] == draws[1]
    more = Policy("adaptive").next_step(Evidence(2, 1.0 if same else 0.0, False)).more
    return largest(draws[: 2 + more]), 2 + more


def measure(shares: tuple[float, ...], trials: int) -> dict[str, float]:
    """Rates over many queries to one agent; class 0 is its mode."""
    generator = np.random.default_rng(SEED)
    sequences = generator.choice(len(shares), size=(trials, BUDGET), p=shares).tolist()
    rows = [tuple(row) for row in sequences]
    fixed = [largest(row[:5]) for row in rows]
    quick = [adaptive(row) for row in rows]
    careful = [sequential(row, 0.1) for row in rows]
    strict = [sequential(row, 0.05) for row in rows]
    return {
        "fixed5_wrong": float(np.mean([kind != 0 for kind in fixed])),
        "adaptive_wrong": float(np.mean([kind != 0 for kind, _ in quick])),
        "adaptive_runs": float(np.mean([n for _, n in quick])),
        "sequential_wrong": float(np.mean([kind not in (0, None) for kind, _ in careful])),
        "sequential_undecided": float(np.mean([kind is None for kind, _ in careful])),
        "sequential_runs": float(np.mean([n for _, n in careful])),
        "sequential05_wrong": float(np.mean([kind not in (0, None) for kind, _ in strict])),
        "sequential05_undecided": float(np.mean([kind is None for kind, _ in strict])),
        "sequential05_runs": float(np.mean([n for _, n in strict])),
    }


def main() -> None:
    """Measure all agents, print the table, write the results."""
    results = {name: measure(shares, TRIALS) for name, shares in AGENTS.items()}
    print("| agent's classes | fixed 5: wrong | adaptive: wrong, runs | sequential .1: wrong, undecided, runs |")
    print("|---|---|---|---|")
    for name, r in results.items():
        print(
            f"| {name} | {r['fixed5_wrong']:.3f} | {r['adaptive_wrong']:.3f}, {r['adaptive_runs']:.1f} | "
            f"{r['sequential_wrong']:.3f}, {r['sequential_undecided']:.3f}, {r['sequential_runs']:.1f} |"
        )
    RESULTS.write_text(
        json.dumps({"trials": TRIALS, "seed": SEED, "budget": BUDGET, "agents": results}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
