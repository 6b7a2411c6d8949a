"""Two texts with the words in which they differ marked."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from likewise.report.text import TEXT_CAP, visible

__all__ = ["marked"]

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_SEAM = re.compile(r"</mark>(\s*)<mark>")
_EXACT_LIMIT = 160_000
"""Product of word counts up to which no word counts as too common to align."""

_ALIKE, _STRAY, _SHORT = 0.5, 4, 8
"""Where longer texts share less than half, a common stretch of up to 4 words and spaces is chance, not agreement."""


def marked(first: str, second: str) -> tuple[Markup, Markup]:
    """Both texts as HTML; a stretch that the other lacks stands in `<mark>`, everything is escaped."""
    a, b = (_WORDS.findall(visible(text).strip()[:TEXT_CAP]) for text in (first, second))
    matcher = SequenceMatcher(None, a, b, autojunk=len(a) * len(b) > _EXACT_LIMIT)
    stray = _STRAY if matcher.ratio() < _ALIKE and min(len(a), len(b)) >= _SHORT else 0
    left, right = [], []
    for kind, i, j, k, m in matcher.get_opcodes():
        differs = kind != "equal" or j - i <= stray
        left.append(_part(a[i:j], differs))
        right.append(_part(b[k:m], differs))
    return _joined(left), _joined(right)


def _joined(parts: list[str]) -> Markup:
    """Marks with nothing but space between become one; `<` stands only in our own tags here."""
    return Markup(_SEAM.sub(r"\1", "".join(parts)))


def _part(words: list[str], differs: bool) -> str:
    """Words as HTML: all that is not our own tag is escaped here."""
    text = str(escape("".join(words)))
    return f"<mark>{text}</mark>" if differs and text.strip() else text
