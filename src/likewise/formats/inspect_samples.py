"""The samples of an Inspect log: taken out of an archive, their messages as chat messages, their scores as grades."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import JsonValue
from likewise.formats.compressed import Archive
from likewise.formats.fields import as_list, as_object, child, reward_and_notes
from likewise.formats.files import parse_json

__all__ = [
    "archived_sample",
    "archived_samples",
    "chat_messages",
    "grade",
    "intermediate_progress",
    "member_json",
    "objects_in",
    "scorers_of",
    "scores_of",
]

_REFERENCE: Final = re.compile(r"(?:attachment|tc)://(.*)", re.DOTALL)
_SEQUENCE: Final = re.compile(r"(\d{1,9})\.json")
_SHELL: Final = "/sample.json"
_DEEPEST: Final = 100
_GRADES: Final = {"C": (1.0, True), "I": (0.0, False), "P": (0.5, False), "N": (0.0, False)}
_YES: Final = frozenset({"yes", "true"})
_NO: Final = frozenset({"no", "false"})


def member_json(archive: Archive, name: str) -> JsonValue:
    """One member as JSON; errors name the member.

    Raises:
        RolloutFormatError: It does not unpack, or is no JSON.
    """
    place = Path(f"{archive.path}/{name}")
    data = archive.read(name)
    try:
        return parse_json(data.decode("utf-8"), place)
    except UnicodeDecodeError as error:
        raise RolloutFormatError(str(place), f"not UTF-8: byte 0x{data[error.start]:02x}") from None


def archived_samples(archive: Archive) -> list[str]:
    """The members that hold a sample each: `samples/ID_epoch_N.json`, or the `sample.json` of one in parts."""
    listed = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
    folders = tuple(name.removesuffix(_SHELL) + "/" for name in listed if name.endswith(_SHELL))
    return [name for name in listed if name.endswith(_SHELL) or not name.startswith(folders)]


def archived_sample(archive: Archive, name: str) -> JsonValue:
    """A sample; one in parts is put together as far as it is read: its messages and the texts they refer to.

    Raises:
        RolloutFormatError: A member does not unpack, or is no JSON.
    """
    sample = member_json(archive, name)
    if not name.endswith(_SHELL) or not isinstance(sample, dict):
        return sample
    folder = name.removesuffix(_SHELL)
    pool, texts = (_sequence(archive, f"{folder}/{kind}/") for kind in ("messages", "attachments"))
    messages: list[JsonValue] = []
    for span in as_list(sample.get("message_refs") or [], "/message_refs"):
        start, end = span if isinstance(span, list) and len(span) == 2 else (None, None)
        if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end:
            messages += pool[start:end]
    return {**sample, "messages": messages, "attachments": {str(index): text for index, text in enumerate(texts)}}


def _sequence(archive: Archive, prefix: str) -> list[JsonValue]:
    """The items of a sequence that lies in members named by the number of their first item."""
    named = (name for name in archive.names if name.startswith(prefix))
    starts = sorted(int(found[1]) for name in named if (found := _SEQUENCE.fullmatch(name[len(prefix) :])))
    chunks = (member_json(archive, f"{prefix}{start}.json") for start in starts)
    return [item for chunk in chunks if isinstance(chunk, list) for item in chunk]


@dataclass(slots=True)
class _Texts:
    """The texts that a sample keeps apart from where they belong."""

    known: Mapping[str, JsonValue]
    missing: bool = False

    def resolve(self, value: JsonValue, depth: int = 0) -> JsonValue:
        """A value with the texts in their places; one that is not there leaves its reference."""
        if isinstance(value, str):
            reference = _REFERENCE.fullmatch(value)
            text = self.known.get(reference[1]) if reference else value
            self.missing |= not isinstance(text, str)
            return text if isinstance(text, str) else value
        if depth > _DEEPEST:
            return value
        if isinstance(value, list):
            return [self.resolve(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {key: self.resolve(item, depth + 1) for key, item in value.items()}
        return value


def chat_messages(sample: dict[str, JsonValue], pointer: str) -> tuple[list[JsonValue], int, bool]:
    """A sample's messages for `read_messages`.

    Returns:
        The messages; how many at the start were given with the sample; whether a text they refer to is missing.

    Raises:
        FieldError: A message has the wrong type.
    """
    attachments = sample.get("attachments")
    texts = _Texts(attachments if isinstance(attachments, dict) else {})
    place = child(pointer, "messages")
    chat: list[JsonValue] = []
    given, generated = 0, False
    listed = sample.get("messages")
    for index, item in enumerate(as_list([] if listed is None else listed, place)):
        message = as_object(item, child(place, index))
        generated |= message.get("source") == "generate"
        if message.get("source") == "input" and not generated:
            given = index + 1
        chat.append(_message(message, child(place, index), texts))
    return chat, given, texts.missing


def _message(message: dict[str, JsonValue], pointer: str, texts: _Texts) -> JsonValue:
    content = texts.resolve(message.get("content"))
    calls = message.get("tool_calls")
    if message.get("role") == "tool":
        return {"role": "tool", "name": message.get("function"), "content": content or _failure(message)}
    found = list(as_list(calls, child(pointer, "tool_calls"))) if calls is not None else []
    parts: JsonValue = content
    if isinstance(content, list):
        served = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_use"]
        found += [{"name": part.get("name"), "arguments": part.get("arguments")} for part in served]
        parts = [part for part in content if part not in served]
    return {"role": message.get("role"), "content": parts, "tool_calls": texts.resolve(found) or None}


def _failure(message: dict[str, JsonValue]) -> str:
    """What a tool that failed without a word says."""
    error = message.get("error")
    text = error.get("message") if isinstance(error, dict) else None
    return text if isinstance(text, str) else ""


def scores_of(sample: dict[str, JsonValue]) -> dict[str, dict[str, JsonValue]]:
    """The scores of a sample by their scorers; logs of before several scorers have one without a name."""
    scores = sample.get("scores")
    if scores is None and isinstance(sample.get("score"), dict):
        scores = {"score": sample["score"]}
    return {key: each for key, each in scores.items() if isinstance(each, dict)} if isinstance(scores, dict) else {}


def intermediate_progress(sample: dict[str, JsonValue], turns: int, last: float | None) -> list[JsonValue]:
    """The score after each turn, where the log scored the sample on its way: p_0 .. p_T, 0 until the first score.

    Args:
        sample: The sample with its events.
        turns: Turns of the run.
        last: Its reward, which is its progress at the end; None where it has none.

    Returns:
        turns + 1 numbers in [0, 1]; empty without scores on the way, or where the calls of the model are not the turns.
    """
    curve: list[JsonValue] = []
    reached, scored = 0.0, 0
    for event in objects_in(sample.get("events")):
        if event.get("event") == "model":
            curve.append(reached)
        score = event.get("score")
        if event.get("event") == "score" and event.get("intermediate") is True and isinstance(score, dict):
            value, _, _ = grade(score.get("value"), accurate=False)
            if value is None or not 0 <= value <= 1:
                return []
            reached, scored = value, scored + 1
    usable = scored and len(curve) == turns and (last is None or 0 <= last <= 1)
    return [*curve, reached if last is None else last] if usable else []


def scorers_of(header: dict[str, JsonValue]) -> tuple[list[str], set[str]]:
    """The scorers of a log in order, and those of them that are measured by their accuracy."""
    names: list[str] = []
    accurate: set[str] = set()
    for section, key in (("results", "scores"), ("eval", "scorers")):
        around = header.get(section)
        for scorer in objects_in(around.get(key) if isinstance(around, dict) else None):
            if not isinstance(name := scorer.get("name"), str):
                continue
            names += [name] if name not in names else []
            metrics = scorer.get("metrics")
            told = list(metrics) if isinstance(metrics, dict) else [each.get("name") for each in objects_in(metrics)]
            accurate |= {name} if any(str(metric).rpartition("/")[2] == "accuracy" for metric in told) else set()
    return names, accurate


def objects_in(value: JsonValue) -> list[dict[str, JsonValue]]:
    """The objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def grade(value: JsonValue, accurate: bool) -> tuple[float | None, bool | None, tuple[str, ...]]:
    """Reward, success and notes of a score's value; `accurate` says that its scorer is measured by its accuracy."""
    if isinstance(value, bool):
        return float(value), value, ()
    if isinstance(value, str):
        if value in _GRADES:
            return *_GRADES[value], ()
        said = value.strip().lower()
        if said in _YES | _NO:
            return float(said in _YES), said in _YES, ()
        try:
            value = float(said)
        except ValueError:
            return None, None, ("reward that is not a number",)
    reward, notes = reward_and_notes(value)
    return reward, reward >= 1 if accurate and reward is not None else None, notes
