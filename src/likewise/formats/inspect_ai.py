"""Inspect AI logs: `.eval` archives and JSON; a sample is a task, an epoch is a run of it.

Decisions:
- The task is the evaluation's name and the sample's id (`task/id`), the run `label#task/id#epoch`. Samples are sorted
  by id and epoch: the order in an archive is that in which they ended.
- A sample with an `error` failed in the harness, and one that was invalidated afterwards is as good as not run: both
  are INVALID.
- A sample that ran into a limit (messages, tokens, time, turns, cost, context) is CUT and valid; without a score it
  failed. So is one whose last answer ended at the model's length limit. One that a person stopped failed nothing.
- Of (id, epoch) twice in one log, as a resumed evaluation writes it, the last counts.
- Success and reward are those of the first scorer; the values of all are in `meta["scores"]`. C is success, I, N and P
  are none (P is worth 0.5), booleans say it, and a number says it where the scorer is measured by its accuracy: from 1
  on. Any other number is a reward only.
- A sample that was scored on its way (intermediate scores) has the score after each turn in `meta["progress"]`.
- Messages given with the sample are nobody's actions. Tools that the provider runs itself are calls like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.provenance import sha256
from likewise.core.rollout import Excluded, JsonValue, Rollout, StopReason
from likewise.formats.assemble import FINISHED, Ending, assemble, broken, cut
from likewise.formats.compressed import ZIP, Archive, open_archive
from likewise.formats.fields import (
    FieldError,
    as_list,
    as_object,
    child,
    collect,
    first_line,
    identifier,
    scalars,
    type_name,
)
from likewise.formats.files import outline
from likewise.formats.inspect_samples import (
    archived_sample,
    archived_samples,
    chat_messages,
    grade,
    intermediate_progress,
    member_json,
    objects_in,
    scorers_of,
    scores_of,
)
from likewise.formats.message_shapes import text_of
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed
from likewise.formats.top_level import read_object, refused_whole

__all__ = ["DESCRIPTION", "NAME", "SUFFIXES", "read", "sniff"]

NAME = "inspect"
DESCRIPTION = "Inspect AI logs, .eval or JSON, epochs as repeats"
SUFFIXES = frozenset({".eval"})

MISSING = "a text that the log keeps elsewhere is missing"
_HEADERS: Final = ("header.json", "_journal/start.json")
_LENGTH: Final = ("max_tokens", "model_length")
_BY_A_PERSON: Final = "operator"


@dataclass(slots=True)
class _Log:
    """What the samples of one log share; `runs` are those read so far, by id and epoch."""

    path: Path
    label: str
    header: dict[str, JsonValue]
    warnings: list[str] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
    runs: dict[tuple[str, str], Rollout] = field(default_factory=dict)

    def section(self, *keys: str) -> dict[str, JsonValue]:
        """An object inside the header, empty where it is none."""
        value: JsonValue = self.header
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, dict) else {}

    def add(self, sample: JsonValue, pointer: str, path: str) -> None:
        """Read one sample; one that cannot be read is excluded, one that is written again replaces the first."""
        numbered = [(sample, None, pointer)]
        made, refused = collect(numbered, lambda record, at: _rollout(record, at, self), path, ("id",))
        self.excluded += refused
        for run in made:
            key = run.task_id, run.run_id
            if key in self.runs:
                reason = "written again later in the log"
                self.excluded.append(Excluded(*key, reason, self.runs.pop(key).path))
                self.warnings.append(f"{path}: run {run.run_id!r} is in the log more than once; the last counts")
            self.runs[key] = run


def sniff(head: str, path: Path) -> str | None:
    """None where the file is an archive with a log's header, or an object with an `eval` with a task; else why not."""
    if head.encode("utf-8", "replace").startswith(ZIP):
        if path.suffix.lower() in SUFFIXES:
            return None
        try:
            with open_archive(path) as archive:
                return None if set(_HEADERS) & set(archive.names) else "a zip archive without header.json"
        except RolloutFormatError as error:
            return error.problem
    seen = outline(head)
    if seen.kind != "object":
        return "neither an archive nor an object"
    return None if {"eval.task", "eval.dataset"} & seen.keys else "no `eval` with a task"


def read(path: Path, label: str) -> Parsed:
    """Read a log; run ids are `label#task/id#epoch`.

    Raises:
        RolloutFormatError: The file cannot be read, is an archive that is refused, or no log of Inspect.
    """
    try:
        with path.open("rb") as file:
            archived = file.read(4).startswith(ZIP)
    except (OSError, ValueError):
        archived = False  # the reading below says what is wrong
    log = _read_archive(path, label) if archived else _read_json(path, label)
    runs = sorted(log.runs.values(), key=lambda run: (_order(run.meta["id"]), _order(run.meta["epoch"])))
    return Parsed(tuple(runs), tuple(log.excluded), (*log.warnings, *_complaints(log)))


def _order(value: JsonValue) -> tuple[bool, int, str]:
    """Numbers by their value, before texts."""
    text = str(value)
    number = text.isdecimal() and len(text) < 19
    return not number, int(text) if number else 0, text


def _read_json(path: Path, label: str) -> _Log:
    top = read_object(path, "`eval` and `samples`")
    with refused_whole(path):
        as_object(top.get("eval"), "/eval")
        samples = as_list(top.get("samples") or [], "/samples")
    log = _Log(path, label, {key: value for key, value in top.items() if key != "samples"})
    for index, sample in enumerate(samples):
        log.add(sample, child("/samples", index), str(path))
    return log


def _read_archive(path: Path, label: str) -> _Log:
    with open_archive(path) as archive:
        log = _Log(path, label, _header(archive))
        if not log.section("results"):
            log.warnings.append(f"{path}: the log is not finished; it holds the samples that had ended")
        repeated = [name for name in archive.repeated if name.startswith("samples/")]
        if repeated:
            log.warnings.append(f"{path}: {len(repeated)} samples lie in the archive more than once; the last count")
        for name in archived_samples(archive):
            try:
                sample = archived_sample(archive, name)
            except RolloutFormatError as error:
                log.excluded.append(Excluded(None, None, error.problem, f"{path}/{name}", error.line, error.pointer))
            except FieldError as error:
                log.excluded.append(Excluded(None, None, error.problem, f"{path}/{name}", None, error.pointer))
            else:
                log.add(sample, "", f"{path}/{name}")
    return log


def _header(archive: Archive) -> dict[str, JsonValue]:
    """The log's header; of a log that is not finished, what it said when it started."""
    name = next((name for name in _HEADERS if name in archive.names), None)
    if name is None:
        raise RolloutFormatError(str(archive.path), "no header.json in the archive (expected a log of Inspect AI)")
    header = member_json(archive, name)
    if not isinstance(header, dict):
        raise RolloutFormatError(f"{archive.path}/{name}", type_name(header), pointer="", expected="an object")
    return header


def _complaints(log: _Log) -> Iterator[str]:
    """What a reader should know about a log as a whole."""
    status = log.header.get("status")
    if status in ("error", "cancelled"):
        error = log.section("error").get("message")
        why = f": {first_line(error)}" if isinstance(error, str) else ""
        yield f"{log.path}: the evaluation ended with status {status!r}{why}; what it holds is read"
    ids, epochs = log.section("eval", "dataset").get("sample_ids"), log.section("eval", "config").get("epochs")
    declared = epochs if isinstance(epochs, int) and not isinstance(epochs, bool) else 1
    if isinstance(ids, list) and ids and len(log.runs) < len(ids) * declared:
        what = f"{len(ids)} sample(s) of {declared} epoch(s)"
        yield f"{log.path}: declares {what} and holds {len(log.runs)} run(s); the rest is missing, not failed"
    scorers, _ = scorers_of(log.header)
    if len(scorers) > 1:
        yield f"{log.path}: success is that of the scorer {scorers[0]!r}, the first of {len(scorers)}"


def _rollout(sample: dict[str, JsonValue], pointer: str, log: _Log) -> Rollout:
    identity = identifier(sample.get("id"), child(pointer, "id"))
    epoch = identifier(sample.get("epoch", 1), child(pointer, "epoch"))
    name = log.section("eval").get("task")
    task_id = f"{name}/{identity}" if isinstance(name, str) and name else identity
    chat, given, missing = chat_messages(sample, pointer)
    talk = read_messages(chat, child(pointer, "messages"), scripted=given)
    ending = _ending(sample)
    reward, success, notes = _graded(sample, log)
    if ending.stop is StopReason.CUT and _limit(sample) != _BY_A_PERSON:
        success = bool(success)
    curve = intermediate_progress(sample, len(talk.turns), reward)
    retries = sample.get("error_retries")
    more = [*notes, *([MISSING] if missing else [])]
    more += [f"tried again after {len(retries)} error(s)"] if isinstance(retries, list) and retries else []
    return assemble(
        task_id,
        f"{log.label}#{task_id}#{epoch}",
        Conversation(talk.turns, talk.last_observations, (*talk.notes, *more)),
        ending,
        path=str(log.path),
        reward=reward,
        success=success,
        meta=_meta(sample, log, identity, epoch) | ({"progress": curve} if curve else {}),
    )


def _graded(sample: dict[str, JsonValue], log: _Log) -> tuple[float | None, bool | None, tuple[str, ...]]:
    """Reward, success and notes by the first scorer that scored the sample."""
    scores, (scorers, accurate) = scores_of(sample), scorers_of(log.header)
    first = next((name for name in (*scorers, *scores) if name in scores), None)
    return grade(scores[first].get("value"), first in accurate) if first is not None else (None, None, ())


def _meta(sample: dict[str, JsonValue], log: _Log, identity: str, epoch: str) -> dict[str, JsonValue]:
    evaluation = log.section("eval")
    meta: dict[str, JsonValue] = {"file": log.path.name, "id": identity, "epoch": epoch}
    meta |= scalars(evaluation, ("task", "task_version", "model", "created"))
    meta |= {"agent": evaluation["solver"]} if isinstance(evaluation.get("solver"), str) else {}
    run, task = evaluation.get("run_id"), evaluation.get("task_id")
    made_up = f"{run}/{task}/{identity}/{epoch}" if isinstance(run, str) and isinstance(task, str) else None
    record_id = sample["uuid"] if isinstance(sample.get("uuid"), str) else made_up
    meta |= {"record_id": record_id} if record_id else {}
    given = sample.get("input")
    texts = [text_of(each.get("content")) for each in objects_in(given)] or [text_of(given)]
    meta["prompt_sha256"] = sha256("\n".join(texts))
    answers = [each for each in objects_in(sample.get("messages")) if each.get("role") == "assistant"]
    ids = [each["id"] for each in answers if each.get("source") == "generate" and isinstance(each.get("id"), str)]
    meta |= {"response_ids": ids} if ids else {}
    meta |= {"cached": True} if any(each.get("cache") == "read" for each in objects_in(sample.get("events"))) else {}
    for key, name in (("started_at", "started"), ("completed_at", "ended")):
        meta |= {name: sample[key]} if isinstance(sample.get(key), str) else {}
    values = {name: score.get("value") for name, score in scores_of(sample).items()}
    return meta | ({"scores": values} if values else {})


def _limit(sample: dict[str, JsonValue]) -> str | None:
    """The kind of limit that ended a sample; old logs tell it by an event only."""
    limit = sample.get("limit")
    if isinstance(limit, dict):
        return str(limit.get("type"))
    events = sample.get("events")
    found = (
        [e for e in events if isinstance(e, dict) and e.get("event") == "sample_limit"]
        if isinstance(events, list)
        else []
    )
    return str(found[-1].get("type")) if found else None


def _ending(sample: dict[str, JsonValue]) -> Ending:
    if isinstance(sample.get("invalidation"), dict):
        reason = as_object(sample["invalidation"], "/invalidation").get("reason")
        return broken(f"invalidated: {reason}" if isinstance(reason, str) else "invalidated")
    error = sample.get("error")
    if error:
        return broken(error.get("message") if isinstance(error, dict) else error)
    limit = _limit(sample)
    if limit is not None:
        return cut("stopped by a person" if limit == _BY_A_PERSON else f"stopped by the {limit[:40]} limit")
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    last = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(last, dict) and last.get("stop_reason") in _LENGTH:
        return cut("stopped by the model's length limit")
    return FINISHED
