"""Tables of plain repeated answers, a row an answer: CSV, TSV, JSON Lines or a JSON list, Parquet.

Decisions:
- Columns are known by their usual names, case and punctuation aside; `--map` names others. A column of an id names the
  task before one of its text, and a column called just `id` only where the rows of one task share it.
- Where one row holds several answers (`response_1`, `response_2`, ... or a list), each is a run.
- `answer` is the agent's only where nothing like `response` or `output` is there: question sets call the truth so.
- A blank answer was not given: INVALID, never an empty answer. A row whose error column says something is INVALID.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import JsonValue
from likewise.formats.field_map import FieldMap
from likewise.formats.field_runs import read_runs
from likewise.formats.files import Lines, outline
from likewise.formats.rollout_set import Parsed
from likewise.formats.rows import PARQUET, SUFFIXES, delimiter_of, read_records
from likewise.formats.walk import unpacked_name

__all__ = ["DESCRIPTION", "NAME", "SUFFIXES", "read", "sniff"]

NAME = "table"
DESCRIPTION = "repeated answers, a row each: CSV, TSV, JSON Lines, Parquet"

_TASK_IDS: Final = ("taskid", "task", "qid", "questionid", "promptid", "exampleid", "caseid", "itemid", "testid")
_TASK_IDS_TOO: Final = ("instanceid", "sampleid", "problemid")
_TEXTS: Final = ("prompt", "question", "query", "input", "instruction", "problem")
_ANSWERS: Final = (
    *("response", "output", "completion", "generation", "prediction", "reply", "modelresponse", "modeloutput"),
    *("modelanswer", "finalanswer", "answer", "sample", "result"),
)
_RUNS: Final = (
    "runid",
    "run",
    "trialid",
    "trial",
    "attempt",
    "epoch",
    "repeat",
    "repetition",
    "replicate",
    "iteration",
)
_SUCCESS: Final = ("success", "correct", "iscorrect", "passed", "pass")
_REWARDS: Final = ("reward", "score")
_ERRORS: Final = ("error", "exception", "errormessage")
_FACTS: Final[dict[str, tuple[str, ...]]] = {
    "model": ("model", "modelname", "modelid"),
    "agent": ("agent", "agentname"),
    "response_ids": ("responseid", "completionid", "generationid"),
    "cached": ("cached", "fromcache", "cachehit"),
    "started": ("timestamp", "createdat", "started", "startedat", "starttime"),
    "ended": ("timestamp", "createdat", "ended", "endedat", "endtime"),
    "seed": ("seed",),
    "temperature": ("temperature",),
}
_NUMBERED: Final = re.compile(r"(.*?)(\d+)")
_OTHER_SHAPES: Final = frozenset(
    {"messages", "turns", "steps", "traj", "trajectory", "simulations", "history", "audit_trail"}
)
_MARKS: Final = re.compile(r"[\W_]+")
_LOOKED_AT: Final = 200
_SHOWN: Final = 20


def sniff(head: str, path: Path) -> str | None:
    """None where the suffix is a table's, or the columns have usual names; else why not, with the columns found."""
    if head.startswith(PARQUET) or unpacked_name(path.name).lower().endswith(SUFFIXES):
        return None
    seen = outline(head)
    if seen.kind == "other":
        delimiter = delimiter_of(head)
        names = [name.strip() for name in head.lstrip().partition("\n")[0].split(delimiter)]
        return None if len(names) > 1 and _guess(names) is not None else "no table: no header with a task and an answer"
    if seen.kind == "object" and not _on_lines(head, path):
        return "one JSON object is no table"
    prefix = "[]." if seen.kind == "list" else ""
    keys = [key.removeprefix(prefix) for key in seen.keys if key.startswith(prefix)]
    own = sorted(key for key in keys if "." not in key and "[]" not in key)
    deeper = {key.partition(".")[0].partition("[]")[0] for key in keys if "." in key or "[][]" in key}
    if _OTHER_SHAPES & set(own):
        return "its records are no plain answers"
    guess = _guess([key for key in own if key not in deeper])
    return None if guess is not None else f"no column for a task and an answer (found: {_listed(own)})"


def _on_lines(head: str, path: Path) -> bool:
    """Whether a file has a record a line: by its suffix, or because a second record follows the first."""
    first, _, rest = head.strip().partition("\n")
    several = first.rstrip().endswith("}") and rest.lstrip().startswith("{")
    return several or unpacked_name(path.name).lower().endswith((".jsonl", ".ndjson"))


def read(path: Path, label: str) -> Parsed:
    """Read a table; run ids are `label#run`, counted within each task where no column names the runs.

    Raises:
        RolloutFormatError: The file cannot be read, or no column is known to hold the task or the answer.
        MissingExtraError: A Parquet file, and the package that reads it is not installed.
    """
    lines = read_records(path)
    rows = _flat(lines)
    names = list(dict.fromkeys(name for row in rows[:_LOOKED_AT] for name in row))
    fields = _guess(names, rows)
    if fields is None:
        expected = f"one called task_id, task, qid or {' or '.join(_TEXTS[:2])}, and one {' or '.join(_ANSWERS[:3])}"
        problem = f"no column for the task and the answer; there are {_listed(names) or 'none'}"
        raise RolloutFormatError(str(path), problem, expected=f"{expected}; --map names others")
    return read_runs(lines, fields, path, label)


def _listed(names: list[str]) -> str:
    return ", ".join(name[:40] for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def _flat(lines: Lines) -> list[dict[str, JsonValue]]:
    values = [value for value, _, _ in lines.values]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [item for item in items if isinstance(item, dict)]


def _plain(name: str) -> str:
    return _MARKS.sub("", name).lower()


def _guess(names: list[str], rows: list[dict[str, JsonValue]] | None = None) -> FieldMap | None:
    """Which column is what; None where there is none for the task or for the answer.

    Args:
        names: Columns, as the file writes them.
        rows: The rows, where they are known: they tell whether a column `id` names tasks or rows.
    """
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(_plain(name), name)

    def first(candidates: tuple[str, ...], but: tuple[str, ...] = ()) -> str:
        return next((by_plain[each] for each in candidates if each in by_plain and by_plain[each] not in but), "")

    answers = _answer_columns(names, by_plain, rows)
    prompt = first(_TEXTS, answers)
    task = first((*_TASK_IDS, *_TASK_IDS_TOO), answers)
    shared = rows is None or len({str(row.get(by_plain.get("id", ""))) for row in rows}) < len(rows)
    if not task and "id" in by_plain and (shared or len(answers) > 1 or not prompt):
        task = by_plain["id"]
    task = task or prompt
    if not task or not answers:
        return None
    run = first((*_RUNS, "sample"), (*answers, task))
    facts = ((name, first(columns, answers)) for name, columns in _FACTS.items())
    return FieldMap(
        task=(task,),
        by_text=task == prompt,
        run=(run,) if run else (),
        prompt=(prompt,) if prompt else (),
        answers=answers,
        facts=tuple((name, column) for name, column in facts if column),
        success=first(_SUCCESS, answers),
        reward=first(_REWARDS, answers),
        error=first(_ERRORS, answers),
    )


def _answer_columns(
    names: list[str], by_plain: dict[str, str], rows: list[dict[str, JsonValue]] | None
) -> tuple[str, ...]:
    """The columns of answers: one, one and a list of further samples, or those of one stem in numeric order."""
    for stem in _ANSWERS:
        single, samples = by_plain.get(stem), by_plain.get(f"sampled{stem}s")
        lists = samples is not None and (rows is None or any(isinstance(row.get(samples), list) for row in rows))
        if single is not None:
            return (single, samples) if samples is not None and lists else (single,)
        if f"{stem}s" in by_plain:
            return (by_plain[f"{stem}s"],)
        matches = ((_NUMBERED.fullmatch(_plain(name)), name) for name in names)
        numbered = [(int(match[2]), name) for match, name in matches if match and match[1] == stem]
        if len(numbered) > 1:
            return tuple(name for _, name in sorted(numbered))
    return ()
