"""The one text form of actions and observations that judges, stores and encoders see.

Changing anything here changes labels: raise STATE_TEXT_VERSION with it.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from functools import lru_cache

from likewise.core.rollout import Action, JsonValue, Observation, ToolCall

__all__ = [
    "STATE_TEXT_VERSION",
    "action_key",
    "action_text",
    "canonical_arguments",
    "canonical_json",
    "canonical_text",
    "observation_text",
    "tool_call_text",
]

STATE_TEXT_VERSION = 1
REMEMBERED_CHARACTERS = 2_000
"""Longest text whose canonical form is kept: the same texts are asked for many times."""

REMEMBERED_ACTIONS = 8_192
"""Actions whose key is kept: each stands in many pairs."""

_keys: dict[int, tuple[Action, str]] = {}  # by identity, since arguments are dicts and cannot be hashed
_SPACE = re.compile(r"\s+")
_ASCII_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), " ")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "\u2011": "-", "…": "..."})


def canonical_text(text: str) -> str:
    """Text up to differences that no reader sees: NFC, control and zero-width characters out, spaces collapsed."""
    return _remembered(text) if len(text) <= REMEMBERED_CHARACTERS else _canonical(text)


@lru_cache(maxsize=16_384)
def _remembered(text: str) -> str:
    return _canonical(text)


def _canonical(text: str) -> str:
    if text.isascii():  # most texts: nothing invisible, no quotes, nothing to compose
        return " ".join(text.translate(_ASCII_CONTROL).split())
    visible = _INVISIBLE.sub("", _CONTROL.sub(" ", text)).translate(_QUOTES)
    return _SPACE.sub(" ", unicodedata.normalize("NFC", visible)).strip()


def _canonical_value(value: JsonValue) -> JsonValue:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
            return int(value)
        return value
    if isinstance(value, str):
        stripped = value.strip()
        if stripped[:1] in "{[":  # an object sent as a string is still that object
            try:
                return _canonical_value(json.loads(stripped))
            except (ValueError, RecursionError):
                return canonical_text(value)
        return canonical_text(value)
    if isinstance(value, list):
        return [_canonical_value(item) for item in value]
    if isinstance(value, dict):
        return {canonical_text(str(key)): _canonical_value(item) for key, item in value.items()}
    return value


def canonical_arguments(arguments: dict[str, JsonValue] | str) -> JsonValue:
    """Arguments up to spelling: key order aside, 1.0 as 1, objects sent as strings as the objects they are."""
    return _canonical_value(arguments)


def canonical_json(value: JsonValue) -> str:
    """One string per canonical value: sorted keys, no white space, 1.0 as 1."""
    return json.dumps(_canonical_value(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def tool_call_text(call: ToolCall) -> str:
    """`name({"key":"value"})` in canonical form."""
    return f"{canonical_text(call.name)}({canonical_json(call.arguments)})"


def action_text(action: Action) -> str:
    """Canonical text of an action: its words, then its calls, sorted because parallel calls are a set."""
    parts = [canonical_text(action.text), *sorted(tool_call_text(call) for call in action.tool_calls)]
    return "\n".join(part for part in parts if part)


def action_key(action: Action) -> str:
    """Equal exactly for actions that are the same; unlike in `action_text`, words cannot pass for a call."""
    if (known := _keys.get(id(action))) is not None:
        return known[1]
    key = "\x00".join([canonical_text(action.text), *sorted(tool_call_text(call) for call in action.tool_calls)])
    if len(key) <= REMEMBERED_CHARACTERS:
        if len(_keys) >= REMEMBERED_ACTIONS:
            _keys.clear()
        _keys[id(action)] = action, key  # the action is held, so that its id can't become another's
    return key


def observation_text(observation: Observation) -> str:
    """Canonical text of an observation; a tool's output that is JSON is compared as JSON."""
    stripped = observation.text.strip()
    if observation.source == "tool" and stripped[:1] in "{[":
        try:
            return canonical_json(json.loads(stripped))
        except (ValueError, RecursionError):
            pass
    return canonical_text(observation.text)
