"""Numbers over time: by agent, day, version and task. Days past retention count on through what was kept of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, NamedTuple, cast

from sqlalchemy import ColumnElement, Row, and_, func, literal, or_, select

from likewise.core.estimate import Estimate
from likewise.metrics.bounded_mean import bounded_mean
from likewise.metrics.resampling import wilson_share
from likewise.store.engine import Database
from likewise.store.models import DailyRow, VerdictRow
from likewise.store.pages import Page, cursor_of, decode_cursor, within
from likewise.store.tally import KEPT, SUMS, Tally

__all__ = ["AgentSummary", "Observed", "SeriesPoint", "TaskSummary", "Trends"]

LAST = 2.0
"""Where tasks without a reliability stand in a list by reliability, which is at most 1."""


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent.

    Attributes:
        agent: Its name.
        versions: Its versions, the latest seen first.
        verdicts: Queries, those that failed included.
        failed: Queries without any answer.
        refused: Answers that were withheld.
        first: Time of its first verdict.
        last: Time of its last.
        reliability: Mean over the verdicts where it was measured.
        contradiction_rate: Share of verdicts with a critical contradiction, of those where a pair was judged.
        divergence: Mean divergence of two answers (RSD of one turn).
    """

    agent: str
    versions: tuple[str, ...]
    verdicts: int
    failed: int
    refused: int
    first: datetime
    last: datetime
    reliability: Estimate
    contradiction_rate: Estimate
    divergence: Estimate


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One day or one version of an agent; numbers as in `AgentSummary`, `measured` the verdicts with a reliability."""

    day: date | None
    version: str | None
    first: datetime
    last: datetime
    verdicts: int
    failed: int
    refused: int
    judged: int
    contradictory: int
    measured: int
    reliability: Estimate
    contradiction_rate: Estimate
    divergence: Estimate


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """One task of an agent; `query` is one of its queries, as lists show it."""

    task: str
    query: str
    verdicts: int
    runs: int
    last: datetime
    reliability: Estimate
    contradiction_rate: Estimate


class Observed(NamedTuple):
    """One verdict as a change test needs it; `runs` are good runs, `contradictory` is None where no pair was judged."""

    id: str
    created: datetime
    version: str
    task: str
    runs: int
    reliability: float | None
    contradictory: bool | None
    divergence: float | None


class Trends:
    """The numbers of a database."""

    def __init__(self, database: Database) -> None:
        """Read from here."""
        self._database = database

    def agents(self, since: datetime | None = None) -> list[AgentSummary]:
        """All agents, the last active first.

        Args:
            since: Count verdicts from then on; of days past retention, whole days.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        tallies = self._tallies(
            (VerdictRow.agent, VerdictRow.version), (DailyRow.agent, DailyRow.version), None, since, None
        )
        by_agent: dict[str, dict[str, Tally]] = defaultdict(dict)
        for (agent, version), tally in tallies.items():
            by_agent[agent][version] = tally
        found = [_agent(agent, versions) for agent, versions in by_agent.items()]
        return sorted(found, key=lambda each: (each.last, each.agent), reverse=True)

    def series(
        self,
        agent: str,
        by: Literal["day", "version"] = "day",
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        version: str | None = None,
    ) -> list[SeriesPoint]:
        """An agent over time.

        Args:
            agent: Which.
            by: A point a day, or a point a version.
            since: From then on.
            until: Before then.
            version: Of one version alone.

        Returns:
            Days in their order; versions in the order in which they were first seen.

        Raises:
            ValueError: Neither by day nor by version.
            StoreUnavailableError: The database cannot be read.
        """
        if by not in ("day", "version"):
            raise ValueError(f"a series is by day or by version, got {by!r}")
        of = agent, version
        tallies = self._tallies((getattr(VerdictRow, by),), (getattr(DailyRow, by),), of, since, until)
        points = [_point(key[0], by, tally) for key, tally in tallies.items()]
        return sorted(points, key=lambda point: (point.day or point.first.date(), point.first))

    def tasks(
        self, agent: str, version: str | None = None, *, after: str | None = None, limit: int = 50
    ) -> Page[TaskSummary]:
        """The tasks of an agent whose verdicts are still there, the least reliable first.

        Raises:
            ValueError: A cursor or limit that cannot be.
            StoreUnavailableError: The database cannot be read.
        """
        rank = func.coalesce(func.avg(VerdictRow.reliability), literal(LAST)).label("rank")
        columns = (
            VerdictRow.task,
            func.min(VerdictRow.query).label("query"),
            func.sum(VerdictRow.runs).label("runs"),
            rank,
        )
        statement = select(*columns, *SUMS).where(VerdictRow.agent == agent).group_by(VerdictRow.task)
        if version is not None:
            statement = statement.where(VerdictRow.version == version)
        if after is not None:
            worse, task = decode_cursor(after, (float, str))
            statement = statement.having(or_(rank.element > worse, and_(rank.element == worse, VerdictRow.task > task)))
        with self._database.reading() as connection:
            rows = connection.execute(statement.order_by(rank, VerdictRow.task).limit(within(limit) + 1)).all()
        more = cursor_of(float(rows[limit - 1].rank), rows[limit - 1].task) if len(rows) > limit else None
        return Page(tuple(_task(row) for row in rows[:limit]), more)

    def observations(self, agent: str, since: datetime | None = None, *, limit: int = 100_000) -> list[Observed]:
        """The verdicts of an agent as a change test needs them, the oldest first.

        Args:
            agent: Which.
            since: From then on.
            limit: Where there are more, the newest.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        row = VerdictRow
        statement = select(
            row.id, row.created, row.version, row.task, row.runs, row.runs_failed, row.reliability, row.contradiction,
            row.contradictory, row.divergence,
        ).where(row.agent == agent)  # fmt: skip
        if since is not None:
            statement = statement.where(row.created >= since)
        statement = statement.order_by(row.created.desc(), row.id.desc()).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(statement).all()
        return [
            Observed(
                r.id, r.created, r.version, r.task, r.runs - r.runs_failed, r.reliability,
                None if r.contradiction is None else r.contradictory, r.divergence,
            )
            for r in reversed(rows)
        ]  # fmt: skip

    def _tallies(
        self,
        live: Sequence[Any],
        kept: Sequence[Any],
        of: tuple[str, str | None] | None,
        since: datetime | None,
        until: datetime | None,
    ) -> dict[tuple[Any, ...], Tally]:
        """Counts and sums by key, of the verdicts that are there and of those that were."""
        with self._database.reading() as connection:  # one moment: retention moves rows from one table to the other
            rows = [
                *connection.execute(
                    select(*live, *SUMS).where(*_of(VerdictRow, of), *_live_span(since, until)).group_by(*live)
                ),
                *connection.execute(
                    select(*kept, *KEPT).where(*_of(DailyRow, of), *_kept_span(since, until)).group_by(*kept)
                ),
            ]
        tallies: dict[tuple[Any, ...], Tally] = {}
        for row in rows:
            key, tally = tuple(row[: len(live)]), Tally.of(row)
            tallies[key] = tallies[key] + tally if key in tallies else tally
        return tallies


def _of(table: type[VerdictRow] | type[DailyRow], of: tuple[str, str | None] | None) -> list[ColumnElement[bool]]:
    if of is None:
        return []
    agent, version = of
    return [table.agent == agent] + ([] if version is None else [table.version == version])


def _live_span(since: datetime | None, until: datetime | None) -> list[ColumnElement[bool]]:
    return ([] if since is None else [VerdictRow.created >= since]) + (
        [] if until is None else [VerdictRow.created < until]
    )


def _kept_span(since: datetime | None, until: datetime | None) -> list[ColumnElement[bool]]:
    return ([] if since is None else [DailyRow.day >= since.date()]) + (
        [] if until is None else [DailyRow.day < until.date()]
    )


def _estimates(tally: Tally) -> dict[str, Estimate]:
    return {
        "reliability": bounded_mean(tally.reliability_sum, tally.reliability_squares, tally.measured, "reliability"),
        "contradiction_rate": wilson_share(tally.contradictory, tally.judged, "pair of runs"),
    }


def _divergence(tally: Tally) -> Estimate:
    return bounded_mean(tally.divergence_sum, tally.divergence_squares, tally.diverging, "divergence")


def _agent(agent: str, versions: dict[str, Tally]) -> AgentSummary:
    whole = _total(versions.values())
    newest_first = sorted(versions, key=lambda name: (versions[name].last, name), reverse=True)
    return AgentSummary(
        agent, tuple(newest_first), whole.verdicts, whole.failed, whole.refused, whole.first, whole.last,
        **_estimates(whole), divergence=_divergence(whole),
    )  # fmt: skip


def _total(tallies: Iterable[Tally]) -> Tally:
    first, *others = tallies
    for each in others:
        first = first + each
    return first


def _point(key: object, by: str, tally: Tally) -> SeriesPoint:
    return SeriesPoint(
        cast(date, key) if by == "day" else None, cast(str, key) if by == "version" else None,
        tally.first, tally.last, tally.verdicts, tally.failed, tally.refused, tally.judged,
        tally.contradictory, tally.measured,
        **_estimates(tally), divergence=_divergence(tally),
    )  # fmt: skip


def _task(row: Row[Any]) -> TaskSummary:
    tally = Tally.of(row)
    return TaskSummary(row.task, row.query, tally.verdicts, int(row.runs), tally.last, **_estimates(tally))
