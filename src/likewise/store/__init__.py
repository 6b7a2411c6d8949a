"""The history: verdicts with their runs, and what a service needs to keep beside them, in SQLite or PostgreSQL."""

from likewise.core.errors import MissingExtraError

try:
    import alembic
    import sqlalchemy
except ImportError as problem:
    raise MissingExtraError("the history of verdicts", "serve") from problem

del alembic, sqlalchemy
