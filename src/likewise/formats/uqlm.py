"""Repeated answers as uqlm keeps them: `{prompts, responses, sampled_responses}`, or the same below `data`.

Decisions:
- A prompt is a task; its response and each of its samples is a run of one turn: the prompt, then the answer.
- An answer that is null or blank was not given: INVALID, never an empty answer.
- Where the first response was made at another temperature than the samples, a warning says so.
- Scores of uqlm's own (`exact_match`, `noncontradiction`, ...) are of the prompt and kept in meta.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from likewise.core.rollout import Action, Excluded, JsonValue, Observation, Rollout, Turn
from likewise.formats.assemble import FINISHED, NO_ANSWER, assemble, task_of
from likewise.formats.fields import (
    FieldError,
    as_list,
    as_object,
    as_optional_text,
    as_text,
    child,
    ordinal,
    scalars,
)
from likewise.formats.files import outline
from likewise.formats.messages import Conversation
from likewise.formats.rollout_set import Parsed
from likewise.formats.top_level import read_object, refused_whole

__all__ = ["DESCRIPTION", "NAME", "read", "sniff"]

NAME = "uqlm"
DESCRIPTION = "repeated answers of uqlm, a JSON object with `prompts` and `responses`"

_LISTS: Final = frozenset({"prompts", "responses", "sampled_responses"})


def sniff(head: str, path: Path) -> str | None:
    """None where the top level, or `data`, has `responses` beside `prompts` or `sampled_responses`; else why not."""
    del path
    seen = outline(head)
    if seen.kind != "object":
        return "the top level is not an object"
    for prefix in ("", "data."):
        has = {key for key in ("prompts", "responses", "sampled_responses") if prefix + key in seen.keys}
        if "responses" in has and len(has) > 1:
            return None
    return "no `responses` beside `prompts` or `sampled_responses`"


def read(path: Path, label: str) -> Parsed:
    """Read a file of answers; run ids are `label#sample` within each prompt, sample 0 being the response.

    Raises:
        RolloutFormatError: The file cannot be read, or its lists do not go together.
    """
    top = read_object(path, "`responses`")
    at = "/data" if isinstance(top.get("data"), dict) else ""
    data = as_object(top.get("data") if at else top, at)
    with refused_whole(path):
        columns = _columns(data, at)
    first, samples = _settings(top)
    rollouts: list[Rollout] = []
    excluded: list[Excluded] = []
    seen: dict[str, int] = {}
    for index in range(len(columns["responses"])):
        try:
            prompt, answers = _cell(columns, index, at)
        except FieldError as error:
            excluded.append(Excluded(None, f"{label}#{index}", error.problem, str(path), None, error.pointer))
            continue
        scores = {key: values[index] for key, values in columns.items() if key not in _LISTS}
        task_id = str(index) if prompt is None else task_of(prompt)
        for number, answer in enumerate(answers):
            meta = {"file": path.name, "sample": number, **(samples if number else first), **scores}
            run_id = f"{label}#{ordinal(seen, task_id)}"
            rollouts.append(_rollout(task_id, run_id, prompt, answer, str(path), meta))
    warnings: tuple[str, ...] = ()
    if columns["sampled_responses"] and first.get("temperature") != samples.get("temperature"):
        temperatures = f"{first.get('temperature')}, the samples at {samples.get('temperature')}"
        warnings = (f"{path}: the first responses were made at temperature {temperatures}; all count as runs",)
    return Parsed(tuple(rollouts), tuple(excluded), warnings)


def _columns(data: dict[str, JsonValue], at: str) -> dict[str, list[JsonValue]]:
    """The lists that have one item a prompt: those of the format (empty where missing), and scores."""
    responses = as_list(data.get("responses"), child(at, "responses"))
    columns = {"responses": responses}
    for key in ("prompts", "sampled_responses"):
        columns[key] = as_list(data.get(key) or [], child(at, key))
        if columns[key] and len(columns[key]) != len(responses):
            raise FieldError(child(at, key), f"{len(columns[key])} items beside {len(responses)} responses")
    for key, values in data.items():
        if key not in _LISTS and isinstance(values, list) and len(values) == len(responses):
            columns |= {key: values} if all(isinstance(value, int | float) for value in values) else {}
    return columns


def _cell(columns: dict[str, list[JsonValue]], index: int, at: str) -> tuple[str | None, list[str | None]]:
    """A prompt and its answers, the response before the samples."""
    response_at, samples_at = (child(child(at, key), index) for key in ("responses", "sampled_responses"))
    answers = [as_optional_text(columns["responses"][index], response_at)]
    if columns["sampled_responses"]:
        samples = as_list(columns["sampled_responses"][index] or [], samples_at)
        answers += [as_optional_text(each, child(samples_at, number)) for number, each in enumerate(samples)]
    if not columns["prompts"]:
        return None, answers
    prompt_at, prompt = child(child(at, "prompts"), index), columns["prompts"][index]
    if isinstance(prompt, list):  # a prompt that is a chat
        contents = [as_object(each, child(prompt_at, n)).get("content") for n, each in enumerate(prompt)]
        return "\n".join(each for each in contents if isinstance(each, str)), answers
    return as_text(prompt, prompt_at), answers


def _settings(top: dict[str, JsonValue]) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
    """How the responses and how the samples were made."""
    facts = top.get("metadata")
    facts = facts if isinstance(facts, dict) else {}
    nested = facts.get("parameters")
    facts = nested if isinstance(nested, dict) else facts
    common = scalars(facts, ("model", "temperature"))
    sampled = facts.get("sampling_temperature")
    return common, common | ({"temperature": sampled} if isinstance(sampled, int | float) else {})


def _rollout(
    task_id: str, run_id: str, prompt: str | None, answer: str | None, path: str, meta: dict[str, JsonValue]
) -> Rollout:
    given = (Observation("user", prompt),) if prompt else ()
    talk = Conversation((Turn(given, Action(answer or "")),), (), ())
    return assemble(task_id, run_id, talk, FINISHED if answer and answer.strip() else NO_ANSWER, path=path, meta=meta)
