"""A comparison as one HTML page that opens offline, runs no script and asks nothing of any server."""

from __future__ import annotations

from markupsafe import Markup

from likewise.evaluation.change import Change, Comparison
from likewise.report import compare_words, words
from likewise.report.compare_charts import difference_bar, dumbbells
from likewise.report.html import template_asset, template_environment

__all__ = ["comparison_html"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_CHIPS = {Change.BETTER: "right", Change.WORSE: "wrong", Change.UNDECIDED: "unknown"}


def comparison_html(comparison: Comparison) -> str:
    """The page as text; every text of a log or a task escaped."""
    environment = template_environment()
    tasks = compare_words.changed_tasks(comparison)
    return environment.get_template("compare.html.j2").render(
        c=comparison,
        said=compare_words,
        words=words,
        policy=POLICY,
        style=Markup(template_asset(environment, "report.css")),
        chips=_CHIPS,
        bars={difference.figure: difference_bar(difference) for difference in comparison.differences},
        tasks=tasks,
        chart=dumbbells(tasks),
        signature=str(comparison.signature.get("text", "")),
        version=str(comparison.signature.get("version", "")),
    )
