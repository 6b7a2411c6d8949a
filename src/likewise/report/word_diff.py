"""Two texts with the words in which they differ marked."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from likewise.report.text import TEXT_CAP, visible

__all__ = ["marked"]

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_EXACT_LIMIT = 1_000_000
"""Product of word counts up to which no word counts as too common to align."""


def marked(first: str, second: str) -> tuple[Markup, Markup]:
    """Both texts as HTML; a stretch that the other lacks stands in `<mark>`, everything is escaped."""
    a, b = (_WORDS.findall(visible(text).strip()[:TEXT_CAP]) for text in (first, second))
    matcher = SequenceMatcher(None, a, b, autojunk=len(a) * len(b) > _EXACT_LIMIT)
    left, right = Markup(""), Markup("")
    for kind, i, j, k, m in matcher.get_opcodes():
        left += _part(a[i:j], kind != "equal")
        right += _part(b[k:m], kind != "equal")
    return left, right


def _part(words: list[str], differs: bool) -> Markup:
    text = escape("".join(words))
    return Markup("<mark>{}</mark>").format(text) if differs and text.strip() else text
