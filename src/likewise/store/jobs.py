"""Work that a request asked for and does not wait for; any replica may do it, and one takes over where another died."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Select, and_, delete, insert, or_, select, tuple_, update

from likewise.core.rollout import JsonValue
from likewise.store.engine import Database
from likewise.store.models import JobRow
from likewise.store.pages import Page, cursor_of, decode_cursor, within
from likewise.store.redaction import Redactor

__all__ = ["Job", "JobState", "Jobs"]

MOST_TRIES = 3
"""Workers that may die over one job before it counts as failed."""


class JobState(StrEnum):
    """How far a job is."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """A job without its payload and result.

    Attributes:
        id: Names it.
        kind: What is to be done.
        state: How far it is.
        owner: Who asked for it.
        created: When it was asked for.
        started: When a worker last took it; None while none has.
        finished: When it ended, however it did.
        lease: Until when its worker has to give a sign of life.
        worker: Who does it.
        tries: How many workers have taken it.
        done: Steps done.
        total: Steps in all; None where nobody knows.
        what: What is going on, in words.
        params: How it is to be done.
        error: Why it failed.
    """

    id: str
    kind: str
    state: JobState
    owner: str
    created: datetime
    started: datetime | None
    finished: datetime | None
    lease: datetime | None
    worker: str | None
    tries: int
    done: int
    total: int | None
    what: str
    params: Mapping[str, Any]
    error: str | None


_NARROW = [getattr(JobRow, name) for name in Job.__dataclass_fields__]


class Jobs:
    """The jobs of a database."""

    def __init__(self, database: Database, redactor: Redactor) -> None:
        """Keep them here."""
        self._database, self._redactor = database, redactor

    def add(
        self,
        kind: str,
        params: Mapping[str, JsonValue],
        *,
        owner: str = "",
        payload: bytes = b"",
        id: str | None = None,
    ) -> Job:
        """Ask for work.

        Args:
            kind: What is to be done.
            params: How; no secrets.
            owner: Who asks.
            payload: What it is to be done with. It is kept as it is until the job has ended: no secrets.
            id: A name of the caller's; a new one where None.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        name = uuid4().hex if id is None else id
        values = {
            "id": name,
            "kind": kind,
            "state": JobState.QUEUED.value,
            "owner": owner,
            "created": datetime.now(UTC),
        }
        values |= {"tries": 0, "done": 0, "what": "", "params": self._redactor.value(dict(params)), "payload": payload}
        with self._database.writing() as connection:
            connection.execute(insert(JobRow).values(**values))
            return _one(connection, name)

    def get(self, id: str) -> Job | None:
        """A job; None where there is none of that name.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            row = connection.execute(_jobs().where(JobRow.id == id)).one_or_none()
        return None if row is None else _job(row)

    def page(
        self, *, owner: str | None = None, kind: str | None = None, after: str | None = None, limit: int = 50
    ) -> Page[Job]:
        """Jobs, the newest first.

        Raises:
            ValueError: A cursor or limit that cannot be.
            StoreUnavailableError: The database cannot be read.
        """
        statement = _jobs()
        for name, value in (("owner", owner), ("kind", kind)):
            if value is not None:
                statement = statement.where(getattr(JobRow, name) == value)
        if after is not None:
            statement = statement.where(
                tuple_(JobRow.created, JobRow.id) < tuple_(*decode_cursor(after, (datetime, str)))
            )
        statement = statement.order_by(JobRow.created.desc(), JobRow.id.desc()).limit(within(limit) + 1)
        with self._database.reading() as connection:
            jobs = [_job(row) for row in connection.execute(statement)]
        last = jobs[limit - 1] if len(jobs) > limit else None
        return Page(tuple(jobs[:limit]), None if last is None else cursor_of(last.created, last.id))

    def payload(self, id: str) -> bytes | None:
        """What a job is to be done with; None where there is no such job, b"" where it has ended.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            return connection.execute(select(JobRow.payload).where(JobRow.id == id)).scalar_one_or_none()

    def result(self, id: str) -> str | None:
        """What came of a job; None where nothing has.

        Raises:
            StoreUnavailableError: The database cannot be read.
        """
        with self._database.reading() as connection:
            return connection.execute(select(JobRow.result).where(JobRow.id == id)).scalar_one_or_none()

    def claim(self, worker: str, *, kind: str | None = None, lease: float = 60.0) -> Job | None:
        """Take the oldest job that waits, or whose worker gave no sign of life within its lease.

        Args:
            worker: Who takes it.
            kind: Jobs of this kind alone.
            lease: Seconds within which `beat` must be called.

        Returns:
            The job, which no other worker has; None where there is nothing to do.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        now = datetime.now(UTC)
        free = or_(
            JobRow.state == JobState.QUEUED.value, and_(JobRow.state == JobState.RUNNING.value, JobRow.lease < now)
        )
        statement = select(JobRow.id, JobRow.tries).where(free).order_by(JobRow.created, JobRow.id).limit(1)
        if kind is not None:
            statement = statement.where(JobRow.kind == kind)
        with self._database.writing() as connection:
            while True:
                found = connection.execute(statement.with_for_update(skip_locked=True)).one_or_none()
                if found is None:
                    return None
                if found.tries < MOST_TRIES:
                    break
                _end(connection, found.id, JobState.FAILED, error=f"{MOST_TRIES} workers ended before they were done")
            values = {
                "state": JobState.RUNNING.value,
                "worker": worker,
                "started": now,
                "done": 0,
                "tries": found.tries + 1,
            }
            values["lease"] = now + timedelta(seconds=lease)
            connection.execute(update(JobRow).where(JobRow.id == found.id).values(**values))
            return _one(connection, found.id)

    def beat(
        self,
        id: str,
        worker: str,
        *,
        done: int | None = None,
        total: int | None = None,
        what: str | None = None,
        lease: float = 60.0,
    ) -> bool:
        """Give a sign of life. False: the job was cancelled, or another worker has it; stop.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        values = _given(done, total, what)
        values["lease"] = datetime.now(UTC) + timedelta(seconds=lease)
        with self._database.writing() as connection:
            return connection.execute(update(JobRow).where(_mine(id, worker)).values(**values)).rowcount == 1

    def finish(
        self,
        id: str,
        worker: str,
        result: str,
        *,
        done: int | None = None,
        total: int | None = None,
        what: str | None = None,
    ) -> bool:
        """Give the result, without secrets. False: the job is no longer this worker's, and the result is dropped.

        Args:
            id: The job.
            worker: Whose it is.
            result: What came of it.
            done: Steps done in the end; as of the last sign of life where None, and so are the next two.
            total: Steps in all.
            what: What was done last, in words.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            return _end(
                connection, id, JobState.DONE, worker, result=self._redactor.text(result), **_given(done, total, what)
            )

    def fail(self, id: str, worker: str, error: str) -> bool:
        """Say why there is no result. False: the job is no longer this worker's.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            return _end(connection, id, JobState.FAILED, worker, error=self._redactor.text(error))

    def release(self, id: str, worker: str) -> bool:
        """Put a job back that this worker will not finish, such as one that shuts down; it does not count as a try.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        values = {"state": JobState.QUEUED.value, "worker": None, "lease": None, "done": 0, "tries": JobRow.tries - 1}
        with self._database.writing() as connection:
            return connection.execute(update(JobRow).where(_mine(id, worker)).values(**values)).rowcount == 1

    def cancel(self, id: str) -> bool:
        """Have a job not be done; whether it had not ended yet.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            return _end(connection, id, JobState.CANCELLED)

    def delete_older_than(self, moment: datetime) -> int:
        """Delete jobs that ended before then; how many.

        Raises:
            StoreUnavailableError: The database cannot be written.
        """
        with self._database.writing() as connection:
            return connection.execute(delete(JobRow).where(JobRow.finished < moment)).rowcount


def _jobs() -> Select[Any]:
    return select(*_NARROW)


def _one(connection: Connection, id: str) -> Job:
    return _job(connection.execute(_jobs().where(JobRow.id == id)).one())


def _job(row: Any) -> Job:  # noqa: ANN401 - a row of the narrow columns
    return Job(**{**row._mapping, "state": JobState(row.state)})


def _mine(id: str, worker: str) -> Any:  # noqa: ANN401 - a condition
    return and_(JobRow.id == id, JobRow.worker == worker, JobRow.state == JobState.RUNNING.value)


def _given(done: int | None, total: int | None, what: str | None) -> dict[str, Any]:
    given = {"done": done, "total": total, "what": what}
    return {name: value for name, value in given.items() if value is not None}


def _end(
    connection: Connection,
    id: str,
    state: JobState,
    worker: str | None = None,
    *,
    result: str | None = None,
    error: str | None = None,
    **more: Any,  # noqa: ANN401 - values of further columns
) -> bool:
    """End a job that has not ended; its payload goes, for nobody needs it any more."""
    condition = and_(JobRow.id == id, JobRow.finished.is_(None)) if worker is None else _mine(id, worker)
    values = {
        "state": state.value,
        "finished": datetime.now(UTC),
        "result": result,
        "error": error,
        "payload": b"",
    } | more
    return connection.execute(update(JobRow).where(condition).values(**values)).rowcount == 1
