"""Objects that a log holds as Python's repr instead of JSON (`{'user_id': 'x'}`), read without running anything."""

from __future__ import annotations

import ast
import warnings
from typing import Final

from likewise.core.rollout import JsonValue

__all__ = ["python_object"]

_LONGEST: Final = 100_000
_MOST_BITS: Final = 2_000


def python_object(text: str) -> dict[str, JsonValue] | None:
    """The object that a Python literal spells; None where the text is none or holds what JSON cannot."""
    if not text.lstrip().startswith("{") or len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a backslash that Python does not know is the log's business
            value = _json_value(ast.literal_eval(text.strip()))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict) else None


def _json_value(value: object) -> JsonValue:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:  # hexadecimal has no limit, writing it has
        raise ValueError("an integer that cannot be written")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json_value(item) for key, item in value.items()}
    raise TypeError(type(value).__name__)
