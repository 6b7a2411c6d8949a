"""Results of promptfoo: what `promptfoo eval --output` writes as JSON, or as JSON Lines, a result each.

Decisions:
- A result is a run of one turn. Its task is the test: its description, or else its variables. Where a file holds
  several prompts or providers, their names are part of the task: each cell of promptfoo's grid is a task.
- `--repeat` gives each repeat a test index of its own; tests of the same variables are repeats of one task.
- An error of the provider (`failureReason` 2, or no output) is INVALID. The `error` of a failed assertion is a verdict.
- A result without assertions passed none: success and reward are None. So it is where the grader itself failed.
- `response.cached` is passed on: a repeat out of promptfoo's cache is no repeat.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from likewise.core.rollout import JsonValue, Rollout
from likewise.core.state_text import canonical_json
from likewise.formats.assemble import FINISHED, NO_ANSWER, Ending, assemble, broken, read_chat, task_of
from likewise.formats.fields import FieldError, as_optional_text, child, collect, ordinal, scalars, type_name
from likewise.formats.files import Lines, outline, read_values
from likewise.formats.rollout_set import Parsed

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "promptfoo"
DESCRIPTION = "promptfoo results, JSON or a result a line"

_ERROR: Final = 2
_NO_ASSERTIONS: Final = "No assertions"


def sniff(head: str, path: Path) -> str | None:
    """None where there are results with `vars` and a `promptIdx`, a `testIdx` or a grading; else why not."""
    del path
    seen = outline(head)
    if seen.kind == "other":
        return "the file does not start with a JSON object or list"
    if "evalId" in seen.keys or {"results.version", "results.timestamp"} <= seen.keys:
        return None
    for prefix in ("results.results[].", "results[].", "[].", ""):
        marks = {f"{prefix}{key}" for key in ("promptIdx", "testIdx", "gradingResult", "failureReason", "promptId")}
        if len(marks & seen.keys) > 1:
            return None
    return "no results with `promptIdx`, `testIdx` and `gradingResult`"


def read(path: Path, label: str) -> Parsed:
    """Read a file of results; run ids are `label#n`, counted within each task.

    Raises:
        RolloutFormatError: The file cannot be read.
    """
    lines = read_values(path)
    records = list(_results(lines))
    grid = _Grid.of([record for record, _, _ in records])
    seen: dict[str, int] = {}

    def make(record: dict[str, JsonValue], pointer: str) -> Rollout:
        return _rollout(record, pointer, grid, path, label, seen)

    rollouts, excluded = collect(records, make, str(path), ("testIdx",))
    return Parsed(tuple(rollouts), (*lines.excluded, *excluded))


def _results(lines: Lines) -> Iterable[tuple[JsonValue, int | None, str]]:
    """The results, wherever they are: `results.results` of an export, `results`, a list, or one a line."""
    for value, line, pointer in lines.values:
        place = pointer
        while isinstance(value, dict) and isinstance(value.get("results"), dict | list):
            value, place = value["results"], child(place, "results")
        if isinstance(value, list):
            yield from ((item, line, child(place, index)) for index, item in enumerate(value))
        else:
            yield value, line, place


@dataclass(frozen=True, slots=True)
class _Grid:
    """Whether the results are of several prompts, and of several providers."""

    prompts: bool
    providers: bool

    @staticmethod
    def of(records: list[JsonValue]) -> _Grid:
        results = [record for record in records if isinstance(record, dict)]
        prompts = {_prompt_name(record) for record in results}
        return _Grid(len(prompts) > 1, len({_provider(record) for record in results}) > 1)


def _section(record: dict[str, JsonValue], key: str) -> dict[str, JsonValue]:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def _provider(record: dict[str, JsonValue]) -> str:
    provider = record.get("provider")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    return provider if isinstance(provider, str) else ""


def _prompt_name(record: dict[str, JsonValue]) -> str:
    """The template of a prompt: its label is the same for all tests, its text is not."""
    for value in (_section(record, "prompt").get("label"), record.get("promptId"), record.get("promptIdx")):
        if isinstance(value, str | int) and str(value).strip():
            return str(value)
    return ""


def _rollout(
    record: dict[str, JsonValue], pointer: str, grid: _Grid, path: Path, label: str, seen: dict[str, int]
) -> Rollout:
    task_id = _task(record, pointer, grid)
    response = _section(record, "response")
    ending = _ending(record, response)
    chat = _prompt(record, pointer)
    scripted = len(chat)
    if ending is FINISHED:
        chat.append((_answer(response.get("output")), child(child(pointer, "response"), "output")))
    graded = _graded(record)
    success = record.get("success")
    meta: dict[str, JsonValue] = {"file": path.name, **scalars(record, ("promptIdx", "testIdx", "latencyMs"))}
    meta |= {"model": _provider(record)} if _provider(record) else {}
    meta |= {"record_id": record["id"]} if isinstance(record.get("id"), str) else {}
    meta |= {"cached": True} if response.get("cached") is True else {}
    return assemble(
        task_id,
        f"{label}#{ordinal(seen, task_id)}",
        read_chat(chat, scripted=scripted),
        ending,
        path=str(path),
        reward=record.get("score") if graded else None,
        success=success if graded and isinstance(success, bool) else None,
        meta=meta,
    )


def _task(record: dict[str, JsonValue], pointer: str, grid: _Grid) -> str:
    name = task_of(_test(record, pointer))
    if not name:
        raise FieldError(child(pointer, "vars"), "missing: no task (expected a description, variables or a prompt)")
    marks = ((_prompt_name(record), grid.prompts), (_provider(record), grid.providers))
    return name + "".join(f" [{task_of(mark)}]" for mark, several in marks if several)


def _test(record: dict[str, JsonValue], pointer: str) -> str:
    """What tells a test from others: its description, its variables, or the whole prompt."""
    test = _section(record, "testCase")
    described = record.get("description") or test.get("description")
    if isinstance(described, str) and described.strip():
        return described
    variables = record.get("vars") or test.get("vars")
    if isinstance(variables, dict) and variables:
        texts = {key: each if isinstance(each, str) else canonical_json(each) for key, each in variables.items()}
        return (
            next(iter(texts.values())) if len(texts) == 1 else ", ".join(f"{key}={text}" for key, text in texts.items())
        )
    place = child(child(pointer, "prompt"), "raw")
    return as_optional_text(_section(record, "prompt").get("raw"), place) or ""


def _prompt(record: dict[str, JsonValue], pointer: str) -> list[tuple[JsonValue, str]]:
    """What the model was given: chat messages where the prompt spells some, else one text."""
    place = child(child(pointer, "prompt"), "raw")
    prompt = record.get("prompt")
    raw = prompt if isinstance(prompt, str) else as_optional_text(_section(record, "prompt").get("raw"), place)
    if not raw:
        return []
    if raw.lstrip().startswith("["):
        try:
            messages = json.loads(raw)
        except (ValueError, RecursionError):
            messages = None
        if isinstance(messages, list) and messages and all(isinstance(e, dict) and "role" in e for e in messages):
            return [(message, place) for message in messages]
    return [({"role": "user", "content": raw}, place)]


def _answer(output: JsonValue) -> JsonValue:
    """An output as a message: a text, calls of tools, or JSON."""
    if isinstance(output, str):
        return {"role": "assistant", "content": output}
    listed: list[JsonValue] = output if isinstance(output, list) else [output]
    if listed and all(isinstance(each, dict) and ("function" in each or "arguments" in each) for each in listed):
        return {"role": "assistant", "content": None, "tool_calls": listed}
    return {"role": "assistant", "content": canonical_json(output)}


def _ending(record: dict[str, JsonValue], response: dict[str, JsonValue]) -> Ending:
    output = response.get("output")
    error = response.get("error") or record.get("error")
    if record.get("failureReason") == _ERROR or response.get("error") or (output is None and error):
        return broken(error if isinstance(error, str) else type_name(error))
    if output is None or (isinstance(output, str) and not output.strip()):
        return NO_ANSWER
    return FINISHED


def _graded(record: dict[str, JsonValue]) -> bool:
    """Whether a verdict was reached: there was something to assert, and no grader failed over it."""
    grading = record.get("gradingResult")
    if not isinstance(grading, dict):
        return record.get("failureReason") == 1 or bool(_section(record, "testCase").get("assert"))
    parts = grading.get("componentResults")
    failed = any(_section(part, "metadata").get("graderError") is True for part in _dicts(parts))
    return grading.get("reason") != _NO_ASSERTIONS and not failed


def _dicts(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
