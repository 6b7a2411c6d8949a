"""Every error of the package.

    LikewiseError
    ├── RolloutFormatError (ValueError)     a file, line or field that cannot be read as a rollout
    ├── UnknownFormatError (ValueError)     no reader recognises the file
    ├── GroupError (ValueError)             rollouts that cannot be compared with each other
    ├── BackendError (RuntimeError)         a judge, an encoder or their store does not work
    │   └── LabelError                      one pair could not be judged; keeps the raw answer
    └── MissingExtraError (ImportError)     an optional part is not installed

Each also inherits the standard exception it stands for, and stays picklable: arguments go through `args`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "BackendError",
    "GroupError",
    "LabelError",
    "LikewiseError",
    "MissingExtraError",
    "RolloutFormatError",
    "UnknownFormatError",
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
        """The file and each reader's reason."""
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.declined.items())
        return f"{self.path}: not a rollout file of a known format ({reasons}); --format forces one"


class GroupError(LikewiseError, ValueError):
    """Rollouts that cannot be compared with each other."""


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


class MissingExtraError(LikewiseError, ImportError):
    """An optional part is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        """Name the feature and the extra that brings it."""
        super().__init__(feature, extra)
        self.feature, self.extra = feature, extra

    def __str__(self) -> str:
        """The exact line to type."""
        return f"{self.feature} needs an extra: pip install 'likewise[{self.extra}]'"
