"""An evaluation in the terminal: tasks worst first, then what they say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from likewise.core.estimate import Estimate
from likewise.evaluation.results import Evaluation
from likewise.report.text import middle, named, one_line
from likewise.report.words import (
    CONSISTENT_BELOW,
    RIGHT_FROM,
    SHARE_HINT,
    Quadrant,
    band_ends,
    counted,
    headline_k,
    interval,
    judge_lines,
    left_out,
    location,
    luck_line,
    nothing_scored,
    number,
    outcome_counts,
    pass_hat,
    percent,
    quadrant,
    readings,
    reasons,
    rsd_scale,
    sizes_differ,
    success_lines,
    uncertain_line,
    worst_first,
)
from likewise.scoring.results import GroupScore

__all__ = ["print_plainly", "render_terminal", "terminal_report"]

_WIDE = 110
_STYLES = {Quadrant.RIGHT: "", Quadrant.WRONG: "bold yellow", Quadrant.INCONSISTENT: "bold", Quadrant.UNKNOWN: "dim"}


def render_terminal(evaluation: Evaluation, console: Console) -> None:
    """Print the report; colour only where the console has it."""
    print_plainly(terminal_report(evaluation, console.width), console)


def print_plainly(report: RenderableType, console: Console) -> None:
    """Print, with no character that the console's encoding lacks."""
    if console.encoding.lower().startswith("utf"):
        console.print(report)
        return
    with console.capture() as captured:
        console.print(report)
    plain = captured.get().translate(_ASCII).encode(console.encoding, "replace").decode(console.encoding)
    console.file.write(plain)


_ASCII = str.maketrans(
    {"–": "-", "−": "-", "→": ">", "…": "~", "─": "-", "━": "-", "╶": "-", "╴": "-", "≥": ">=", "·": "-", "±": "+-"}
)


def terminal_report(evaluation: Evaluation, width: int = 80) -> RenderableType:
    """The report as one rich renderable, laid out for `width` columns."""
    summary = Padding(_summary(evaluation), (1, 0, 0, 1))
    signature = Padding(Text(one_line(str(evaluation.signature)), style="dim", overflow="fold"), (1, 0, 0, 1))
    table = _task_table(evaluation, width >= _WIDE)
    if sentence := nothing_scored(evaluation):
        return Group(Padding(Text(sentence, style="bold yellow"), (0, 0, 1, 1)), table, summary, signature)
    return Group(table, summary, signature)


def _task_table(evaluation: Evaluation, wide: bool) -> Table:
    k = headline_k(evaluation)
    table = Table(
        box=box.SIMPLE_HEAD, padding=(0, 1 if wide else 0, 0, 0), pad_edge=False, expand=False, highlight=False
    )
    table.add_column("task", overflow="fold", min_width=8, max_width=48 if wide else None)
    table.add_column("runs", justify="right", no_wrap=True)
    table.add_column("success" if wide else "succ.", justify="right", no_wrap=True)
    if k is not None:
        table.add_column(f"pass^{k}", justify="right", no_wrap=True)
    for name in (
        "RSD",
        "RSD share" if wide else "share",
        "aligned" if wide else "align.",
        "contradictions" if wide else "contr.",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("first fork", no_wrap=True)
    for task in worst_first(evaluation.tasks):
        table.add_row(*_cells(task, k, wide, _STYLES[quadrant(task)]))
    return table


def _cells(task: GroupScore, k: int | None, wide: bool, style: str) -> Iterator[Text]:
    yield Text(middle(task.task_id, 192 if wide else 56), style=style)
    yield Text(f"{len(task.valid)}/{len(task.rollouts)}")
    yield Text(percent(task.success_rate.value))
    if k is not None:
        yield Text(percent(pass_hat(task, k)))
    yield _with_interval(task.rsd, wide, style)
    yield Text(number(task.rsd_share.value))
    yield Text(number(task.aligned_rsd.value))
    yield Text(str(task.contradictions.contradictory) if task.contradictions.judged else "–")
    yield _fork(task, wide)


def _with_interval(estimate: Estimate, wide: bool, style: str) -> Text:
    text = Text(number(estimate.value), style=style)
    if bounds := interval(estimate):
        short = bounds.replace(" to ", "–")
        text.append(f" [{short}]" if wide else f"\n{short}", style="not bold dim")
    return text


def _fork(task: GroupScore, wide: bool) -> Text:
    if task.first_fork is None:
        return Text("none" if task.rsd.defined else "–", style="dim")
    fork = task.first_fork
    place = Text(f"turn {fork.turn} {fork.kind.value}")
    return place.append(f", by {fork.cause.value}" if wide else f"\n{fork.cause.value}", style="dim")


def _summary(evaluation: Evaluation) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, line in _summary_lines(evaluation):
        grid.add_row(Text(label), line if isinstance(line, Text) else Text(line))
    return grid


def _reading_lines(evaluation: Evaluation) -> Iterator[tuple[str, str | Text]]:
    if nothing_scored(evaluation):
        return
    for i, sentence in enumerate(readings(evaluation)):
        yield "reading" if i == 0 else "", sentence
    consistent = f"Consistent: RSD share ({SHARE_HINT}) below {CONSISTENT_BELOW:g}"
    yield "", Text(f"{consistent}. Right: success from {percent(RIGHT_FROM)}.", style="dim")


def _summary_lines(evaluation: Evaluation) -> Iterator[tuple[str, str | Text]]:
    yield from _reading_lines(evaluation)
    summary = evaluation.summary
    yield "runs", f"{counted(summary.tasks, 'task')}, {counted(summary.rollouts, 'run')}, {summary.valid} scored"
    yield "RSD", _figure(summary.rsd, after=f"  ({rsd_scale(evaluation)})", why=True)
    yield "RSD share", _figure(summary.rsd_share)
    yield "final answers", _figure(summary.total_variance, before="disagree with probability ")
    for i, line in enumerate(success_lines(evaluation)):
        yield "" if i else "success", line
    for name, estimates in (("pass^k", summary.pass_hat_k), ("pass@k", summary.pass_at_k)):
        if estimates:
            yield name, _by_k(estimates, summary.tasks)
    if line := luck_line(evaluation):
        yield "flips", line
    if counts := outcome_counts(evaluation):
        yield "outcomes", f"{counts}. A task with fewer than k is left out of pass^k and pass@k."
    if summary.tasks_without_valid:
        yield "no valid run", named(summary.tasks_without_valid)
    yield "contradictions", _figure(summary.contradiction_share, share=True, after=" of judged pairs")
    if summary.forks_by_cause:
        yield "forks by cause", ", ".join(f"{one_line(c)} {n}" for c, n in summary.forks_by_cause.items())
    yield from _band_lines(evaluation)
    yield from _left_out_lines(evaluation)
    for i, line in enumerate(judge_lines(evaluation.judge_use, 6)):
        yield "" if i else "judge", line
    if line := uncertain_line(evaluation.uncertain):
        yield "uncertain", line
    for warning in evaluation.warnings:
        yield "warning", Text(one_line(warning), style="yellow")


def _figure(estimate: Estimate, *, share: bool = False, before: str = "", after: str = "", why: bool = False) -> Text:
    """A number between its words; `why` says also why there is no interval, which one row of a summary does."""
    if estimate.value is None:
        return Text("undefined: " + one_line(estimate.reason or "no reason given"))
    text = Text(before + (percent(estimate.value) if share else number(estimate.value)))
    reason = f": {one_line(estimate.reason or '')}" if why else ""
    bounds = interval(estimate, share=share)
    return text.append(f" [{bounds}]" if bounds else f" (no interval{reason})", style="dim").append(after, style="dim")


def _by_k(estimates: Mapping[int, Estimate], tasks: int) -> Text:
    """The estimate for each k; on how many tasks it rests where that is not all of them."""
    differ = sizes_differ(estimates, tasks)
    parts = []
    for k, estimate in sorted(estimates.items()):
        size = f", {estimate.n} of {counted(tasks, 'task')}" if differ and estimate.n is not None else ""
        parts.append(Text(f"{k}: ").append(_figure(estimate, share=True)).append(size, style="dim"))
    return Text("; ").join(parts)


def _band_lines(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    banded = [(task, band) for task in worst_first(evaluation.tasks) if (band := task.rsd_band) is not None]
    shown = [f"{middle(task.task_id, 30)}: {band_ends(band)}" for task, band in banded[:5]]
    if banded:
        more = f"; {len(banded) - 5} more" if len(banded) > 5 else ""
        yield "not fully measured", "RSD lies between the band's ends. " + "; ".join(shown) + more


def _left_out_lines(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    records = left_out(evaluation)
    found = reasons(records)
    for i, (reason, count, first) in enumerate(found[:5]):
        where = location(first.path, first.line, first.pointer)
        example = f" ({'first: ' if count > 1 else ''}{where})" if where else ""
        yield f"left out: {len(records)}" if i == 0 else "", f"{count} × {reason}{example}"
    if (hidden := len(found) - 5) > 0:
        yield "", f"{counted(hidden, 'further reason')}: `likewise inspect` lists all"
