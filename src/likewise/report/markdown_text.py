"""Text of others made safe in Markdown: no HTML, no links, no mentions, no broken tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from likewise.report.text import middle, one_line

__all__ = ["code", "plain", "table"]

_SPECIAL = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]<>|~"}
    # Mentions and issue numbers are looked for after Markdown is read, so that escaping would not stop them.
    | {"@": "@\u200b", "#": "#\u200b", "&": "&amp;"}
)
_LINKS = re.compile(r"://|\bwww\.", re.IGNORECASE)


def code(text: str, limit: int = 80, *, cell: bool = True) -> str:
    """A name as a code span, in which nothing is interpreted; in a cell of a table a pipe becomes its look-alike."""
    shown = middle(text, limit) or " "
    if cell:  # no escape holds there whatever stands before it
        shown = shown.replace("|", "│")
    longest, run = 0, 0
    for character in shown:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    if not longest:
        return f"`{shown}`"
    fence = "`" * (longest + 1)
    return f"{fence} {shown} {fence}"


def plain(text: str, limit: int = 400) -> str:
    """A sentence that may hold text of others: no markup, no link, and nobody is notified."""
    escaped = one_line(text, limit).translate(_SPECIAL)
    return _LINKS.sub(lambda found: found[0].replace("/", "\\/").replace(".", "\\."), escaped)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """The lines of a table; cells are Markdown already. `right` names columns to align right."""
    aligned = set(right)
    rule = ["--:" if column in aligned else "---" for column in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
