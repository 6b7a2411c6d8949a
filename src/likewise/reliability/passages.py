"""Passages of sources: sentences alone and with their neighbours; of JSON, the facts of each object as a sentence.

Tool outputs are mostly JSON, which no judge of sentences reads. An object is read as "origin: SEA; price: 117", alone
and, where that is short, with the objects in it; what is quoted is the source as it stands, by its offsets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from likewise.backends.sentences import split_sentences

__all__ = ["Passage", "Source", "Sources", "check_sources", "passages_of", "spans_of"]

WINDOW = 3
"""Sentences of the longest passage: what a sentence says is often spread over neighbours."""
MOST_PASSAGES = 4_000
"""Passages of all sources together; the rest of longer sources is said to be unread."""
LONGEST_OBJECT = 600
"""Characters of an object's facts, with those of the objects in it, up to which they are one passage."""
DEEPEST = 40
"""Levels of JSON that are walked down; deeper is read as prose."""
_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Source:
    """A text to check against: a file's content, a retrieved passage, a tool's output."""

    name: str
    text: str


Sources: TypeAlias = Sequence[Source] | Mapping[str, str] | None
"""Texts that an answer is checked against."""


def check_sources(sources: object) -> None:
    """Refuse what is no sources, before an agent is run for it.

    Raises:
        TypeError: Neither texts by name nor a list of `Source`.
    """
    wanted = 'sources are texts by name, {"report": text}, or a list of Source'
    if sources is None:
        return
    if isinstance(sources, Mapping):
        for name, text in sources.items():
            if not isinstance(name, str) or not isinstance(text, str):
                raise TypeError(f"{wanted}; got {type(text).__name__} under the name {str(name)[:80]!r}")
        return
    if not isinstance(sources, Sequence) or isinstance(sources, str | bytes):
        raise TypeError(f"{wanted}; got {type(sources).__name__}")
    for number, source in enumerate(sources):
        if not isinstance(source, Source):
            raise TypeError(f"{wanted}; got {type(source).__name__} as number {number}")
        if not isinstance(source.name, str) or not isinstance(source.text, str):
            raise TypeError(f"{wanted}; the name or text of number {number} is no text")


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a source: `text` is what is read, `quote` what stands there between `start` and `end`.

    A `record` is an object of JSON, its `text` a list of facts and no sentence.
    """

    source: str
    text: str
    quote: str
    start: int
    end: int
    words: frozenset[str]
    record: bool = False


def spans_of(text: str, offset: int = 0) -> list[tuple[str, int, int]]:
    """Sentences with their offsets."""
    spans, position = [], 0
    for sentence in split_sentences(text):
        start = text.index(sentence, position)
        position = start + len(sentence)
        spans.append((sentence, start + offset, position + offset))
    return spans


def passages_of(sources: Sequence[Source]) -> tuple[list[Passage], list[str]]:
    """All passages, in order, and what was left unread."""
    passages: list[Passage] = []
    unread = []
    for source in sources:
        for text, start, end, record in _parts(source.text):
            if len(passages) + WINDOW > MOST_PASSAGES:
                unread.append(f"{source.name} from character {start} on")
                break
            words = frozenset(_WORD.findall(text.casefold()))
            passages.append(Passage(source.name, text, source.text[start:end], start, end, words, record))
    return passages, unread


def _parts(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """What is read, with its place and whether it is a record: prose in windows of sentences, JSON by objects."""
    position = begun = 0
    while position < len(text):
        position = _after_space(text, position)
        found = _json_at(text, position)
        if found is not None:
            yield from _windows(text, begun, position)
            facts, position = found
            yield from ((*fact, True) for fact in facts)
            begun = position
        else:
            line_end = text.find("\n", position)
            position = len(text) if line_end < 0 else line_end + 1
    yield from _windows(text, begun, len(text))


def _windows(text: str, start: int, end: int) -> Iterator[tuple[str, int, int, bool]]:
    spans = spans_of(text[start:end], start)
    for i, (_, first, _) in enumerate(spans):
        for _, _, last in spans[i : i + WINDOW]:
            yield text[first:last], first, last, False


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


def _json_at(text: str, position: int) -> tuple[list[tuple[str, int, int]], int] | None:
    """The facts of the JSON object or array that begins here, and where it ends; None where none does."""
    if text[position : position + 1] not in ("{", "["):
        return None
    walk = _Walk(text)
    try:
        _, end = walk.value("", position, 0)
    except (ValueError, IndexError, RecursionError):
        return None
    return (walk.facts, end) if walk.facts else None


class _Walk:
    """Goes through JSON and keeps the facts of each object with its place, an object before those in it."""

    def __init__(self, text: str) -> None:
        self.text, self.facts = text, list[tuple[str, int, int]]()

    def value(self, name: str, at: int, depth: int) -> tuple[str, int]:
        """The facts of the value at a place, as one text, and where it ends."""
        if depth > DEEPEST:
            raise ValueError("too deep")
        opening = self.text[at]
        if opening == "{":
            return self._object(name, at, depth)
        if opening == "[":
            return self._array(name, at, depth)
        _, end = _DECODER.raw_decode(self.text, at)
        raw = self.text[at:end]
        plain = raw[1:-1] if raw.startswith('"') else raw
        return (f"{name}: {plain}" if name else plain), end

    def _object(self, name: str, at: int, depth: int) -> tuple[str, int]:
        place, own, whole = len(self.facts), list[str](), list[str]()
        position = _after_space(self.text, at + 1)
        while self.text[position] != "}":
            key, position = _DECODER.raw_decode(self.text, position)
            position = self._past(":", position)
            nested = self.text[position] in "{["
            said, position = self.value(str(key).replace("_", " "), position, depth + 1)
            whole.append(said)
            own += [] if nested else [said]
            position = self._next("}", position)
        title = f"{name}: " if name else ""
        full = title + "; ".join(part for part in whole if part)
        for text in dict.fromkeys([title + "; ".join(own) if own else "", full if len(full) <= LONGEST_OBJECT else ""]):
            if text:
                self.facts.insert(place, (text, at, position + 1))
        return full, position + 1

    def _array(self, name: str, at: int, depth: int) -> tuple[str, int]:
        parts = []
        position = _after_space(self.text, at + 1)
        while self.text[position] != "]":
            scalar = self.text[position] not in "{["
            said, position = self.value("" if scalar else name, position, depth + 1)
            parts.append(said)
            position = self._next("]", position)
        plain = not any(part.startswith(f"{name}: ") for part in parts)
        return (f"{name}: " if name and plain and parts else "") + ", ".join(parts), position + 1

    def _past(self, sign: str, position: int) -> int:
        position = _after_space(self.text, position)
        if self.text[position] != sign:
            raise ValueError(f"no {sign!r}")
        return _after_space(self.text, position + 1)

    def _next(self, closing: str, position: int) -> int:
        """Past a comma to the next member, or to the end."""
        position = _after_space(self.text, position)
        return position if self.text[position] == closing else self._past(",", position)
