"""Agents' text made safe to show: nothing in it may drive a terminal, a browser or the reader's eye."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from likewise.core.listing import some_of

__all__ = ["NAMED", "TEXT_CAP", "Clipped", "anchor", "clip", "location", "middle", "named", "one_line", "visible"]

TEXT_CAP = 20_000
"""Characters of one text that a report shows at most; what lies beyond is counted in a note."""

NAMED = 8
"""Names that a sentence has at most where nobody asks for more."""

_ESCAPES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, screen
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS and their kin
    "|\x1b[ -/]*[0-~]"  # two-character escapes
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Any character that the others take out or change; few texts have one, and the rest need no more than this look."""
_SLUG = re.compile("[^a-z0-9]+")


def visible(text: str) -> str:
    r"""Text without terminal escapes, control and direction marks; lone surrogates become U+FFFD; \n and \t stay."""
    if _ODD.search(text) is None:
        return text
    plain = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    return _SURROGATES.sub("\ufffd", _CONTROL.sub("", plain))


def one_line(text: str, limit: int = 0) -> str:
    """Visible text on one line, ended by an ellipsis where it is longer than `limit` (0: no limit)."""
    line = " ".join(visible(text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1].rstrip() + "…"


def middle(text: str, limit: int) -> str:
    """Visible text on one line, shortened in the middle: ids differ at their ends."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    tail = (limit - 1) * 2 // 3
    return line[: limit - 1 - tail] + "…" + line[-tail:]


def location(path: str, line: int | None, pointer: str | None) -> str:
    """`runs.jsonl:3 /messages/0`, as far as each part is known."""
    where = one_line(path) + ("" if line is None else f":{line}")
    return f"{where} {one_line(pointer)}".strip() if pointer else where


def named(names: Sequence[str], most: int = NAMED) -> str:
    """The first names of tasks or runs, each shortened in the middle, and how many there are beyond."""
    return some_of([middle(name, 60) for name in names], most)


@dataclass(frozen=True, slots=True)
class Clipped:
    """A text to show: all of it up to the cap, a shorter beginning to show first, and what the cap left out.

    `short` is empty where the text needs no shortening.
    """

    full: str
    short: str
    left_out: int


def clip(text: str, *, preview: int, cap: int = TEXT_CAP) -> Clipped:
    """Prepare a text for a cell: its first `preview` characters, and the whole up to `cap`."""
    whole = visible(text).strip()
    full = whole[:cap]
    short = full[:preview].rstrip() + "…" if len(full) > preview * 1.25 or len(whole) > cap else ""
    return Clipped(full, short, len(whole) - len(full))


def anchor(task_id: str) -> str:
    """An id for a task that is safe in an attribute and a link: a slug, and a hash that keeps it unique."""
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    slug = _SLUG.sub("-", task_id.lower()).strip("-")[:32].strip("-")
    return f"task-{slug}-{digest}" if slug else f"task-{digest}"
