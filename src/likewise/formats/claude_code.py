"""Sessions of Claude Code: JSON Lines, one block of a message a line, as they lie in `~/.claude/projects`.

Decisions:
- A run is one conversation: a session up to `/clear`, and from one `/clear` to the next. Its task is its first prompt.
- Lines of one `message.id` are one message, at the place of its first line: a text that goes on replaces its beginning
  (streaming writes partial lines first), a call of a known id replaces that call, all else is added.
- Compaction does not end a run: the summary is an observation, and noted.
- A session that goes on in another file (same `slug`, no message in common, later) is joined to its first conversation;
  what follows a `/clear` stands alone.
- Lines of sub-agents (`isSidechain`) are left out and counted in a warning: their parent saw only the result.
- A message that the client wrote itself in the model's place (`<synthetic>`) is no action. Where an API error is the
  last thing said, the run is INVALID.
- The log has no outcome: success is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Final

from likewise.core.rollout import Excluded, JsonValue, Rollout
from likewise.formats.assemble import (
    FINISHED,
    UNKNOWN_END,
    Ending,
    assemble,
    broken,
    continued,
    cut,
    one_run,
    task_of,
)
from likewise.formats.blocks import chat_from_blocks, split_message
from likewise.formats.fields import FieldError, as_list, as_object, as_text, child, scalars
from likewise.formats.files import outline, read_lines
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed

__all__ = ["DESCRIPTION", "NAME", "chains", "joined", "read", "sniff"]

NAME = "claude-code"
DESCRIPTION = "Claude Code sessions, JSON Lines"

_CLEAR: Final = "<command-name>/clear</command-name>"
_INTERRUPTED: Final = "[Request interrupted by user"
_NOT_A_PROMPT: Final = ("<command-name>", "<command-message>", "<local-command-", "Caveat: The messages below were")
_SYNTHETIC: Final = "<synthetic>"
_ENDED: Final = ("end_turn", "stop_sequence", "refusal")
_SNIFFED_LINES: Final = 20


@dataclass(slots=True)
class _Conversation:
    """One run: its messages in Anthropic's form, and what its lines said beside them."""

    session: str
    messages: list[dict[str, JsonValue]] = field(default_factory=list)
    by_id: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)
    meta: dict[str, JsonValue] = field(default_factory=dict)
    answered: bool = False
    waiting: bool = False
    stop_reason: JsonValue = None
    api_error: str | None = None
    compacted: bool = False


def sniff(head: str, path: Path) -> str | None:
    """None where a line near the start is a message, a summary or a snapshot as Claude Code writes it; else why not."""
    del path
    if not head.lstrip().startswith(("{", '"')):
        return "the first line is not a JSON object"
    for line in head.split("\n", _SNIFFED_LINES)[:_SNIFFED_LINES] if '"type"' in head else ():
        seen = outline(line)
        if seen.kind != "object" or "type" not in seen.keys:
            continue
        if {"message", "sessionId"} <= seen.keys or {"message.role", "uuid"} <= seen.keys:
            return None
        if {"summary", "leafUuid"} <= seen.keys or {"messageId", "snapshot"} <= seen.keys:
            return None
    return "no line near the start has `type`, `message` and `sessionId` or `uuid`"


def read(path: Path, label: str) -> Parsed:
    """Read a session file; run ids are `label` for its first conversation, then `label#1`, `label#2`, ...

    Raises:
        RolloutFormatError: The file cannot be read, or no line of it is JSON.
    """
    lines = read_lines(path)
    excluded = list(lines.excluded)
    conversations: dict[str, list[_Conversation]] = {}
    sidechain = 0
    for value, line, pointer in lines.values:
        try:
            record = as_object(value, pointer)
            sidechain += record.get("isSidechain") is True
            _take(record, pointer, conversations)
        except FieldError as error:
            session = value.get("sessionId") if isinstance(value, dict) else None
            run = session if isinstance(session, str) else None
            excluded.append(Excluded(None, run, error.problem, str(path), line, error.pointer))
    rollouts: list[Rollout] = []
    for parts in conversations.values():
        spoken = [each for each in parts if each.prompts or each.answered or each.api_error]
        for part, conversation in enumerate(spoken):
            run_id = f"{label}#{len(rollouts)}" if rollouts else label
            parsed = one_run(partial(_rollout, conversation, part, run_id, path), run_id, path)
            rollouts += parsed.rollouts
            excluded += parsed.excluded
    warnings = (f"{path}: {sidechain} lines of sub-agents left out",) if sidechain else ()
    return Parsed(tuple(rollouts), tuple(excluded), warnings)


def _take(record: dict[str, JsonValue], pointer: str, conversations: dict[str, list[_Conversation]]) -> None:
    """Put a line into the conversation that it belongs to."""
    kind = as_text(record.get("type"), child(pointer, "type"))
    if record.get("isSidechain") is True or kind not in ("user", "assistant", "system"):
        return
    session = str(record.get("sessionId", ""))
    parts = conversations.setdefault(session, [_Conversation(session)])
    talk = parts[-1]
    if kind == "system":
        talk.compacted |= record.get("subtype") == "compact_boundary"
        return
    message = as_object(record.get("message"), child(pointer, "message"))
    content_at = child(child(pointer, "message"), "content")
    content = message.get("content")
    blocks: list[JsonValue] = [content] if isinstance(content, str) else as_list(content, content_at)
    split_message(kind, blocks, content_at, {})  # refuses what cannot be read, while its line is known
    if kind == "user" and any(_CLEAR in text for text in _texts(blocks)):
        parts.append(_Conversation(session))
        return
    talk.meta |= scalars(record, ("version", "slug"))
    if isinstance(time := record.get("timestamp"), str):
        talk.meta |= {"started": talk.meta.get("started", time), "ended": time}
    if kind == "assistant":
        _take_answer(record, message, blocks, talk)
    else:
        _take_prompt(record, blocks, talk)


def _take_answer(
    record: dict[str, JsonValue], message: dict[str, JsonValue], blocks: list[JsonValue], talk: _Conversation
) -> None:
    if record.get("isApiErrorMessage") is True or message.get("model") == _SYNTHETIC:
        failed = record.get("isApiErrorMessage") is True
        talk.api_error = " ".join(_texts(blocks)) or "API error" if failed else talk.api_error
        return
    talk.api_error, talk.answered, talk.waiting = None, True, False
    talk.stop_reason = message.get("stop_reason")
    talk.meta |= scalars(message, ("model",))
    message_id = message.get("id")
    known = talk.by_id.get(message_id) if isinstance(message_id, str) else None
    if known is not None:
        known["content"] = _merged(as_list(known["content"], ""), blocks)
        return
    kept: dict[str, JsonValue] = {"role": "assistant", "content": blocks}
    talk.messages.append(kept)
    if isinstance(message_id, str):
        talk.by_id[message_id] = kept


def _take_prompt(record: dict[str, JsonValue], blocks: list[JsonValue], talk: _Conversation) -> None:
    summary = record.get("isCompactSummary") is True
    talk.compacted |= summary
    aside = summary or record.get("isMeta") is True
    talk.messages.append({"role": "user", "content": blocks})
    for text in _texts(blocks):
        spoken = not aside and not text.lstrip().startswith((*_NOT_A_PROMPT, _INTERRUPTED))
        (talk.prompts if spoken else talk.asides).append(text)
        talk.waiting |= spoken
    talk.waiting |= any(isinstance(each, dict) and each.get("type") == "tool_result" for each in blocks)


def _texts(blocks: list[JsonValue]) -> list[str]:
    """Texts of a message, those in tool results aside."""
    found = [each.get("text") if isinstance(each, dict) and each.get("type") == "text" else each for each in blocks]
    return [text for text in found if isinstance(text, str) and text.strip()]


def _merged(first: list[JsonValue], second: list[JsonValue]) -> list[JsonValue]:
    """The blocks of two lines of one message."""
    blocks = list(first)
    for new in second:
        place = next((index for index, old in enumerate(blocks) if _same_block(old, new)), None)
        if place is None:
            blocks.append(new)
        elif not _goes_on(new, blocks[place]):
            blocks[place] = new
    return blocks


def _same_block(old: JsonValue, new: JsonValue) -> bool:
    if not isinstance(old, dict) or not isinstance(new, dict) or old.get("type") != new.get("type"):
        return False
    if isinstance(new.get("id"), str):
        return old.get("id") == new["id"]
    return _goes_on(old, new) or _goes_on(new, old)


def _goes_on(old: JsonValue, new: JsonValue) -> bool:
    """Whether the new text begins with the old one and says more, or both are equal."""
    pair = [each.get("text") if isinstance(each, dict) else None for each in (old, new)]
    return isinstance(pair[0], str) and isinstance(pair[1], str) and pair[1].startswith(pair[0])


def _rollout(talk: _Conversation, part: int, run_id: str, path: Path) -> Rollout:
    read = read_messages(chat_from_blocks([*talk.messages], ""), "")
    if talk.compacted:
        read = replace(read, notes=(*read.notes, "context compacted"))
    named = next(iter((*talk.prompts, *talk.asides)), None)
    meta: dict[str, JsonValue] = {"file": path.name, "part": part, "session": talk.session, **talk.meta}
    meta["response_ids"] = [*talk.by_id]
    return assemble(
        task_of(named) if named else f"session {talk.session or path.stem}",
        run_id,
        read,
        _ending(talk, read),
        path=str(path),
        meta=meta,
    )


def _ending(talk: _Conversation, read: Conversation) -> Ending:
    if talk.api_error is not None:
        return broken(talk.api_error)
    if any(text.lstrip().startswith(_INTERRUPTED) for text in talk.asides[-1:]):
        return cut("interrupted by the user")
    if talk.stop_reason == "max_tokens":
        return cut("stopped by the token limit")
    if talk.waiting or (read.turns and read.turns[-1].action.tool_calls):
        return cut("the log ends before the agent's next action")
    return FINISHED if talk.stop_reason in _ENDED else UNKNOWN_END


def chains(runs: Sequence[Rollout]) -> tuple[list[tuple[int, ...]], list[str]]:
    """Which conversations are sessions that go on in another file.

    Args:
        runs: All conversations read; their turns are not looked at.

    Returns:
        Places of what is one run, in the order in which first parts were read, and warnings.
    """
    sessions: dict[tuple[str, JsonValue], list[int]] = {}
    for place in sorted(range(len(runs)), key=lambda each: str(runs[each].meta.get("started", ""))):
        run = runs[place]
        if run.valid and run.meta.get("part") == 0 and run.meta.get("slug"):
            sessions.setdefault((str(Path(run.path).parent), run.meta["slug"]), []).append(place)
    found: dict[int, tuple[int, ...]] = {place: (place,) for place in range(len(runs))}
    warnings: list[str] = []
    for first, *later in sessions.values():
        whole = runs[first]
        for place in later:
            piece = runs[place]
            if _goes_on_in(whole, piece):
                warnings.append(f"{piece.path}: goes on with run {whole.run_id!r} (slug {whole.meta['slug']}); one run")
                found[first] += found.pop(place)
                whole = replace(whole, meta=_facts(whole, piece))
    return list(found.values()), warnings


def _goes_on_in(first: Rollout, second: Rollout) -> bool:
    """Whether the second is another session, later, and no copy of the first (a fork repeats its messages)."""
    ids = [{*as_list(each.meta.get("response_ids", []), "")} for each in (first, second)]
    later = str(second.meta.get("started", "")) >= str(first.meta.get("ended", "")) != ""
    return first.meta.get("session") != second.meta.get("session") and later and not ids[0] & ids[1]


def _facts(first: Rollout, second: Rollout) -> dict[str, JsonValue]:
    ids = [each for part in (first, second) for each in as_list(part.meta.get("response_ids", []), "")]
    return {**first.meta, "session": second.meta["session"], "ended": second.meta["ended"], "response_ids": ids}


def joined(parts: Sequence[Rollout]) -> Rollout:
    """The run whose parts these are."""
    return reduce(_with_next, parts)


def _with_next(first: Rollout, second: Rollout) -> Rollout:
    return replace(continued(first, second), meta=_facts(first, second))
