"""A guard in front of a judge of English: texts in another language are left out with a reason, not judged neutral.

An NLI model trained on English gives some relation for any text. On other languages that is a guess, and mostly
"neutral", which would pass for a measured divergence.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from likewise.core.errors import LabelError
from likewise.core.labels import Judgement
from likewise.core.protocols import Judge, ProgressTask

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

__all__ = ["EnglishOnly", "foreign_language"]

GUARD = "english-1"
"""Names the rules below in a judge's id: raise the number when they change."""

SURE = 0.3
"""Probability from which a language is believed. The identifier knows 139 languages and spreads its belief on short
texts, so that this is high; a word or two seldom reaches it and is left to the judge."""
RATIO = 10.0
"""How many times more probable than English (or no language at all) it must be."""
LEADING = 2_000
"""Characters that a language is told from."""
CHUNK = 4_096
"""Pairs looked at before the judge is asked for them."""

_AS_ENGLISH = ("en", "pcm", "zxx")  # Nigerian Pidgin reads like English with codes in it; zxx: codes, numbers, markup
_UNSEEN = ("Cc", "Cf", "Cs")  # control and format characters, halves of surrogate pairs
_NOT_FOREIGN = frozenset((*_AS_ENGLISH, "la"))  # Latin: single English words are taken for it


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def foreign_language(text: str) -> str | None:
    """The language of a text that is surely not English.

    Args:
        text: Any text; its first 2,000 characters tell.

    Returns:
        An ISO 639 code ("fr"); None for English, for what is no language (codes, numbers, emoji), and where the text is
        too short or too mixed to be sure.
    """
    lead = _visible(text[:LEADING])
    if not any(map(str.isalpha, lead)):
        return None
    ranked: list[tuple[str, float]] = _identifier().rank(lead)
    beliefs = dict(ranked)
    english = sum(beliefs[code] for code in _AS_ENGLISH)
    code, belief = next((code, p) for code, p in ranked if code not in _NOT_FOREIGN)
    return code if belief >= SURE and belief >= RATIO * english else None


def _visible(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) not in _UNSEEN)


class EnglishOnly:
    """A judge that is asked only for pairs of which neither text is surely in another language."""

    def __init__(self, judge: Judge) -> None:
        """Guard `judge`."""
        self._judge = judge

    @property
    def judge_id(self) -> str:
        """The guarded judge's, and the guard's own name: what it lets through is a part of the answers."""
        return f"{self._judge.judge_id}+{GUARD}"

    @property
    def directed(self) -> Judge:
        """The guarded judge's directed part where it has one, behind the same guard."""
        return EnglishOnly(getattr(self._judge, "directed", self._judge))

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order; see core.protocols.Judge.

        Raises:
            LabelError: A text is in another language ("language fr ..."); the next pair can be asked for.
        """
        return _Guarded(self._judge, pairs, progress)


class _Guarded:
    """Answers of the guarded judge, with a failure in the place of each foreign pair. It goes on after a failure."""

    def __init__(self, judge: Judge, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None) -> None:
        self._judge, self._pairs, self._progress = judge, pairs, progress
        self._place = 0
        self._reasons: list[str | None] = []
        self._answers: Iterator[Judgement] = iter(())

    def __iter__(self) -> Iterator[Judgement]:
        return self

    def __next__(self) -> Judgement:
        at = self._place % CHUNK
        if at == 0:
            self._finish_chunk()
        if self._place == len(self._pairs):
            self._finish_chunk()
            raise StopIteration
        if at == 0:
            self._start_chunk()
        pair, reason = self._pairs[self._place], self._reasons[at]
        if reason is not None:
            self._place += 1
            raise LabelError(reason, *pair)
        try:
            answer = next(self._answers)
        except LabelError:
            self._place += 1
            raise
        self._place += 1
        return answer

    def _start_chunk(self) -> None:
        chunk = self._pairs[self._place : self._place + CHUNK]
        languages = {text: foreign_language(text) for text in dict.fromkeys(text for pair in chunk for text in pair)}
        codes = [languages[first] or languages[second] for first, second in chunk]
        self._reasons = [None if code is None else _reason(code) for code in codes]
        english = [pair for pair, reason in zip(chunk, self._reasons, strict=True) if reason is None]
        self._answers = self._judge.judge(english, self._progress)

    def _finish_chunk(self) -> None:
        """Let a generator run to its end: what stands behind its last answer is still to be done."""
        if next(self._answers, None) is not None:
            raise ValueError(f"{self._judge.judge_id}: more answers than pairs")


def _reason(code: str) -> str:
    return f"language {code} (the embedded judge reads English only; --judge names one that reads more)"
