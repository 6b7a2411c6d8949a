"""What a run of `likewise label` did, as a terminal table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from likewise.report.label_lines import LabelSummary
from likewise.report.text import one_line

__all__ = ["render_label_summary"]

_REASON = 100


def render_label_summary(summary: LabelSummary, console: Console) -> None:
    """Print counts by relation and rule, who answered, what was not measured and why, and the signature."""
    counts = summary.counts
    pace = f", {counts.distinct / summary.seconds:,.1f} a second" if summary.seconds > 0 else ""
    console.print(
        f"{counts.pairs:,} pairs, {counts.distinct:,} of them distinct; {summary.seconds:,.1f} s{pace}", highlight=False
    )
    table = Table("relation", "distinct pairs", "share")
    labelled = counts.relations.total()
    for relation in ("equivalent", "neutral", "contradictory"):
        number = counts.relations[relation]
        table.add_row(relation, f"{number:,}", f"{number / labelled:.3f}" if labelled else "-")
    console.print(table)
    rules = Table("decided by", "distinct pairs")
    for rule, number in counts.rules.most_common():
        rules.add_row(Text(one_line(rule)), f"{number:,}")
    if counts.rules:
        console.print(rules)
    asked = f"judge: {summary.from_judge:,} pairs of texts judged, {summary.from_store:,} known to the label store"
    console.print(asked + (f", {summary.by_class:,} settled by classes" if summary.by_class else ""), highlight=False)
    for note in summary.notes:
        console.print(Text(one_line(note)))
    for reason, number in counts.failures.most_common():
        console.print(Text(f"not measured: {number:,} ({one_line(reason, _REASON)})"))
    if summary.excluded:
        console.print(f"excluded: {summary.excluded:,} records or lines that hold no run and no pair", highlight=False)
    for warning in summary.warnings:
        console.print(Text(f"warning: {one_line(warning)}"))
    console.print(summary.signature, style="dim", highlight=False, markup=False, soft_wrap=True)
