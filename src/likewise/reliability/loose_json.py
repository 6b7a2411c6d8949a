"""JSON as models write it: in fences, after talk, slightly broken. Repair has an end, whatever the text."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

__all__ = ["read_loose", "repaired"]

MOST_STEPS = 200_000
"""Calls within the repair library after which it is given up. It goes back and forth in the text, so that 4,000 hostile
characters can take minutes; an answer that lacks its end takes a fiftieth of this. Steps and not seconds: the same text
is then read in the same way on a busy machine."""
LONGEST = 50_000
"""Characters of a text that repair is tried on."""


class _TooManySteps(BaseException):  # not to be caught on the way by what catches any Exception
    """Repair was given up."""


def read_loose(text: str, opening: str) -> object:
    """The JSON value that begins with the first `opening` in a text; repaired where it is broken.

    Args:
        text: What a model wrote.
        opening: "{" or "[".

    Returns:
        A value; None where there is none, or none that can be made out.
    """
    start = text.find(opening)
    if start < 0:
        return None
    try:
        return json.loads(text[start:])
    except (ValueError, RecursionError):
        return repaired(text[start:])


def repaired(text: str) -> object:
    """What broken JSON was meant to be, after json-repair; None where that cannot be made out in MOST_STEPS."""
    if len(text) > LONGEST:
        return None
    import json_repair

    steps = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401 - of `sys.setprofile`
        nonlocal steps
        steps += 1
        if steps > MOST_STEPS:
            raise _TooManySteps

    before = sys.getprofile()
    sys.setprofile(count)  # of this thread alone
    try:
        value: object = json_repair.loads(text)
    except (ValueError, RecursionError, _TooManySteps):
        return None
    finally:
        sys.setprofile(before)
    return value
