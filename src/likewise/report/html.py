"""An evaluation as one HTML page that opens offline and asks nothing of any server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from likewise.core.estimate import Estimate
from likewise.evaluation.results import Evaluation
from likewise.report import words
from likewise.report.charts import Dot, HeatCell, HeatRow, curve, heat_map, interval_bar, scatter
from likewise.report.fork_tree import fork_tree
from likewise.report.side_by_side import TurnRow, observation_cap, turn_rows
from likewise.report.text import anchor, middle, one_line, visible
from likewise.report.word_diff import marked
from likewise.scoring.results import GroupScore, TurnScore

__all__ = ["content_security_policy", "render_html", "template_asset", "template_environment"]

_SHOWN_CLASHES = 12
_DOTS = {words.Quadrant.RIGHT: "q-right", words.Quadrant.WRONG: "q-wrong", words.Quadrant.INCONSISTENT: "q-apart"}


@dataclass(frozen=True, slots=True)
class _Figure:
    """One named number with its interval or the reason why there is none."""

    name: str
    value: str
    spread: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Quote:
    """Two texts that contradict each other."""

    turn: int
    run_i: str
    run_j: str
    text_i: Markup
    text_j: Markup
    score: str
    rule: str


@dataclass(frozen=True, slots=True)
class _TaskView:
    """All that the page shows of one task."""

    task: GroupScore
    href: str
    name: str
    place: words.Quadrant
    unplaced_reason: str | None
    bar: Markup
    pass_hat: float | None
    figures: list[_Figure]
    tree: Markup
    rows: list[TurnRow]
    quotes: list[_Quote]
    more_quotes: int
    bounds: list[str]


def render_html(evaluation: Evaluation) -> str:
    """The page as text: styles, script and charts inside; every text of a log or an agent escaped.

    The page's content security policy allows exactly the one script it carries, and no request at all.
    """
    environment = template_environment()
    script, style = (template_asset(environment, name) for name in ("report.js", "report.css"))
    tasks, k, cap = words.worst_first(evaluation.tasks), words.headline_k(evaluation), observation_cap(evaluation.tasks)
    means, counts = _curve_data(tasks)
    scale = _scale(evaluation)
    return environment.get_template("report.html.j2").render(
        e=evaluation,
        words=words,
        policy=content_security_policy(script),
        script=Markup(script),
        style=Markup(style),
        cards=_cards(evaluation, k),
        readings=words.readings(evaluation),
        rsd_scale=words.rsd_scale(evaluation),
        k=k,
        scale=scale,
        tasks=[_view(task, scale, k, cap) for task in tasks],
        scatter=_scatter(tasks),
        unplaced=[task for task in tasks if not _drawn(task)],
        curve=curve(means, counts),
        heat_map=heat_map([_heat_row(task) for task in tasks]),
        left_out=words.left_out(evaluation),
        nothing_scored=words.nothing_scored(evaluation),
        judge_lines=words.judge_lines(evaluation.judge_use),
        pass_gaps=_gaps([*evaluation.summary.pass_hat_k.values(), *evaluation.summary.pass_at_k.values()]),
    )


def content_security_policy(script: str) -> str:
    """A policy under which nothing is loaded and only this script runs."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


@cache
def template_environment() -> Environment:
    """The templates, with escaping on and the filters that pages share."""
    environment = Environment(
        loader=PackageLoader("likewise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        line=one_line, visible=visible, middle=middle, number=words.number, percent=words.percent, anchor=anchor
    )
    return environment


def template_asset(environment: Environment, name: str) -> str:
    """A style sheet or script among the templates, as text."""
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].strip()


# ------------------------------------------------------------------ figures
def _figure(name: str, estimate: Estimate, hint: str = "", *, share: bool = False) -> _Figure:
    value = words.percent(estimate.value) if share else words.number(estimate.value)
    return _Figure(name, value, words.interval(estimate, share=share) or one_line(estimate.reason or ""), hint)


def _cards(evaluation: Evaluation, k: int | None) -> list[_Figure]:
    summary = evaluation.summary
    wrong = sum(words.quadrant(task) is words.Quadrant.WRONG for task in evaluation.tasks)
    cards = [
        _figure("RSD share", summary.rsd_share, words.SHARE_HINT),
        _figure("aligned RSD", summary.aligned_rsd, "same sum after aligning turns"),
        _figure("final answers disagree", summary.total_variance, "total variance", share=True),
        _figure("pairs that contradict", summary.contradiction_share, "of judged action pairs", share=True),
        _Figure("consistent and wrong", str(wrong), f"of {words.counted(summary.tasks, 'task')}", "alike, yet failing"),
        _Figure("runs scored", str(summary.valid), f"of {summary.rollouts}", f"{words.counted(summary.tasks, 'task')}"),
    ]
    if k is not None:
        cards.insert(2, _figure(f"pass^{k}", summary.pass_hat_k[k], f"all of {k} runs succeed", share=True))
    return cards


def _gaps(estimates: Sequence[Estimate]) -> list[str]:
    """Why intervals are missing, each reason once: said under a table, not in each of its cells."""
    reasons = (one_line(estimate.reason) for estimate in estimates if estimate.reason is not None)
    return list(dict.fromkeys(reasons))


def _task_figures(task: GroupScore) -> list[_Figure]:
    return [
        _figure("success", task.success_rate, "share of runs with a known outcome", share=True),
        _figure("RSD", task.rsd, "discounted disagreement, time-aligned"),
        _figure("RSD share", task.rsd_share, words.SHARE_HINT),
        _figure("normalised RSD", task.rsd_normalised, "0 alike, 1 apart without end"),
        _figure("aligned RSD", task.aligned_rsd, "turns aligned by edit distance"),
        _figure("answers disagree", task.total_variance, "total variance of final answers", share=True),
        _figure("largest answer class", task.agreement, "share of runs", share=True),
        _figure("answer entropy", task.semantic_entropy, "nats"),
        _figure("embedded answers", task.embedding_total_variance, "total variance of embeddings"),
        _figure("tool-call volume", task.volume_total_variance, "total variance of the number of calls"),
        _figure("contradictions", task.contradictions.share, "of judged pairs", share=True),
        _figure("tool sequences", task.tool_use.sequence_similarity, "similarity, 1 alike"),
        _figure("tool arguments", task.tool_use.argument_consistency, "consistency, 1 alike"),
    ]


# ------------------------------------------------------------------ tasks
def _view(task: GroupScore, scale: float, k: int | None, cap: int) -> _TaskView:
    critical = task.contradictions.critical
    return _TaskView(
        task=task,
        href=anchor(task.task_id),
        name=one_line(task.task_id, 400),
        place=words.quadrant(task),
        unplaced_reason=words.unplaced_reason(task),
        bar=interval_bar(task.rsd.value, task.rsd.low, task.rsd.high, scale),
        pass_hat=None if k is None else words.pass_hat(task, k),
        figures=_task_figures(task),
        tree=fork_tree(task) if task.valid else Markup(""),
        rows=turn_rows(task, cap),
        quotes=_quotes(task),
        more_quotes=max(0, len(critical) - _SHOWN_CLASHES),
        bounds=[words.bound_sentence(name, bound) for name, bound in task.bounds.items()],
    )


def _scale(evaluation: Evaluation) -> float:
    """Where the bars of RSD end: at its limit, or, with a gamma near 1, at the largest value there is."""
    limit = max((task.rsd_largest for task in evaluation.tasks), default=1.0)
    largest = max((task.rsd.high or task.rsd.value or 0.0 for task in evaluation.tasks), default=0.0)
    return limit if limit <= 10 else largest


def _quotes(task: GroupScore) -> list[_Quote]:
    quotes = []
    for clash in task.contradictions.critical[:_SHOWN_CLASHES]:
        left, right = marked(clash.text_i, clash.text_j)
        names = one_line(clash.run_i, 200), one_line(clash.run_j, 200)
        quotes.append(_Quote(clash.turn, *names, left, right, f"{clash.score:.2f}", one_line(clash.rule, 60)))
    return quotes


# ------------------------------------------------------------------ charts
def _drawn(task: GroupScore) -> bool:
    """Whether a task has a dot: a place among the quadrants and both coordinates."""
    known = task.rsd_share.defined and task.success_rate.defined
    return known and words.quadrant(task) in _DOTS


def _scatter(tasks: list[GroupScore]) -> Markup:
    dots = [
        Dot(
            task.task_id,
            anchor(task.task_id),
            task.success_rate.value or 0.0,
            task.rsd_share.value or 0.0,
            _DOTS[words.quadrant(task)],
        )
        for task in tasks
        if _drawn(task)
    ]
    return scatter(dots, words.RIGHT_FROM, words.CONSISTENT_BELOW)


def _curve_data(tasks: list[GroupScore]) -> tuple[list[float | None], list[int]]:
    by_turn: dict[int, list[float]] = {}
    for task in tasks:
        for score in task.turns:
            if score.mean_distance is not None:
                by_turn.setdefault(score.turn, []).append(score.mean_distance)
    turns = range(max(by_turn, default=-1) + 1)
    measured = [by_turn.get(turn, []) for turn in turns]
    return [sum(values) / len(values) if values else None for values in measured], [len(values) for values in measured]


def _heat_row(task: GroupScore) -> HeatRow:
    scores = {turn.turn: turn for turn in task.turns}
    turns = max([*scores, *(len(run.turns) - 1 for run in task.valid)], default=-1) + 1
    cells = tuple(_heat_cell(task, turn, scores.get(turn)) for turn in range(turns))
    fork = task.first_fork.turn if task.first_fork else None
    return HeatRow(task.task_id, anchor(task.task_id), cells, fork)


def _heat_cell(task: GroupScore, turn: int, score: TurnScore | None) -> HeatCell:
    where = f"{middle(task.task_id, 40)}, turn {turn}: "
    if score is None or score.mean_distance is None:
        return HeatCell(None, where + "not measured")
    kinds = ("equivalent", "neutral", "contradictory", "ended", "unmeasured")
    counts = ", ".join(f"{count} {kind}" for kind in kinds if (count := getattr(score, kind)))
    return HeatCell(score.mean_distance, f"{where}mean distance {score.mean_distance:.2f} ({counts or 'no pair'})")
