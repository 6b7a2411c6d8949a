"""From a conversation and how it ended to a rollout: what every reader of a log decides alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from likewise.core.rollout import Excluded, JsonValue, Rollout, StopReason
from likewise.formats.fields import DEEPEST, FieldError, first_line, nesting, reward_and_notes, type_name
from likewise.formats.messages import Conversation, read_messages
from likewise.formats.rollout_set import Parsed

__all__ = [
    "CUT_BY_LIMIT",
    "FINISHED",
    "NO_ANSWER",
    "SAYS_NOTHING",
    "UNKNOWN_END",
    "Ending",
    "assemble",
    "broken",
    "continued",
    "cut",
    "one_run",
    "read_chat",
    "says_nothing",
    "task_of",
]

_SIDE = 40
"""Characters that a task named by its text keeps at either end."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: its stop reason, what makes it invalid (only where it is), and notes."""

    stop: StopReason
    problem: str | None = None
    notes: tuple[str, ...] = ()


FINISHED = Ending(StopReason.FINISHED)
UNKNOWN_END = Ending(StopReason.FINISHED, None, ("the log does not say how the run ended",))
NO_ANSWER = Ending(StopReason.INVALID, "no answer is recorded")
SAYS_NOTHING = "no text and no tool call of the agent is recorded"
CUT_BY_LIMIT = Ending(StopReason.CUT, None, ("stopped by the step limit",))


def cut(note: str) -> Ending:
    """Cut from outside; the note says by what."""
    return Ending(StopReason.CUT, None, (note,))


def broken(error: object) -> Ending:
    """Failed in the harness; the problem quotes the first line of its error."""
    text = first_line(error) if isinstance(error, str) else type_name(error)
    return Ending(StopReason.INVALID, f"infra_error: {text or 'without a message'}")


def assemble(
    task_id: str,
    run_id: str,
    talk: Conversation,
    ending: Ending,
    *,
    path: str,
    reward: object = None,
    success: bool | None = None,
    meta: dict[str, JsonValue] | None = None,
) -> Rollout:
    """Make a rollout; one in which the agent never acted is invalid, and an invalid one has neither reward nor success.

    Args:
        task_id: Task.
        run_id: Run of that task.
        talk: Turns, what came after them, and notes.
        ending: How it ended.
        path: File it was read from.
        reward: What the log has for it; no finite number is None, with a note. Kept as `meta["logged_reward"]` where
            the run is invalid.
        success: Whether it solved its task, where the log says so.
        meta: Further facts of the log.
    """
    if ending.stop is not StopReason.INVALID and not talk.turns:
        problem = "no action of the agent" if talk.last_observations else "no messages"
        ending = Ending(StopReason.INVALID, problem)
    elif ending.stop is not StopReason.INVALID and says_nothing(talk):
        ending = Ending(StopReason.INVALID, SAYS_NOTHING)
    number, reward_notes = reward_and_notes(reward)
    facts = {name: _shallow(fact) for name, fact in (meta or {}).items()}
    if ending.stop is StopReason.INVALID:
        facts |= {} if number is None else {"logged_reward": number}
        number = success = None
    return Rollout(
        task_id=task_id,
        run_id=run_id,
        turns=talk.turns,
        stop=ending.stop,
        reward=number,
        success=success,
        problem=ending.problem,
        path=path,
        notes=tuple(dict.fromkeys((*talk.notes, *reward_notes, *ending.notes))),
        meta=facts,
        last_observations=talk.last_observations,
    )


def says_nothing(talk: Conversation) -> bool:
    """Whether no action of the agent says or calls anything: such a run holds nothing to compare."""
    return all(turn.action.is_empty for turn in talk.turns)


def _shallow(fact: JsonValue) -> JsonValue:
    """A fact of a log; as text where it is nested deeper than what is written and read back."""
    return fact if nesting(fact) < DEEPEST else json.dumps(fact)


def continued(first: Rollout, second: Rollout) -> Rollout:
    """A run that goes on in a further file: all turns, the ending of the second, ids and facts of the first."""
    bridge = replace(second.turns[0], observations=(*first.last_observations, *second.turns[0].observations))
    return replace(
        first,
        turns=(*first.turns, bridge, *second.turns[1:]),
        stop=second.stop,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes, "joined from several files"))),
        last_observations=second.last_observations,
    )


def one_run(make: Callable[[], Rollout], run_id: str, path: Path) -> Parsed:
    """The run of a file that holds one, or its exclusion where it cannot be read."""
    try:
        return Parsed((make(),))
    except FieldError as error:
        return Parsed(excluded=(Excluded(None, run_id, error.problem, str(path), None, error.pointer),))
    except RecursionError:
        return Parsed(excluded=(Excluded(None, run_id, "nested too deeply", str(path)),))


def read_chat(chat: Sequence[tuple[JsonValue, str]], *, scripted: int = 0) -> Conversation:
    """Turns of chat messages that were made of something else; errors have the pointer of what they were made of.

    Args:
        chat: Each message with the pointer of what it was made of.
        scripted: How many at the start are not the agent's doing.

    Raises:
        FieldError: A message or a field of it has the wrong type.
    """
    try:
        return read_messages([message for message, _ in chat], "", scripted=scripted)
    except FieldError as error:
        raise FieldError(chat[int(error.pointer.split("/")[1])][1], error.problem) from None


def task_of(text: str) -> str:
    """The id of a task that a log knows only by its text: the text on one line, or its ends and a hash of the whole.

    White space does not tell tasks apart; anything else does.
    """
    line = " ".join(text.split())
    if len(line) <= 2 * _SIDE + 10:
        return line
    digest = hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{line[:_SIDE].rstrip()} ... {line[-_SIDE:].lstrip()} #{digest}"
