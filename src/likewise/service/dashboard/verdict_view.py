"""What the page of one query shows: its runs side by side, where they clash, and what the answer rests on."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from likewise.core.estimate import Estimate
from likewise.report.text import TEXT_CAP, one_line, visible
from likewise.report.word_diff import marked
from likewise.report.words import interval, number, percent

__all__ = ["Card", "ClashView", "GroundedView", "RunView", "VerdictView", "highlighted", "verdict_view"]

COLOURS = 7
MOST_CLASHES = 12


@dataclass(frozen=True, slots=True)
class Card:
    """One named number with its interval or the reason why there is none."""

    name: str
    value: str
    spread: str
    hint: str


@dataclass(frozen=True, slots=True)
class ClashView:
    """Two runs that contradict each other, and the sentences in which they do, differing words marked."""

    run_i: int
    run_j: int
    text_i: Markup
    text_j: Markup
    score: str
    rule: str
    plain_i: str
    plain_j: str


@dataclass(frozen=True, slots=True)
class RunView:
    """One run in its column.

    `letter` and `colour` name its class of equivalent answers ("" and 0: not compared); `answer` has the clashing
    sentences highlighted; `raw` is the whole output where that is more than the answer.
    """

    number: int
    letter: str
    colour: int
    chosen: bool
    failure: str
    answer: Markup
    plain: str
    left_out: int
    raw: str
    confidence: str
    findings: tuple[str, ...] | None
    sources: tuple[str, ...] | None
    calls: tuple[tuple[str, str], ...]
    contradicts: tuple[int, ...]
    facts: str


@dataclass(frozen=True, slots=True)
class GroundedView:
    """A sentence of the answer and how it stands to the sources."""

    text: str
    status: str
    source: str
    passage: str
    score: str


@dataclass(frozen=True, slots=True)
class VerdictView:
    """All that the page shows of one query."""

    query: str
    answer: str
    served: bool
    decision: str
    label: str
    reasons: tuple[str, ...]
    cards: tuple[Card, ...]
    clashes: tuple[ClashView, ...]
    more_clashes: int
    runs: tuple[RunView, ...]
    calls: tuple[tuple[str, str], ...]
    grounding: tuple[GroundedView, ...] | None
    grounded_share: str
    unread: tuple[str, ...]
    advice: tuple[Mapping[str, Any], ...]
    needs_review: bool
    made: tuple[tuple[str, str], ...]


def verdict_view(body: Mapping[str, Any], signature: str = "") -> VerdictView:
    """Read what is stored of a verdict (`Verdict.as_json`); what an older version did not store is not shown."""
    pairs = _list(body.get("critical_pairs"))
    trail = _list(body.get("audit_trail"))
    served = body.get("answer")
    chosen = _chosen(body, trail)
    grounding = body.get("grounding")
    remedies = body.get("remediation_report") or {}
    return VerdictView(
        query=visible(str(body.get("query", ""))),
        answer=visible(str(served if served is not None else body.get("consensus_answer") or "")),
        served=served is not None,
        decision=str(body.get("decision", "")),
        label=str(body.get("label", "NOT_MEASURED")),
        reasons=tuple(one_line(str(reason), 1_000) for reason in _list(body.get("reasons"))),
        cards=tuple(_cards(body)),
        clashes=tuple(_clash(pair) for pair in pairs[:MOST_CLASHES]),
        more_clashes=max(0, len(pairs) - MOST_CLASHES),
        runs=tuple(_runs(body, trail, pairs, chosen)),
        calls=_calls(body.get("tool_calls")),
        grounding=None if not grounding else tuple(_grounded(one) for one in _list(grounding.get("sentences"))),
        grounded_share="" if not grounding else _card("", grounding.get("supported_share"), "", share=True).value,
        unread=() if not grounding else tuple(one_line(str(one), 300) for one in _list(grounding.get("unread"))),
        advice=tuple(_list(remedies.get("recommendations"))),
        needs_review=bool(remedies.get("needs_human_review")),
        made=tuple(_made(body.get("metadata") or {}, signature)),
    )


# ------------------------------------------------------------------ figures
def _cards(body: Mapping[str, Any]) -> Iterable[Card]:
    variance = body.get("variance_report") or {}
    yield _card("reliability", body.get("reliability_interval"), "1 - mean total variance")
    score = body.get("contradiction_score")
    mean = _estimate(body.get("contradiction_mean"))
    spread = f"mean {number(mean.value)}" if mean.defined else one_line(mean.reason or "", 120)
    yield Card("highest contradiction", number(score), spread, "of two answers, 0 to 1")
    agreed = str(body.get("runs_agreed", "–"))
    yield Card("runs agree", agreed, _spread(_estimate(body.get("agreement")), share=True), "with the answer")
    failed = int(body.get("runs_failed") or 0)
    if failed:
        yield Card("runs failed", str(failed), "counted, in no score", "")
    for name, title in (("answer", "answers vary"), ("findings", "findings vary"), ("citations", "sources vary")):
        held = variance.get(name)
        form = (held or {}).get("form", "")
        yield _card(title, held, f"total variance, {form}" if form else "total variance")
    yield _card("RSD of answers", body.get("divergence"), "0 alike, 1 contradictory")
    yield _card("semantic entropy", body.get("semantic_entropy"), "nats")


def _card(name: str, held: Mapping[str, Any] | None, hint: str, *, share: bool = False) -> Card:
    estimate = _estimate(held)
    value = percent(estimate.value) if share else number(estimate.value)
    return Card(name, value, _spread(estimate, share=share), hint)


def _spread(estimate: Estimate, *, share: bool = False) -> str:
    return interval(estimate, share=share) or one_line(estimate.reason or "", 120)


def _estimate(held: Mapping[str, Any] | None) -> Estimate:
    """A stored estimate; half a one, as no version wrote it, is no number."""
    try:
        given = {name: held[name] for name in ("value", "low", "high", "n", "reason") if held and name in held}
        return Estimate(**given) if given else Estimate.undefined("not measured")
    except (TypeError, ValueError):
        return Estimate.undefined("not stored as a number")


# ------------------------------------------------------------------ runs
def _runs(body: Mapping[str, Any], trail: Sequence[Any], pairs: Sequence[Any], chosen: int | None) -> Iterable[RunView]:
    classes = body.get("classes") or {}
    against: dict[int, set[int]] = defaultdict(set)
    clashing: dict[int, list[str]] = defaultdict(list)
    for pair in pairs:
        i, j = int(pair["run_i"]), int(pair["run_j"])
        against[i].add(j)
        against[j].add(i)
        clashing[i].append(str(pair["text_i"]))
        clashing[j].append(str(pair["text_j"]))
    for place, record in enumerate(trail):
        index = int(record.get("run", place))
        label = classes.get(str(index), -1)
        yield _run(record, index, label, index == chosen, clashing[index], tuple(sorted(against[index])))


def _run(
    record: Mapping[str, Any], index: int, label: int, chosen: bool, clashing: Sequence[str], against: tuple[int, ...]
) -> RunView:
    fields = record.get("fields") or {}
    whole = str(record.get("text") or "")
    answer = str(fields.get("main_answer") or whole)
    failure = record.get("failure")
    shown = visible(answer).strip()
    return RunView(
        number=index,
        letter=_letter(label) if label >= 0 else "",
        colour=label % COLOURS + 1 if label >= 0 else 0,
        chosen=chosen,
        failure="" if not failure else one_line(f"{failure.get('kind')}: {failure.get('message')}", 2_000),
        answer=highlighted(answer[:TEXT_CAP], clashing),
        plain=shown[:TEXT_CAP],
        left_out=max(0, len(shown) - TEXT_CAP),
        raw=visible(whole).strip()[:TEXT_CAP] if answer.strip() != whole.strip() else "",
        confidence=one_line(str(fields.get("confidence") or ""), 40),
        findings=_texts(fields.get("key_findings")),
        sources=_texts(fields.get("sources_used")),
        calls=_calls(record.get("tool_calls")),
        contradicts=against,
        facts=_facts(record),
    )


def highlighted(text: str, sentences: Iterable[str]) -> Markup:
    """A text as HTML in which these sentences stand in `<mark>`; everything is escaped."""
    shown = visible(text).strip()
    spans: list[tuple[int, int]] = []
    for sentence in sentences:
        wanted = visible(sentence).strip()
        start = shown.find(wanted) if wanted else -1
        if start >= 0:
            spans.append((start, start + len(wanted)))
    parts, at = list[Markup](), 0
    for start, end in sorted(spans):
        if end <= at:
            continue
        begin = max(start, at)
        parts += [escape(shown[at:begin]), Markup("<mark>{}</mark>").format(shown[begin:end])]
        at = end
    return Markup("").join([*parts, escape(shown[at:])])


def _chosen(body: Mapping[str, Any], trail: Sequence[Any]) -> int | None:
    """The run whose answer is the consensus: the one that says exactly this."""
    consensus = body.get("consensus_answer")
    if consensus is None:
        return None
    for place, record in enumerate(trail):
        fields = record.get("fields") or {}
        if record.get("failure") is None and consensus in (record.get("text"), fields.get("main_answer")):
            return int(record.get("run", place))
    return None


def _facts(record: Mapping[str, Any]) -> str:
    usage = record.get("usage") or {}
    tokens = [usage.get("input_tokens"), usage.get("output_tokens")]
    parts = [f"{float(record.get('seconds') or 0):.2f} s"]
    if any(token is not None for token in tokens):
        parts.append(" + ".join("?" if token is None else f"{token:,}" for token in tokens) + " tokens")
    if int(record.get("attempts") or 1) > 1:
        parts.append(f"{record['attempts']} attempts")
    if record.get("replayed"):
        parts.append(f"{record['replayed']} tool calls replayed")
    return " · ".join(parts)


def _letter(label: int) -> str:
    return chr(ord("A") + label) if label < 26 else f"A{label - 25}"


def _texts(values: object) -> tuple[str, ...] | None:
    return None if values is None else tuple(visible(str(value))[:TEXT_CAP] for value in _list(values))


def _calls(calls: object) -> tuple[tuple[str, str], ...]:
    shown = []
    for call in _list(calls):
        arguments = call.get("arguments")
        words = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
        shown.append((one_line(str(call.get("name", "")), 200), visible(words)[:TEXT_CAP]))
    return tuple(shown)


# ------------------------------------------------------------------ the rest
def _clash(pair: Mapping[str, Any]) -> ClashView:
    first, second = str(pair["text_i"]), str(pair["text_j"])
    left, right = marked(first, second)
    score = f"{float(pair.get('score') or 0):.2f}"
    rule = one_line(str(pair.get("rule", "")), 60)
    plain = visible(first)[:TEXT_CAP], visible(second)[:TEXT_CAP]
    return ClashView(int(pair["run_i"]), int(pair["run_j"]), left, right, score, rule, *plain)


def _grounded(sentence: Mapping[str, Any]) -> GroundedView:
    score = sentence.get("score")
    return GroundedView(
        visible(str(sentence.get("text", ""))),
        str(sentence.get("status", "")),
        one_line(str(sentence.get("source") or ""), 200),
        visible(str(sentence.get("passage") or ""))[:2_000],
        "" if score is None else f"{float(score):.2f}",
    )


def _made(metadata: Mapping[str, Any], signature: str) -> Iterable[tuple[str, str]]:
    for name, value in metadata.items():
        if value in (None, "", [], {}) or name == "usage":  # tokens stand with the runs
            continue
        plain = isinstance(value, list) and all(isinstance(each, str | int) for each in value)
        words = "; ".join(map(str, value)) if plain else value
        words = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False, default=str)
        yield one_line(str(name), 60).replace("_", " "), one_line(words, 1_000)
    if signature:
        yield "signature", one_line(signature, 1_000)


def _list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
