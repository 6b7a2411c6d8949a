"""Step traces of LangChain and LangGraph agents: a JSON object of `steps`, each an `llm`, a `tool` or the framework's.

Decisions:
- A file is a run. Task and framework are in the file, or in its name alone (`trace_<framework>_<task>_trial<k>_<unix>`,
  read from the right: a framework's name may hold underscores). Every trial may be called 1, so the file is the run.
- An `llm` step is an action, and the `tool` steps after it are the calls of that action; their outputs come before the
  next one. Steps of the framework itself (plans carried out, graphs built, compensations) are observations.
- What the model was shown (`input`) is the repr of message objects, which nothing can parse: text, given once, and
  later only what is new in it. Inputs of tools are Python literals.
- An `llm` step without output called a tool that the trace does not show: an empty action, noted. A run in which no
  step says anything is INVALID.
- `status` "success" says that the framework came to an end, not that the task was solved: success is None. A limit of
  iterations is CUT and failed; a missing key, package or connection is INVALID; other failures are the run's own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from likewise.core.rollout import Action, JsonValue, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.formats.assemble import CUT_BY_LIMIT, FINISHED, UNKNOWN_END, Ending, assemble, broken, one_run, task_of
from likewise.formats.fields import (
    as_list,
    as_object,
    as_text,
    bounded,
    child,
    first_line,
    identifier,
    scalars,
)
from likewise.formats.files import outline
from likewise.formats.literals import python_object
from likewise.formats.messages import EMPTY, LITERAL, UNPARSED, Conversation
from likewise.formats.rollout_set import Parsed
from likewise.formats.top_level import read_object, refused_whole
from likewise.formats.walk import unpacked_name

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "langchain-steps"
DESCRIPTION = "step traces of LangChain and LangGraph agents, a JSON object with `steps`"

_FILE_NAME: Final = re.compile(r"trace_(?P<framework>.+)_(?P<task>[^_]+)_trial(?P<trial>\d+)_(?P<unix>\d+)")
_LIMIT: Final = re.compile(r"max(?:imum)?[ _]iterations|recursion[ _]?limit|step limit|max(?:imum)?[ _]steps", re.I)
_INFRA: Final = re.compile(
    r"api[ _]?key|not installed|no module named|rate[ _]?limit|\b(?:401|403|429|50[0234])\b|quota|connection"
    r"|timed? ?out|unavailable|unauthori[sz]ed",
    re.I,
)


def sniff(head: str, path: Path) -> str | None:
    """None where the top level has `steps` with a `type`, and a `name`, `output` or `tokens`; else why not."""
    del path
    seen = outline(head)
    if seen.kind != "object":
        return "the top level is not an object"
    details = {"steps[].name", "steps[].output", "steps[].tokens"} & seen.keys
    if "steps[].type" in seen.keys and details and "steps[].source" not in seen.keys:
        return None
    return "no `steps` with `type` and `name`"


def read(path: Path, label: str) -> Parsed:
    """Read one trace; its run id is `label`.

    Raises:
        RolloutFormatError: The file cannot be read, or is no object with a list `steps`.
    """
    top = read_object(path, "`steps`")
    with refused_whole(path):
        steps = as_list(top.get("steps"), "/steps")
    return one_run(lambda: _rollout(top, steps, label, path), label, path)


def _rollout(top: dict[str, JsonValue], steps: list[JsonValue], label: str, path: Path) -> Rollout:
    talk, first_input = _conversation(steps)
    named = _FILE_NAME.fullmatch(unpacked_name(path.name).removesuffix(".json"))
    meta: dict[str, JsonValue] = {"file": path.name, **scalars(top, ("trace_id", "status"))}
    framework = top.get("framework") or (named and named["framework"])
    meta |= {"agent": framework} if isinstance(framework, str) else {}
    for name, key in (("started", "start_time"), ("ended", "end_time")):
        meta |= {name: top[key]} if isinstance(top.get(key), str | int | float) else {}
    models = (_part(step, "metadata").get("model") for step in steps)
    model = next((each for each in models if isinstance(each, str)), None)
    meta |= {} if model is None else {"model": model}
    ending, success = _ending(top, talk)
    return assemble(
        _task(top, named, first_input, path), label, talk, ending, path=str(path), success=success, meta=meta
    )


def _task(top: dict[str, JsonValue], named: re.Match[str] | None, first_input: str, path: Path) -> str:
    if top.get("task_id") is not None:
        return identifier(top["task_id"], "/task_id")
    if named:
        return named["task"]
    return task_of(first_input) if first_input.strip() else path.stem


def _part(record: JsonValue, key: str) -> dict[str, JsonValue]:
    value = record.get(key) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


@dataclass(slots=True)
class _Builder:
    """Turns in the making: an action stays open while the tools that it called follow."""

    turns: list[Turn] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    seen: list[Observation] = field(default_factory=list)
    results: list[Observation] = field(default_factory=list)
    text: str | None = None
    calls: list[ToolCall] = field(default_factory=list)
    shown: str = ""
    first_input: str = ""

    def close(self) -> None:
        """End the open action."""
        if self.text is not None or self.calls:
            action = Action(self.text or "", tuple(self.calls))
            self.turns.append(Turn(tuple(self.seen), action))
            self.notes |= {EMPTY: None} if action.is_empty else {}
            self.seen, self.results = self.results, []
            self.text, self.calls = None, []

    def show(self, given: str) -> None:
        """Observe what a model was shown, but for what it was shown before."""
        self.first_input = self.first_input or given
        before = self.shown.rstrip("]")
        new = given[len(before) :].lstrip(", ") if before and given.startswith(before) else given
        if new.strip("] ") and given != self.shown:
            self.seen.append(Observation("user", new))
        self.shown = given

    def observe(self, observation: Observation) -> None:
        """Observe what came after the open action, or before the first."""
        opened = self.text is not None or self.calls
        (self.results if opened else self.seen).append(observation)


def _conversation(steps: list[JsonValue]) -> tuple[Conversation, str]:
    building = _Builder()
    for index, item in enumerate(steps):
        place = child("/steps", index)
        step = as_object(item, place)
        kind = as_text(step.get("type"), child(place, "type"))
        output = _text(step.get("output"))
        if kind == "llm":
            building.close()
            building.show(_text(step.get("input")))
            building.text = output
        elif kind == "tool":
            name = as_text(step.get("name"), child(place, "name"))
            building.calls.append(ToolCall(name, _arguments(step.get("input"), building)))
            building.observe(Observation("tool", output or _text(step.get("error")), name))
        else:
            named = step.get("name")
            said = output or _text(step.get("error"))
            building.observe(Observation("tool", said, named if isinstance(named, str) else kind))
    building.close()
    return Conversation(tuple(building.turns), tuple(building.seen), tuple(building.notes)), building.first_input


def _text(value: JsonValue) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _arguments(value: JsonValue, building: _Builder) -> dict[str, JsonValue] | str:
    if isinstance(value, dict):
        return bounded(value)
    text = _text(value)
    if not text.strip():
        return {}
    literal = python_object(text)
    building.notes[UNPARSED if literal is None else LITERAL] = None
    return text if literal is None else bounded(literal)


def _ending(top: dict[str, JsonValue], talk: Conversation) -> tuple[Ending, bool | None]:
    status, success = top.get("status"), top.get("success")
    error = top.get("error") or _part(top, "metadata").get("error")
    failed = success is False or (isinstance(status, str) and status.lower() not in ("success", "completed"))
    text = _text(error)
    if not failed and not text:
        return (FINISHED if status is not None or success is not None else UNKNOWN_END), None
    if _LIMIT.search(text):
        return CUT_BY_LIMIT, False
    if _INFRA.search(text) or not talk.turns:
        return broken(text or str(status)), None
    note = f"the framework reports: {first_line(text or str(status), 80)}"
    return Ending(StopReason.CUT, None, (note,)), False
