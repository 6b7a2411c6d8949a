"""What floors above hand down: a judge, an encoder, a progress display. Structural, so nothing need be inherited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # readers of logs take a progress display, and need no arrays for it
    import numpy as np
    from jaxtyping import Float32

    from likewise.core.labels import Judgement

__all__ = ["Accountable", "Encoder", "Judge", "Progress", "ProgressTask", "no_progress"]


class Judge(Protocol):
    """Gives the relation of two texts."""

    @property
    def judge_id(self) -> str:
        """Names model, weights and settings; two judges with one id give the same answers."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair, in order, both directions; answers come as they are known.

        The answer of a pair does not depend on the pairs beside it.

        Raises:
            LabelError: A pair could not be judged. An iterator that can, goes on with the next pair when it is asked
                again (backends.judge_each); a generator cannot, and the pairs behind are asked for anew.
            BackendError: The judge does not work; asking again is of no use before something is mended.
        """
        ...


@runtime_checkable
class Accountable(Protocol):
    """A judge that keeps account of what it did: calls, cost, how often it was of two minds."""

    def account(self) -> tuple[str, ...]:
        """What it did so far, one sentence each; none where there is nothing to tell."""
        ...


class Encoder(Protocol):
    """Gives a vector for a text."""

    @property
    def encoder_id(self) -> str:
        """Names model, weights and settings."""
        ...

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dimensions"]:
        """One unit vector a text; the vector of a text does not depend on the texts beside it."""
        ...


class ProgressTask(Protocol):
    """One bar."""

    def advance(self, steps: int = 1) -> None:
        """Count `steps` more as done."""
        ...


class Progress(Protocol):
    """A display of what is going on: `with progress("judging", total=n) as task: task.advance()`."""

    def __call__(self, what: str, total: int | None) -> AbstractContextManager[ProgressTask]:
        """Open a bar for `total` steps; None where nobody knows how many there are."""
        ...


class _Silent:
    def advance(self, steps: int = 1) -> None:
        """Show nothing."""


@contextmanager
def no_progress(what: str, total: int | None) -> Iterator[ProgressTask]:
    """The display for pipes, logs and tests: none."""
    del what, total
    yield _Silent()
