"""When agents became worse or better: what is known already, and what their newest verdicts add to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from likewise.core.estimate import Estimate
from likewise.evaluation.change import Change
from likewise.evaluation.trend import Shift, Trend, find_shifts
from likewise.service.figures import FIGURES, Figure, readings_of
from likewise.store.alerts import Alert
from likewise.store.store import Store

__all__ = [
    "MOST_READINGS",
    "RECOVERED",
    "agent_trends",
    "aligned_start",
    "record_shifts",
    "recorded_trends",
    "shift_of",
    "window_start",
]

MOST_READINGS = 50_000
"""Newest verdicts of an agent that are tested for a change."""
NEWS_FOR = timedelta(days=7)
"""A regression confirmed longer ago (by verdicts that were brought in later) is recorded, and nobody is told."""
RECOVERED = ".better"
"""Ends the metric of a change to the better, which is recorded beside the regressions and tells nobody."""


def agent_trends(
    store: Store, agent: str, retention_days: int | None = None, now: datetime | None = None
) -> dict[str, Trend]:
    """The changes of each figure of an agent.

    Changes that were recorded stay; the test goes on with the verdicts after the last of them.

    Args:
        store: The history.
        agent: Whose.
        retention_days: How long verdicts are kept; None: for ever.
        now: The present, in UTC.

    Raises:
        StoreUnavailableError: The history cannot be read.
    """
    since = window_start(now or datetime.now(UTC), retention_days)
    known = _known(store, agent)
    observations = store.trends.observations(agent, since=since, limit=MOST_READINGS)
    if len(observations) == MOST_READINGS:  # there may be more
        begin = aligned_start(observations[0].created, observations[-1].created)
        observations = [one for one in observations if one.created >= begin]
    return {
        figure.metric: _continued(
            known[figure.metric],
            find_shifts(
                readings_of(
                    [one for one in observations if _after(one.created, known[figure.metric])],
                    figure,
                ),
                higher_is_better=figure.higher_is_better,
            ),
        )
        for figure in FIGURES
    }


def recorded_trends(store: Store, agent: str) -> dict[str, Trend]:
    """The changes of each figure that were recorded, without a look at the verdicts.

    Raises:
        StoreUnavailableError: The history cannot be read.
    """
    return {metric: Trend(tuple(shifts), 0, 0.0) for metric, shifts in _known(store, agent).items()}


def _after(time: datetime, shifts: list[Shift]) -> bool:
    return not shifts or time > shifts[-1].confirmed


def _continued(known: list[Shift], newer: Trend) -> Trend:
    return Trend((*known, *newer.shifts), newer.readings, newer.doubt)


def _known(store: Store, agent: str) -> dict[str, list[Shift]]:
    """Recorded changes by metric, in order of time."""
    found: dict[str, list[Shift]] = {figure.metric: [] for figure in FIGURES}
    for alert in store.alerts.list(agent=agent, limit=500):
        shift, metric = shift_of(alert), alert.metric.removesuffix(RECOVERED)
        if shift is not None and metric in found:
            found[metric].append(shift)
    return {metric: sorted(shifts, key=lambda shift: shift.confirmed) for metric, shifts in found.items()}


def window_start(now: datetime, retention_days: int | None) -> datetime | None:
    """From where on verdicts are tested; None where all are kept.

    Old verdicts go day by day, and a test that began anew each day would have a chance to be wrong each day. So it
    begins anew only once in a quarter of the time that verdicts are kept (a week at least).
    """
    if retention_days is None:
        return None
    oldest = now - timedelta(days=retention_days)
    step = timedelta(days=max(7, retention_days // 4))
    epoch = datetime(2020, 1, 6, tzinfo=UTC)
    return min(epoch + step * -((epoch - oldest) // step), now)


def aligned_start(oldest: datetime, newest: datetime) -> datetime:
    """The same where there are too many verdicts to test all: a start that stays while the newest ones move on.

    The first multiple, after the oldest, of a step between an eighth and a quarter of the time that they span.
    """
    seconds = (newest - oldest).total_seconds()
    step = 2.0 ** math.floor(math.log2(max(seconds, 4.0) / 4))
    return datetime.fromtimestamp(math.ceil(oldest.timestamp() / step) * step, UTC)


def record_shifts(store: Store, agent: str, trends: Mapping[str, Trend], now: datetime | None = None) -> list[Alert]:
    """Write down the changes that are not yet; each once, whichever process comes first.

    Returns:
        The regressions that are new and that this process is the one to have confirmed.

    Raises:
        StoreUnavailableError: The history cannot be written.
    """
    now = now or datetime.now(UTC)
    confirmed = []
    for figure in FIGURES:
        known = len(_known(store, agent)[figure.metric])
        for shift in trends[figure.metric].shifts[known:]:
            alert = _record(store, agent, figure, shift, now)
            if alert is not None:
                confirmed.append(alert)
    return confirmed


def _record(store: Store, agent: str, figure: Figure, shift: Shift, now: datetime) -> Alert | None:
    worse = shift.change is Change.WORSE
    metric = figure.metric if worse else figure.metric + RECOVERED
    alert = store.alerts.open(agent, shift.version, metric, shift.since, _details(shift))
    if worse and now - shift.confirmed <= NEWS_FOR:
        return alert if store.alerts.confirm(alert.id, _details(shift)) else None
    store.alerts.close(alert.id)
    if not worse:
        for earlier in store.alerts.list(agent=agent, state="confirmed"):
            before = shift_of(earlier)
            if earlier.metric == figure.metric and before is not None and before.confirmed < shift.confirmed:
                store.alerts.close(earlier.id)
    return None


def _details(shift: Shift) -> dict[str, Any]:
    return {
        "change": shift.change.value,
        "since": shift.since.isoformat(),
        "version": shift.version,
        "with_version": shift.with_version,
        "confirmed": shift.confirmed.isoformat(),
        "before": shift.before.as_json(),
        "after": shift.after.as_json(),
    }


def shift_of(alert: Alert) -> Shift | None:
    """The change that an alert tells of; None where it was written by something else."""
    held = alert.details
    try:
        return Shift(
            Change(held["change"]),
            date.fromisoformat(held["since"]),
            str(held["version"]),
            bool(held["with_version"]),
            datetime.fromisoformat(held["confirmed"]),
            Estimate(**held["before"]),
            Estimate(**held["after"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
