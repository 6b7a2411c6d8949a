"""How often a judge is right on labelled pairs: of actions (both directions) or of NLI (one direction)."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Int

from likewise.backends.call_text import parse_call_text
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import RolloutFormatError
from likewise.core.estimate import Estimate
from likewise.core.labels import Entailment, Judgement, Relation
from likewise.core.protocols import Accountable
from likewise.core.rollout import Action
from likewise.core.state_text import canonical_text
from likewise.core.version import VERSION
from likewise.evaluation.judge_error import JudgeError, judge_error
from likewise.evaluation.repeatability import SAMPLE, Repeatability, measure_repeatability
from likewise.metrics.classification import ClassScore, accuracy, class_scores, confusion_matrix, macro_f1
from likewise.scoring.label import MAX_CHARACTERS, Labeller
from likewise.scoring.stored_judge import StoredJudge, TextPair

__all__ = ["JudgeScore", "LabelledPair", "LabelledPairs", "evaluate_judge", "read_labelled_pairs"]

MAX_LINE = 16 * 2**20
"""Characters of one line; also what keeps a compressed bomb from filling memory."""
FIELDS = {"action": ("action_a", "action_b"), "nli": ("premise", "hypothesis")}
LABELS = {
    "action": tuple(relation.name.lower() for relation in Relation),
    "nli": ("entailment", "neutral", "contradiction"),
}


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """Two texts, the index of their label, and the kind of pair (any word of the file's, "" where it has none)."""

    first: str
    second: str
    label: int
    kind: str


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """A file of labelled pairs; `task` is "action" or "nli"."""

    path: str
    task: str
    pairs: tuple[LabelledPair, ...]


@dataclass(frozen=True, slots=True)
class JudgeScore:
    """How a judge did. `confusion` counts by true (row) and guessed (column) label, in order of `labels`."""

    path: str
    task: str
    signature: str
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    accuracy: Estimate
    macro_f1: Estimate
    per_class: tuple[ClassScore, ...]
    per_kind: dict[str, tuple[Estimate, Estimate]]
    """Kind -> (accuracy, macro F1)."""
    not_measured: tuple[str, ...]
    """Why pairs could not be judged; they count neither as right nor as wrong."""
    error: JudgeError | None = None
    """What the judge's error means for RSD; None for NLI pairs, which have no distance."""
    repeatability: Repeatability | None = None
    """How often the judge repeats itself; None where it was not asked to."""
    notes: tuple[str, ...] = ()
    """What the judge tells of itself: calls, cost, how often it was of two minds."""

    def as_json(self) -> dict[str, object]:
        """Schema `likewise.judge-eval/1`."""
        return {
            "schema": "likewise.judge-eval/1",
            "signature": self.signature,
            "path": self.path,
            "task": self.task,
            "labels": list(self.labels),
            "accuracy": self.accuracy.as_json(),
            "macro_f1": self.macro_f1.as_json(),
            "per_class": {
                label: {"precision": s.precision, "recall": s.recall, "f1": s.f1, "support": s.support}
                for label, s in zip(self.labels, self.per_class, strict=True)
            },
            "per_kind": {
                kind: {"accuracy": a.as_json(), "macro_f1": f.as_json()} for kind, (a, f) in self.per_kind.items()
            },
            "confusion": {
                truth: dict(zip(self.labels, row, strict=True))
                for truth, row in zip(self.labels, self.confusion, strict=True)
            },
            "not_measured": list(self.not_measured),
            "error": None if self.error is None else self.error.as_json(),
            "repeatability": None if self.repeatability is None else self.repeatability.as_json(),
            "notes": list(self.notes),
        }


def read_labelled_pairs(path: Path, task: str | None = None) -> LabelledPairs:
    """Read JSONL (gzip too) with `action_a, action_b, label` or `premise, hypothesis, label`.

    Args:
        path: The file.
        task: "action" or "nli"; told from the first line's fields where None.

    Raises:
        RolloutFormatError: A line is not JSON, lacks a field or has an unknown label; an empty file.
    """
    pairs: list[LabelledPair] = []
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as problem:
            raise RolloutFormatError(str(path), f"not JSON ({problem})", line=number) from None
        if not isinstance(row, dict):
            raise RolloutFormatError(str(path), "not an object", line=number, pointer="", expected="an object a line")
        if task is None:
            task = next((name for name, fields in FIELDS.items() if set(fields) <= row.keys()), None)
        if task is None:
            raise RolloutFormatError(
                str(path), "no labelled pair", line=number, expected="action_a and action_b, or premise and hypothesis"
            )
        pairs.append(_pair(row, task, str(path), number))
    if task is None or not pairs:
        raise RolloutFormatError(str(path), "the file holds no labelled pair")
    return LabelledPairs(str(path), task, tuple(pairs))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            number = 0
            while line := file.readline(MAX_LINE):
                number += 1
                if len(line) == MAX_LINE:
                    raise RolloutFormatError(str(path), f"a line of over {MAX_LINE:,} characters", line=number)
                if line.strip():
                    yield number, line
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error) as problem:
        raise RolloutFormatError(str(path), f"not readable as text ({problem})") from None


def _pair(row: dict[str, object], task: str, path: str, line: int) -> LabelledPair:
    texts = []
    for name in FIELDS[task]:
        value = row.get(name)
        if not isinstance(value, str):
            raise RolloutFormatError(path, f"{name} is no text", line=line, pointer=f"/{name}", expected="a string")
        texts.append(value)
    label = row.get("label")
    if label not in LABELS[task]:
        expected = " / ".join(LABELS[task])
        raise RolloutFormatError(path, f"unknown label {label!r}", line=line, pointer="/label", expected=expected)
    return LabelledPair(texts[0], texts[1], LABELS[task].index(str(label)), str(row.get("kind") or ""))


@dataclass(slots=True)
class _Listening(StoredJudge):
    """A stored judge that remembers which pairs it was asked about."""

    heard: set[TextPair] = field(default_factory=set)

    def ask(self, pairs: Sequence[TextPair]) -> dict[TextPair, Judgement | str]:
        self.heard.update(pairs)
        return StoredJudge.ask(self, pairs)


def evaluate_judge(
    labelled: LabelledPairs,
    judge: StoredJudge,
    rules: ToolRules | None = None,
    *,
    gamma: float = 0.8,
    repeat: int = 0,
    repeat_sample: int = SAMPLE,
) -> JudgeScore:
    """Judge all pairs and compare with their labels.

    Actions go the way of `likewise report`: tool rules and slot guard first, then the judge, in both directions.
    NLI pairs go to the judge alone, and only premise -> hypothesis counts.

    Args:
        labelled: The pairs and their labels.
        judge: Asked for texts that no rule settles.
        rules: How tool calls are compared; the default table where None.
        gamma: Discount of the bands that the judge's error gives.
        repeat: Readings of a sample of pairs, to see how often the judge repeats itself; 0: none.
        repeat_sample: Pairs of that sample at most.

    Raises:
        ValueError: One reading, or a discount outside [0, 1).
        BackendError: The judge or the label store does not work.
    """
    listening = _Listening(judge.judge, judge.store, judge.progress) if repeat else None
    judge = listening or judge
    rules = rules or ToolRules()
    guesses = _nli_guesses(labelled, judge) if labelled.task == "nli" else _action_guesses(labelled, judge, rules)
    settled = [(pair, guess) for pair, guess in zip(labelled.pairs, guesses, strict=True) if isinstance(guess, int)]
    confusion = _confusion(settled)
    kinds = sorted({pair.kind for pair, _ in settled if pair.kind})
    by_kind = {kind: _confusion([s for s in settled if s[0].kind == kind]) for kind in kinds}
    parts = [f"likewise:{VERSION}", f"judge:{judge.judge.judge_id}"]
    if labelled.task == "action":
        parts.append(f"rules:{rules.rules_id}")
    return JudgeScore(
        path=labelled.path,
        task=labelled.task,
        signature="|".join([*parts, "interval:95%", "resamples:2000", "seed:0"]),
        labels=LABELS[labelled.task],
        confusion=tuple(tuple(row) for row in confusion.tolist()),
        accuracy=accuracy(confusion),
        macro_f1=macro_f1(confusion),
        per_class=class_scores(confusion),
        per_kind={kind: (accuracy(matrix), macro_f1(matrix)) for kind, matrix in by_kind.items()},
        not_measured=tuple(guess for guess in guesses if isinstance(guess, str)),
        error=judge_error(confusion.tolist(), gamma) if labelled.task == "action" else None,
        repeatability=None
        if listening is None
        else measure_repeatability(listening, list(listening.heard), repeat, repeat_sample),
        notes=judge.judge.account() if isinstance(judge.judge, Accountable) else (),
    )


def _confusion(settled: Sequence[tuple[LabelledPair, int]]) -> Int[np.ndarray, "3 3"]:
    truth = np.array([pair.label for pair, _ in settled], dtype=np.int64)
    return confusion_matrix(truth, np.array([guess for _, guess in settled], dtype=np.int64), 3)


def _nli_guesses(labelled: LabelledPairs, judge: StoredJudge) -> list[int | str]:
    texts = [(canonical_text(pair.first), canonical_text(pair.second)) for pair in labelled.pairs]
    answers = judge.ask([pair for pair in texts if max(map(len, pair)) <= MAX_CHARACTERS])
    guesses: list[int | str] = []
    for pair in texts:
        answer = answers.get(pair, f"a text of over {MAX_CHARACTERS:,} characters")
        guesses.append(answer if isinstance(answer, str) else int(Entailment(int(np.argmax(answer.forward)))))
    return guesses


def _action_guesses(labelled: LabelledPairs, judge: StoredJudge, rules: ToolRules) -> list[int | str]:
    actions = [(_action(pair.first), _action(pair.second)) for pair in labelled.pairs]
    labels = Labeller(judge, rules).settle(actions)
    guesses: list[int | str] = []
    for first, second in actions:
        judgement = labels.of(first, second)
        guesses.append((labels.failure(first, second) or "") if judgement is None else int(judgement.relation))
    return guesses


def _action(text: str) -> Action:
    return parse_call_text(text) or Action(text)
