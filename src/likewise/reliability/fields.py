"""What a run says, field by field: main answer, findings, stated confidence, sources; read from broken text too.

Structured output is asked for by `prompt_suffix` or `response_format` and read by `parse_fields`, which takes JSON
that is fenced, prefixed by talk, or slightly broken (json-repair). Plain text is an answer and nothing else: its
findings and sources are not measured, which is not the same as none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any, TypeAlias

from likewise.backends.sentences import split_sentences
from likewise.core.rollout import Action, JsonValue
from likewise.core.state_text import canonical_json
from likewise.reliability.loose_json import repaired

__all__ = [
    "AnswerFields",
    "Confidence",
    "Extractor",
    "MalformedOutputError",
    "Structure",
    "atomic_findings",
    "fields_from_mapping",
    "parse_fields",
    "prompt_suffix",
    "response_format",
]

MOST_FINDINGS = 50
"""Atomic findings of one run that are compared; more are a dump, and the findings are then not measured."""
_KEYS = {"main_answer": "main_answer", "answer": "main_answer", "final_answer": "main_answer"}
MOST_FENCES = 50
"""Fenced blocks of one text that are looked into, from the first; of those that are broken, the first is repaired."""
_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)


class Confidence(StrEnum):
    """What the agent says of itself."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Structure(StrEnum):
    """How a run's text is read."""

    AUTO = "auto"
    """Fields where the text holds a JSON object with a main answer, else an answer alone."""
    JSON = "json"
    """The object must be there: a text without it is a failed run."""
    TEXT = "text"
    """The whole text is the answer."""


class MalformedOutputError(ValueError):
    """A structured answer that cannot be read, even by repair."""


@dataclass(frozen=True, slots=True)
class AnswerFields:
    """One run's answer, field by field.

    Attributes:
        main_answer: What it answers.
        key_findings: Atomic findings; None where the run gives none to measure (plain text).
        confidence: What it says of itself; None where it does not say.
        sources_used: Sources as written; None where the run gives none to measure.
    """

    main_answer: str
    key_findings: tuple[str, ...] | None = None
    confidence: Confidence | None = None
    sources_used: tuple[str, ...] | None = None

    def as_json(self) -> dict[str, JsonValue]:
        """The fields by name; what is not measured is null."""
        return {
            "main_answer": self.main_answer,
            "key_findings": None if self.key_findings is None else list(self.key_findings),
            "confidence": self.confidence,
            "sources_used": None if self.sources_used is None else list(self.sources_used),
        }


Extractor: TypeAlias = Callable[[Any], AnswerFields]
"""A user's own way from whatever an agent returns to fields."""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "main_answer": {"type": "string", "description": "The answer, in one to three sentences."},
        "key_findings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The facts that the answer rests on, one plain sentence each.",
        },
        "confidence": {"type": "string", "enum": [level.value for level in Confidence]},
        "sources_used": {"type": "array", "items": {"type": "string"}, "description": "URLs or names of sources."},
    },
    "required": ["main_answer", "key_findings", "confidence", "sources_used"],
    "additionalProperties": False,
}


def response_format() -> dict[str, Any]:
    """The `response_format` of an OpenAI-compatible request that makes a model answer in fields."""
    schema = json.loads(json.dumps(_SCHEMA))
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}


def prompt_suffix() -> str:
    """What to add to a prompt where the model takes no JSON schema."""
    return (
        "\n\nAnswer with one JSON object and nothing else:\n"
        '{"main_answer": "the answer, in one to three sentences", "key_findings": ["one fact each", "..."], '
        '"confidence": "HIGH, MEDIUM or LOW", "sources_used": ["URL or name", "..."]}'
    )


def parse_fields(text: str, structure: Structure = Structure.AUTO) -> AnswerFields:
    """The fields of one run's text.

    Args:
        text: What the agent said.
        structure: Whether an object must be there.

    Returns:
        Fields; of plain text the answer alone.

    Raises:
        MalformedOutputError: The text sets out to be the object and cannot be read as one, or must be one and is not.
    """
    if structure is Structure.TEXT:
        return AnswerFields(text.strip())
    found = _find_object(text)
    if found is not None:
        return fields_from_mapping(found)
    if structure is Structure.JSON or '"main_answer"' in text:
        raise MalformedOutputError('no JSON object with a "main_answer" can be read from the text')
    return AnswerFields(text.strip())


def _find_object(text: str) -> Mapping[str, Any] | None:
    """The first object with a main answer: the whole text, a fenced block, or what follows the first brace."""
    if not any(f'"{key}"' in text or f"'{key}'" in text or key in text for key in _KEYS):
        return None  # nothing that repair could turn into the object; repair is slow and inventive
    fenced = [match.group(1) for match in islice(_FENCE.finditer(text), MOST_FENCES)]
    objects = [place[place.index("{") :] for place in (*fenced, text) if "{" in place]
    for read, places in ((_strict, [text, *fenced, *objects]), (repaired, [*objects[:1], *objects[-1:]])):
        for place in dict.fromkeys(places):
            value = read(place)
            if isinstance(value, Mapping) and any(key in value for key in _KEYS):
                return value
    return None


def _strict(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def fields_from_mapping(value: Mapping[str, Any]) -> AnswerFields:
    """Fields of an object that an agent returned, or that was read from its text.

    Raises:
        MalformedOutputError: There is no main answer, or it is no text.
    """
    found = next((key for key in _KEYS if key in value), None)
    if found is None:
        raise MalformedOutputError(f'no "main_answer" in the object; it has {_named(value)}')
    answer = value[found]
    if isinstance(answer, (int, float)) and not isinstance(answer, bool):
        answer = str(answer)
    if not isinstance(answer, str):
        raise MalformedOutputError(f'"main_answer" is {type(answer).__name__}, not a text')
    findings, sources = _texts(value.get("key_findings")), _texts(value.get("sources_used"))
    stated = value.get("confidence")
    level = stated.strip().upper() if isinstance(stated, str) else ""
    return AnswerFields(
        answer.strip(),
        None if findings is None else atomic_findings(findings),
        Confidence(level) if level in set(Confidence) else None,
        sources,
    )


def _named(value: Mapping[str, Any]) -> str:
    names = [str(name)[:40] for name in islice(value, 4)]
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "") if names else "nothing"


def _texts(value: object) -> tuple[str, ...] | None:
    """A list of texts; one text is a list of it; None where the field is missing or something else."""
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if not isinstance(value, list | tuple):
        return None
    return tuple(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value if item)


def atomic_findings(findings: tuple[str, ...]) -> tuple[str, ...]:
    """Findings cut into sentences and at semicolons, each once: how a run bundles its facts is not what it found."""
    pieces = (part for finding in findings for sentence in split_sentences(finding) for part in sentence.split(";"))
    return tuple(dict.fromkeys(piece for part in pieces if (piece := part.strip(" \t-*•"))))


def action_of(fields: AnswerFields, action: Action) -> Action:
    """What is compared: the main answer in place of the text it was read from, and the tool calls."""
    return Action(_as_json(fields.main_answer), action.tool_calls)


def _as_json(answer: str) -> str:
    """An answer that is a JSON object or array in its canonical form: the order of keys is no other answer."""
    if answer[:1] not in ("{", "["):
        return answer
    try:
        return canonical_json(json.loads(answer))
    except (ValueError, RecursionError):
        return answer
