"""The history, opened: what is written and read goes through here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

from sqlalchemy import text

from likewise.store.alerts import Alerts
from likewise.store.audit import Audit
from likewise.store.engine import Database, default_url, parse_url
from likewise.store.insert import insert_rows
from likewise.store.jobs import Jobs
from likewise.store.keys import Keys
from likewise.store.migrate import check
from likewise.store.migrate import upgrade as upgrade_database
from likewise.store.records import VerdictRecord, VerdictRows
from likewise.store.redaction import Redactor, TextHook
from likewise.store.retention import Retention
from likewise.store.settings import Settings
from likewise.store.trends import Trends
from likewise.store.users import Users
from likewise.store.verdicts import Verdicts

__all__ = ["Store"]


class Store:
    """A database of verdicts and of what a service keeps beside them. Safe to use from several threads.

    Attributes:
        where: Its address without the password.
        redactor: Takes secrets out of all that is written.
        verdicts: Reads verdicts, their runs, and rollouts of a task.
        trends: Numbers by agent, day, version and task.
        retention: Deletes what is old.
        jobs: Work that a request asked for and does not wait for.
        alerts: Suspected and confirmed regressions.
        keys: API keys.
        users: Who may open the dashboard, and who has.
        settings: What an administrator set in the dashboard.
        audit: Administrative acts.
    """

    def __init__(self, database: Database, redactor: Redactor) -> None:
        """Take a database that is of this version's layout; `open` sees to it."""
        self.database, self.redactor, self.where = database, redactor, database.where
        self.verdicts, self.trends = Verdicts(database), Trends(database)
        self.retention = Retention(database)
        self.jobs, self.alerts = Jobs(database, redactor), Alerts(database, redactor)
        self.audit = Audit(database, redactor)
        self.keys, self.users = Keys(database, self.audit, redactor), Users(database, self.audit)
        self.settings = Settings(database, self.audit, redactor)

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        upgrade: bool = True,
        redact: TextHook | None = None,
        secrets: Iterable[str] = (),
    ) -> Store:
        """Open a history.

        Args:
            url: `sqlite:///file` or `postgresql://...`; LIKEWISE_DATABASE_URL, else a file in the user's data folder,
                where None.
            upgrade: Bring it to this version's layout; if not, one of another layout is refused.
            redact: Applied to every text before it is written.
            secrets: Secrets by value that are taken out of every text.

        Raises:
            ConfigError: No such address.
            MissingExtraError: PostgreSQL's driver is not installed.
            StoreUnavailableError: The database does not answer, or has another layout.
        """
        database = Database(parse_url(default_url() if url is None else url))
        try:
            (upgrade_database if upgrade else check)(database)
        except BaseException:
            database.close()
            raise
        return cls(database, Redactor(redact, secrets))

    def ping(self) -> None:
        """Ask the database for a sign of life.

        Raises:
            StoreUnavailableError: There is none.
        """
        with self.database.reading() as connection:
            connection.execute(text("SELECT count(*) FROM settings")).scalar_one()

    def write(self, records: Sequence[VerdictRecord]) -> int:
        """Write verdicts in one transaction, without secrets; durable on return. Returns how many were new.

        Raises:
            StoreUnavailableError: The database cannot be written; nothing is.
        """
        return self.write_rows([record.rows(self.redactor) for record in records])

    def write_rows(self, rows: Sequence[VerdictRows]) -> int:
        """The same of rows that are ready.

        Raises:
            StoreUnavailableError: The database cannot be written; nothing is.
        """
        return insert_rows(self.database, rows)

    def close(self) -> None:
        """Close all connections. Closing twice does no harm."""
        self.database.close()

    def __enter__(self) -> Store:
        """The store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
