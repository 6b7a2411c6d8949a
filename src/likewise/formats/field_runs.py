"""From records and a table of their fields to rollouts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from likewise.core.rollout import Action, Excluded, JsonValue, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.formats.assemble import FINISHED, NO_ANSWER, UNKNOWN_END, Ending, assemble, broken, cut, task_of
from likewise.formats.field_map import Calls, FieldMap, Messages, Turns, find, has, is_set, text_of
from likewise.formats.fields import FieldError, as_list, as_object, bounded, child, first_line, ordinal
from likewise.formats.files import Lines
from likewise.formats.messages import EMPTY, Conversation
from likewise.formats.rollout_set import Parsed

__all__ = ["read_runs"]

_YES: Final = frozenset({"true", "yes", "y", "1", "1.0", "pass", "passed", "success", "correct", "solved"})
_NO: Final = frozenset({"false", "no", "n", "0", "0.0", "fail", "failed", "failure", "incorrect", "wrong", "unsolved"})
_LONGEST_ID: Final = 200
_SHOWN: Final = 12


def read_runs(lines: Lines, fields: FieldMap, path: Path, label: str) -> Parsed:
    """The runs of the records of a file.

    Args:
        lines: The records, or values that hold lists of them.
        fields: Where their facts are.
        path: File they were read from.
        label: Name of the file in run ids, which are `label#run`; runs without a name of their own are counted.
    """
    rollouts: list[Rollout] = []
    excluded = list(lines.excluded)
    seen: dict[str, int] = {}
    missing = set(fields.paths())
    for value, line, pointer in _records(lines, fields.records):
        try:
            record = as_object(value, pointer)
            missing -= {name for name in missing if has(record, name)}
            rollouts += _Record(record, pointer, fields, path, label).runs(seen)
        except FieldError as error:
            excluded.append(Excluded(None, None, error.problem, str(path), line, error.pointer))
        except RecursionError:
            excluded.append(Excluded(None, None, "nested too deeply", str(path), line, pointer))
    names = ", ".join(repr(name) for name in fields.paths() if name in missing)
    warnings = (f"{path}: no record has {names}",) if names and rollouts else ()
    return Parsed(tuple(rollouts), tuple(excluded), warnings)


def _records(lines: Lines, place: str) -> Iterable[tuple[JsonValue, int | None, str]]:
    for value, line, pointer in lines.values:
        inner = find(value, place) if place else value
        at = pointer + "".join(f"/{key}" for key in place.split(".")) if place else pointer
        if isinstance(inner, list):
            yield from ((item, line, child(at, index)) for index, item in enumerate(inner))
        else:
            yield inner, line, at


@dataclass(frozen=True, slots=True)
class _Record:
    record: dict[str, JsonValue]
    pointer: str
    fields: FieldMap
    path: Path
    label: str

    def text(self, paths: Iterable[str], joined_by: str) -> str:
        texts = (text_of(find(self.record, each, self.path)) for each in paths)
        return joined_by.join(text for text in texts if text.strip())

    def runs(self, seen: dict[str, int]) -> list[Rollout]:
        """The runs of one record: one, or one for each of its answers."""
        task_id = self.task()
        name = self.text(self.fields.run, "/")
        talks = self.talks()
        rollouts = []
        for number, talk in enumerate(talks):
            count = ordinal(seen, task_id)
            own = name if len(talks) == 1 else f"{name}.{number}"
            rollouts.append(self.rollout(task_id, f"{self.label}#{own if name else count}", talk))
        return rollouts

    def task(self) -> str:
        parts = [text_of(find(self.record, each, self.path)) for each in self.fields.task]
        for path, part in zip(self.fields.task, parts, strict=True):
            if not part.strip():
                known = list(self.record)
                found = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
                raise FieldError(child(self.pointer, path), f"missing or blank: no task (the record has {found})")
        named = "/".join(parts)
        return task_of(named) if self.fields.by_text or len(named) > _LONGEST_ID else named

    def talks(self) -> list[Conversation]:
        start = [Observation("system", text) for text in self.each(self.fields.system)]
        start += [Observation("user", text) for text in self.each(self.fields.prompt)]
        if self.fields.turns is None and self.fields.messages is None:
            return [Conversation((Turn(tuple(start), Action(text)),), (), ()) for text in self.answers()]
        talk = Conversation((), tuple(start), ())
        if self.fields.turns is not None:
            talk = _with_turns(self.record, self.fields.turns, self.pointer, talk)
        if self.fields.messages is not None:
            talk = _with_messages(self.record, self.fields.messages, self.pointer, talk)
        last = self.text(self.fields.answers, "\n")
        if last and talk.turns and not talk.turns[-1].action.tool_calls:
            talk = replace(talk, turns=(*talk.turns[:-1], replace(talk.turns[-1], action=Action(last))))
        return [talk]

    def each(self, paths: Iterable[str]) -> list[str]:
        return [text for path in paths if (text := text_of(find(self.record, path, self.path))).strip()]

    def answers(self) -> list[str]:
        found: list[str] = []
        for path in self.fields.answers:
            value = find(self.record, path, self.path)
            several = isinstance(value, list) and all(isinstance(each, str | None) for each in value)
            found += [text_of(each) for each in value] if isinstance(value, list) and several else [text_of(value)]
        return found

    def rollout(self, task_id: str, run_id: str, talk: Conversation) -> Rollout:
        ending, note = self.ending(talk)
        success, success_note = self.success()
        if ending.stop is StopReason.CUT:
            success = bool(success)
        talk = replace(talk, notes=(*talk.notes, *(each for each in (note, success_note) if each)))
        reward = find(self.record, self.fields.reward) if self.fields.reward else None
        return assemble(
            task_id,
            run_id,
            talk,
            ending,
            path=str(self.path),
            reward=_number(reward),
            success=success,
            meta={"file": self.path.name, **self.facts()},
        )

    def ending(self, talk: Conversation) -> tuple[Ending, str | None]:
        fields = self.fields
        error = find(self.record, fields.error) if fields.error else None
        status = text_of(find(self.record, fields.status)).strip() if fields.status else ""
        if is_set(error) or status in fields.invalid:
            return broken(text_of(error) if is_set(error) else status), None
        if status in fields.cut:
            return cut(f"stopped: {status}"), None
        plain = fields.turns is None and fields.messages is None
        if plain and all(turn.action.is_empty for turn in talk.turns):
            return NO_ANSWER, None
        if status and status not in fields.finished:
            return FINISHED, f"a status that is not known: {first_line(status, 60)}"
        return (FINISHED if plain or status else UNKNOWN_END), None

    def success(self) -> tuple[bool | None, str | None]:
        value = find(self.record, self.fields.success) if self.fields.success else None
        word = text_of(value).strip().lower()
        if word in _YES or word in _NO:
            return word in _YES, None
        return None, "success that is neither yes nor no" if word else None

    def facts(self) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = {}
        for name, path in self.fields.facts:
            value = find(self.record, path, self.path)
            if not is_set(value) and value is not False:
                continue
            if name == "response_ids":
                found[name] = [text_of(each) for each in value] if isinstance(value, list) else [text_of(value)]
            elif name == "cached":
                found[name] = text_of(value).strip().lower() in _YES
            elif not isinstance(value, list | dict):
                found[name] = value
        return found


def _number(value: JsonValue) -> JsonValue:
    """A reward as a table writes it."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return float(value)
    except ValueError:
        return value


def _with_turns(record: dict[str, JsonValue], fields: Turns, pointer: str, start: Conversation) -> Conversation:
    turns: list[Turn] = []
    waiting = list(start.last_observations)
    notes: dict[str, None] = {}
    at = child(pointer, fields.list)
    for index, item in enumerate(as_list(find(record, fields.list), at)):
        place = child(at, index)
        turn = as_object(item, place)
        waiting += [Observation("user", text) for path in fields.before if (text := text_of(find(turn, path))).strip()]
        call = _call(turn, fields.call) if fields.call else None
        text = next((text for path in fields.text if (text := text_of(find(turn, path))).strip()), "")
        if call and fields.call and fields.call.instead_of_text:
            text = ""
        action = Action(text, (call,) if call else ())
        notes |= {EMPTY: None} if action.is_empty else {}
        turns.append(Turn(tuple(waiting), action))
        after = [text_of(find(turn, path)) for path in fields.after]
        waiting = [Observation("tool", text, call.name if call else None) for text in after if text.strip()]
    return Conversation(tuple(turns), tuple(waiting), (*start.notes, *notes))


def _call(turn: dict[str, JsonValue], fields: Calls) -> ToolCall | None:
    if not all(text_of(find(turn, path)) in allowed for path, allowed in fields.only):
        return None
    name = " ".join(part for path in fields.name if (part := text_of(find(turn, path)).strip()))
    if not name:
        return None
    arguments: dict[str, JsonValue] = {}
    for path in fields.arguments:
        value = find(turn, path)
        if isinstance(value, dict):
            arguments |= value
        elif is_set(value):
            arguments[path.partition("@")[0].rpartition(".")[2]] = value
    return ToolCall(name, bounded({key: value for key, value in arguments.items() if key not in fields.drop}))


@dataclass(slots=True)
class _Talk:
    turns: list[Turn] = field(default_factory=list)
    waiting: list[Observation] = field(default_factory=list)


def _with_messages(record: dict[str, JsonValue], fields: Messages, pointer: str, start: Conversation) -> Conversation:
    talk = _Talk(waiting=list(start.last_observations))
    at = child(pointer, fields.list)
    for index, item in enumerate(as_list(find(record, fields.list), at)):
        message = as_object(item, child(at, index))
        role, text = text_of(find(message, fields.role)), text_of(find(message, fields.text))
        if role in fields.skip:
            continue
        if role in fields.agent:
            talk.turns.append(Turn(tuple(talk.waiting), Action(text)))
            talk.waiting = []
        else:
            source = "system" if role in fields.system else "tool" if role in fields.tool else "user"
            talk.waiting.append(Observation(source, text))
    return Conversation(tuple(talk.turns), tuple(talk.waiting), start.notes)
