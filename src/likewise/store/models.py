"""The tables. A change here needs a migration beside it: a test compares the two."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, MetaData, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from likewise.store.columns import Json, PlainText, UtcTime

__all__ = [
    "AlertRow",
    "ApiKeyRow",
    "AuditRow",
    "Base",
    "ClashRow",
    "DailyRow",
    "DeliveryRow",
    "JobRow",
    "LoginFailureRow",
    "RunRow",
    "SessionRow",
    "SettingRow",
    "UserRow",
    "VerdictRow",
]

_BIG = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up only what is called INTEGER


class Base(DeclarativeBase):
    """All tables; constraints have names, so that a migration can take them away again."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {str: PlainText, datetime: UtcTime, dict[str, Any]: Json}  # noqa: RUF012 - SQLAlchemy's way


class VerdictRow(Base):
    """One verdict: what lists and trends need as columns, all of it as `body`."""

    __tablename__ = "verdicts"
    __table_args__ = (
        Index("ix_verdicts_created_id", "created", "id"),
        Index("ix_verdicts_agent_created_id", "agent", "created", "id"),
        Index("ix_verdicts_agent_task_created", "agent", "task", "created"),
        # All that trends add up, so that they never read the rows, which are long.
        Index(
            "ix_verdicts_trends",
            *("agent", "version", "day", "created", "decision"),
            *("contradiction", "contradictory", "reliability", "divergence"),
        ),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    created: Mapped[datetime]
    day: Mapped[date]
    agent: Mapped[str]
    version: Mapped[str]
    model: Mapped[str]
    task: Mapped[str]
    route: Mapped[str]
    caller: Mapped[str]
    query: Mapped[str]
    answer: Mapped[str | None]
    decision: Mapped[str]
    label: Mapped[str]
    reliability: Mapped[float | None]
    reliability_low: Mapped[float | None]
    reliability_high: Mapped[float | None]
    reliability_reason: Mapped[str | None]
    contradiction: Mapped[float | None]
    contradictory: Mapped[bool]
    divergence: Mapped[float | None]
    runs: Mapped[int]
    runs_failed: Mapped[int]
    runs_agreed: Mapped[str]
    needs_review: Mapped[bool]
    seconds: Mapped[float | None]
    input_tokens: Mapped[int | None] = mapped_column(BigInteger)
    output_tokens: Mapped[int | None] = mapped_column(BigInteger)
    signature: Mapped[str]
    body: Mapped[dict[str, Any]]


class RunRow(Base):
    """One run of a verdict: a rollout of our own format, and what only the audit trail says of it."""

    __tablename__ = "runs"

    verdict_id: Mapped[str] = mapped_column(ForeignKey("verdicts.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    rollout: Mapped[dict[str, Any]]
    entry: Mapped[dict[str, Any] | None]


class ClashRow(Base):
    """Two runs of a verdict that contradict each other: in their answers, or in a finding."""

    __tablename__ = "clashes"

    verdict_id: Mapped[str] = mapped_column(ForeignKey("verdicts.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    pair: Mapped[dict[str, Any]]


class DailyRow(Base):
    """What is left of a day's verdicts once they are deleted: counts and sums, from which means and errors follow."""

    __tablename__ = "daily"

    day: Mapped[date] = mapped_column(primary_key=True)
    agent: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[str] = mapped_column(primary_key=True)
    first: Mapped[datetime]
    last: Mapped[datetime]
    verdicts: Mapped[int]
    failed: Mapped[int]
    refused: Mapped[int]
    judged: Mapped[int]
    contradictory: Mapped[int]
    measured: Mapped[int]
    reliability_sum: Mapped[float]
    reliability_squares: Mapped[float]
    diverging: Mapped[int]
    divergence_sum: Mapped[float]
    divergence_squares: Mapped[float]


class JobRow(Base):
    """Work that a request asked for and does not wait for."""

    __tablename__ = "jobs"
    __table_args__ = (Index("ix_jobs_state_created", "state", "created"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    kind: Mapped[str]
    state: Mapped[str]
    owner: Mapped[str]
    created: Mapped[datetime]
    started: Mapped[datetime | None]
    finished: Mapped[datetime | None]
    lease: Mapped[datetime | None]
    worker: Mapped[str | None]
    tries: Mapped[int]
    done: Mapped[int]
    total: Mapped[int | None]
    what: Mapped[str]
    params: Mapped[dict[str, Any]]
    payload: Mapped[bytes]
    result: Mapped[str | None]
    error: Mapped[str | None]


class ApiKeyRow(Base):
    """An API key: what it may do, and a hash of its secret."""

    __tablename__ = "api_keys"

    prefix: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str]
    hash: Mapped[str]
    scopes: Mapped[str]
    per_minute: Mapped[int]
    burst: Mapped[int]
    created: Mapped[datetime]
    created_by: Mapped[str]
    revoked: Mapped[datetime | None]
    last_used: Mapped[datetime | None]


class UserRow(Base):
    """A person who may open the dashboard."""

    __tablename__ = "users"

    name: Mapped[str] = mapped_column(String(200), primary_key=True)
    hash: Mapped[str]
    role: Mapped[str]
    created: Mapped[datetime]
    disabled: Mapped[datetime | None]


class SessionRow(Base):
    """A login, by a hash of its token."""

    __tablename__ = "sessions"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user: Mapped[str] = mapped_column(ForeignKey("users.name", ondelete="CASCADE"), index=True)
    created: Mapped[datetime]
    seen: Mapped[datetime]
    expires: Mapped[datetime] = mapped_column(index=True)


class LoginFailureRow(Base):
    """Failed logins of a name or an address in a row, so that all replicas count together."""

    __tablename__ = "login_failures"

    subject: Mapped[str] = mapped_column(String(64), primary_key=True)
    failures: Mapped[int]
    last: Mapped[datetime]


class AlertRow(Base):
    """A suspected or confirmed regression."""

    __tablename__ = "alerts"
    __table_args__ = (UniqueConstraint("agent", "version", "metric", "since"),)

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    agent: Mapped[str] = mapped_column(String(500))
    version: Mapped[str] = mapped_column(String(500))
    metric: Mapped[str] = mapped_column(String(100))
    since: Mapped[date]
    state: Mapped[str]
    opened: Mapped[datetime]
    confirmed: Mapped[datetime | None]
    closed: Mapped[datetime | None]
    details: Mapped[dict[str, Any]]


class DeliveryRow(Base):
    """How far one alert got on one channel."""

    __tablename__ = "deliveries"

    alert_id: Mapped[str] = mapped_column(ForeignKey("alerts.id", ondelete="CASCADE"), primary_key=True)
    channel: Mapped[str] = mapped_column(String(100), primary_key=True)
    state: Mapped[str]
    worker: Mapped[str]
    at: Mapped[datetime]
    attempts: Mapped[int]
    error: Mapped[str | None]
    retry_at: Mapped[datetime | None]


class SettingRow(Base):
    """A setting that an administrator changed in the dashboard; never a secret."""

    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    value: Mapped[dict[str, Any]]
    changed: Mapped[datetime]
    changed_by: Mapped[str]


class AuditRow(Base):
    """One administrative act: added to, never changed."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(_BIG, primary_key=True, autoincrement=True)
    at: Mapped[datetime]
    actor: Mapped[str]
    action: Mapped[str]
    target: Mapped[str]
    details: Mapped[dict[str, Any]]
