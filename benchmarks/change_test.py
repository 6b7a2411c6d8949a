"""How often is an agent called worse that is not, and how soon one that is? By simulation.

python benchmarks/change_test.py [lives]          # some ten minutes on one core for 400 lives

Sixty days of verdicts, in Poisson numbers a day. Contradiction rates are Bernoulli; reliabilities take the four values
that three runs can give. "Days that differ" draw each day's rate anew from a beta distribution, so that the verdicts of
a day depend on each other, which the test does not allow for. Changes come on day 20. The level is the one that users
get: a third of FALSE_ALARM for each of three figures. The numbers come from the code that users run: find_shifts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
from common import save

from likewise.evaluation.change import Change
from likewise.evaluation.trend import FALSE_ALARM, Reading, find_shifts

DAYS, AT = 60, 20
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LEVELS = np.array([1.0, 2 / 3, 1 / 3, 0.0])
Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def rate(before: float, after: float | None = None) -> Draw:
    """1 where runs do not contradict each other, with this rate of contradictions."""
    return lambda rng, day: (
        (rng.random(len(day)) >= np.where(day < AT, before, before if after is None else after)) * 1.0
    )


def levels(before: list[float], after: list[float] | None = None) -> Draw:
    """Reliabilities of three runs."""

    def draw(rng: np.random.Generator, day: np.ndarray) -> np.ndarray:
        early, late = (rng.choice(LEVELS, len(day), p=p) for p in (before, after or before))
        return np.where(day < AT, early, late)

    return draw


def by_day(mean: float, concentration: float) -> Draw:
    """A rate of its own for each day."""

    def draw(rng: np.random.Generator, day: np.ndarray) -> np.ndarray:
        rates = rng.beta(mean * concentration, (1 - mean) * concentration, DAYS)
        return (rng.random(len(day)) >= rates[day]) * 1.0

    return draw


STAYS: dict[str, Draw] = {
    "contradictions 2 %": rate(0.02),
    "contradictions 10 %": rate(0.1),
    "contradictions 50 %": rate(0.5),
    "reliability of three runs": levels([0.7, 0.2, 0.07, 0.03]),
    "days that differ a little (10 % +- 2 %)": by_day(0.1, 200),
    "days that differ (10 % +- 4 %)": by_day(0.1, 50),
}
CHANGES: dict[str, Draw] = {
    "contradictions 2 % to 10 %": rate(0.02, 0.1),
    "contradictions 10 % to 20 %": rate(0.1, 0.2),
    "contradictions 10 % to 30 %": rate(0.1, 0.3),
    "contradictions 10 % to 50 %": rate(0.1, 0.5),
    "reliability 0.86 to 0.72": levels([0.7, 0.2, 0.07, 0.03], [0.5, 0.25, 0.15, 0.1]),
}


def life(rng: np.random.Generator, draw: Draw, per_day: int, name: str) -> tuple[int | None, int | None]:
    """Day on which a change to the worse was confirmed, and day from which it was said to hold; None: not called."""
    day = np.repeat(np.arange(DAYS), rng.poisson(per_day, DAYS) + 1)
    values = draw(rng, day)
    readings = [
        Reading(f"{name}{i}", BEGIN + timedelta(days=int(d), seconds=i % 80_000), "1", f"task {i % 3}", float(value))
        for i, (d, value) in enumerate(zip(day.tolist(), values.tolist(), strict=True))
    ]
    readings.sort(key=lambda reading: reading.time)
    worse = [s for s in find_shifts(readings, higher_is_better=True).shifts if s.change is Change.WORSE]
    if not worse:
        return None, None
    return (worse[0].confirmed - BEGIN).days, (worse[0].since - BEGIN.date()).days


def main() -> None:
    """All of it."""
    lives = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    rng, started = np.random.default_rng(0), time.perf_counter()
    stays = {}
    for name, draw in STAYS.items():
        called = sum(life(rng, draw, 20, f"{name}{n}-")[0] is not None for n in range(lives))
        stays[name] = {"lives": lives, "called worse": called, "share": called / lives}
        print(f"{name:44} called worse in {called} of {lives}", flush=True)
    changes = {}
    for name, draw in CHANGES.items():
        for per_day in (5, 20, 100):
            some = max(20, lives // 8)
            found = [life(rng, draw, per_day, f"{name}{per_day}-{n}-") for n in range(some)]
            early = sum(at is not None and at < AT for at, _ in found)
            delays = [at - AT for at, _ in found if at is not None and at >= AT]
            off = [abs((since or 0) - AT) for at, since in found if at is not None and at >= AT]
            changes[f"{name}, {per_day} a day"] = {
                "lives": some,
                "called before the change": early,
                "found": len(delays),
                "median delay in days": float(np.median(delays)) if delays else None,
                "90 % within days": float(np.quantile(delays, 0.9)) if delays else None,
                "median error of the day named": float(np.median(off)) if off else None,
            }
            print(f"{name}, {per_day} a day: {changes[f'{name}, {per_day} a day']}", flush=True)
    save(
        "change_test",
        {
            "alpha of each figure": FALSE_ALARM / 3,
            "days": DAYS,
            "without a change, 20 verdicts a day": stays,
            f"with a change on day {AT}": changes,
            "seconds": round(time.perf_counter() - started),
        },
    )


if __name__ == "__main__":
    main()
