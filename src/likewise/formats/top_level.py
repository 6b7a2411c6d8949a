"""A log that is one JSON object: its top, or why the file as a whole is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import JsonValue
from likewise.formats.fields import FieldError, type_name
from likewise.formats.files import read_json

__all__ = ["read_object", "refused_whole"]


def read_object(path: Path, holds: str) -> dict[str, JsonValue]:
    """The object of a file.

    Args:
        path: The file.
        holds: What a log of this format has at its top, for who reads the refusal.

    Raises:
        RolloutFormatError: The file cannot be read, or is no object.
    """
    top = read_json(path)
    if not isinstance(top, dict):
        raise RolloutFormatError(str(path), type_name(top), pointer="", expected=f"an object with {holds}")
    return top


@contextmanager
def refused_whole(path: Path) -> Iterator[None]:
    """A field of the wrong type, met in here, is a fault of the file and not of one run.

    Raises:
        RolloutFormatError: In place of the field's error, with its pointer.
    """
    try:
        yield
    except FieldError as error:
        raise RolloutFormatError(str(path), error.problem, pointer=error.pointer) from None
