"""Every error of the package.

    LikewiseError
    ├── RolloutFormatError (ValueError)     a file, line or field that cannot be read as a rollout
    ├── UnknownFormatError (ValueError)     no reader recognises the file
    ├── GroupError (ValueError)             rollouts that cannot be compared with each other
    ├── ConfigError (ValueError)            a configuration file, or one that it names, that cannot be used
    ├── BackendError (RuntimeError)         a judge, an encoder or their store does not work
    │   └── LabelError                      one pair could not be judged; keeps the raw answer
    ├── CheckpointError (ValueError)        a learned metric that is broken, foreign, or does not fit
    ├── AgentError (RuntimeError)           an agent gave no answer in any run; holds each cause
    ├── UnreliableAnswerError (RuntimeError)  an answer that may not be served; holds the verdict
    ├── StoreUnavailableError (RuntimeError)  the history of verdicts cannot be read or written now
    └── MissingExtraError (ImportError)     an optional part is not installed

Each also inherits the standard exception it stands for, and stays picklable: arguments go through `args`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from shlex import quote

__all__ = [
    "AgentError",
    "BackendError",
    "CheckpointError",
    "ConfigError",
    "GroupError",
    "LabelError",
    "LikewiseError",
    "MissingExtraError",
    "RolloutFormatError",
    "StoreUnavailableError",
    "UnknownFormatError",
    "UnreliableAnswerError",
]


class LikewiseError(Exception):
    """Base of all errors that the package raises on purpose."""


class RolloutFormatError(LikewiseError, ValueError):
    """A file, line or field that cannot be read as a rollout."""

    def __init__(
        self,
        path: str,
        problem: str,
        *,
        line: int | None = None,
        pointer: str | None = None,
        expected: str | None = None,
    ) -> None:
        """Say what is wrong, where, and what would be right.

        Args:
            path: File that was read.
            problem: What is wrong, in one clause.
            line: Line in the file, from 1, where known.
            pointer: JSON pointer (RFC 6901) of the offending value, where known.
            expected: What would have been right.
        """
        super().__init__(path, problem)
        self.path, self.problem, self.line, self.pointer, self.expected = path, problem, line, pointer, expected

    def __str__(self) -> str:
        """`path, line n, at /pointer: problem (expected ...)`."""
        place = self.path
        if self.line is not None:
            place += f", line {self.line}"
        if self.pointer is not None:
            place += f", at {self.pointer or '/'}"
        return f"{place}: {self.problem}" + (f" (expected {self.expected})" if self.expected else "")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the keyword-only fields through pickling."""
        return (type(self), (self.path, self.problem), self.__dict__)


class UnknownFormatError(LikewiseError, ValueError):
    """No reader recognises the file."""

    def __init__(self, path: str, declined: Mapping[str, str]) -> None:
        """Keep why each reader declined: format name -> reason."""
        super().__init__(path, dict(declined))
        self.path, self.declined = path, dict(declined)

    def __str__(self) -> str:
        """The file, and where each reader's reason is to be had; a single reason is given at once."""
        if len(self.declined) == 1:
            ((name, reason),) = self.declined.items()
            return f"{self.path}: not a rollout file of a known format ({name}: {reason})"
        return (
            f"{self.path}: not a rollout file of a known format ({len(self.declined)} tried; `likewise formats "
            f"{quote(self.path)}` says why none fits, --format forces one, --map reads any JSON by a mapping of your "
            "own)"
        )


class GroupError(LikewiseError, ValueError):
    """Rollouts that cannot be compared with each other."""


class ConfigError(LikewiseError, ValueError):
    """A configuration file, or a file that it or an option names, that cannot be used."""

    def __init__(self, path: str, problem: str, *, key: str | None = None, expected: str | None = None) -> None:
        """Say what is wrong, where, and what would be right.

        Args:
            path: File that was read; "" for a configuration made in Python.
            problem: What is wrong, in one clause.
            key: Dotted key (TOML) or pointer (JSON) of the offending value, where known.
            expected: What would have been right.
        """
        super().__init__(path, problem)
        self.path, self.problem, self.key, self.expected = path, problem, key, expected

    def __str__(self) -> str:
        """`path, at tools.search: problem (expected ...)`."""
        place = (self.path or "configuration") + (f", at {self.key}" if self.key else "")
        return f"{place}: {self.problem}" + (f" (expected {self.expected})" if self.expected else "")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the keyword-only fields through pickling."""
        return (type(self), (self.path, self.problem), self.__dict__)


class BackendError(LikewiseError, RuntimeError):
    """A judge, an encoder or their store does not work."""


class LabelError(BackendError):
    """One pair could not be judged."""

    def __init__(self, problem: str, first: str, second: str, raw_answer: str | None = None) -> None:
        """Name the pair and keep the raw answer: it is evidence, never a label."""
        super().__init__(problem, first, second, raw_answer)
        self.problem, self.first, self.second, self.raw_answer = problem, first, second, raw_answer

    def __str__(self) -> str:
        """The problem and the start of both texts."""
        return f"{self.problem}, for the pair {self.first[:80]!r} / {self.second[:80]!r}"


class CheckpointError(LikewiseError, ValueError):
    """A learned metric that is broken, foreign, or does not fit."""

    def __init__(self, path: str, field: str, expected: str, found: str) -> None:
        """Name the field that does not fit, what it should be and what it is.

        Args:
            path: Folder or file of the checkpoint.
            field: Dotted name of the field, or the file's part that is wrong.
            expected: What would have been right.
            found: What is there.
        """
        super().__init__(path, field, expected, found)
        self.path, self.field, self.expected, self.found = path, field, expected, found

    def __str__(self) -> str:
        """`path, at field: expected ..., found ...`."""
        return f"{self.path}, at {self.field}: expected {self.expected}, found {self.found}"


class MissingExtraError(LikewiseError, ImportError):
    """An optional part is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        """Name the feature and the extra that brings it."""
        super().__init__(feature, extra)
        self.feature, self.extra = feature, extra

    def __str__(self) -> str:
        """The exact line to type."""
        return f"{self.feature} needs an extra: pip install 'likewise[{self.extra}]'"


class AgentError(LikewiseError, RuntimeError):
    """An agent gave no answer in any of its runs: there is no evidence, which is not the same as agreement."""

    def __init__(self, failures: Sequence[str], records: Sequence[object] = ()) -> None:
        """Keep each run's failure in words, and the records themselves."""
        super().__init__(tuple(failures), tuple(records))
        self.failures, self.records = tuple(failures), tuple(records)

    def __str__(self) -> str:
        """How many runs there were, and each distinct cause with its count."""
        causes = Counter(self.failures)
        told = "; ".join(f"{count} x {cause}" if count > 1 else cause for cause, count in causes.items())
        return f"all {len(self.failures)} run(s) of the agent failed: {told}" if self.failures else "no run was made"


class UnreliableAnswerError(LikewiseError, RuntimeError):
    """An answer that may not be served."""

    def __init__(self, reasons: Sequence[str], verdict: object = None) -> None:
        """Keep why, and the verdict with all its evidence."""
        super().__init__(tuple(reasons), verdict)
        self.reasons, self.verdict = tuple(reasons), verdict

    def __str__(self) -> str:
        """The reasons."""
        return "the answer may not be served: " + "; ".join(self.reasons)


class StoreUnavailableError(LikewiseError, RuntimeError):
    """The history of verdicts cannot be read or written now; nothing that was acknowledged is lost."""

    def __init__(self, where: str, problem: str, advice: str = "") -> None:
        """Say which database, what is wrong with it, and what to do.

        Args:
            where: The database, without its password.
            problem: What is wrong, in one clause.
            advice: What to do, in one clause; "" where it mends itself.
        """
        super().__init__(where, problem, advice)
        self.where, self.problem, self.advice = where, problem, advice

    def __str__(self) -> str:
        """`where: the history is unavailable (problem); advice`."""
        return f"{self.where}: the history is unavailable ({self.problem})" + (
            f"; {self.advice}" if self.advice else ""
        )
