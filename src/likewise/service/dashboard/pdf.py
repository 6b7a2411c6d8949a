"""The audit report of one verdict, on paper: what was asked, what each run said, where they clash, how it was made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from fontTools.ttLib import TTFont
from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.fonts import FontFace

from likewise.core.version import VERSION
from likewise.report.text import one_line, visible
from likewise.report.words import interval, number
from likewise.service.dashboard.verdict_view import Card, RunView, VerdictView, verdict_view
from likewise.store.verdicts import StoredVerdict, VerdictSummary

__all__ = ["verdict_pdf"]

_INK, _MUTED, _LINE, _CLASH = (26, 32, 39), (90, 101, 114), (200, 206, 213), (180, 84, 10)
_UNKNOWN = "\ufffd"
LONGEST = 20_000
"""Characters of one text; what lies beyond is counted in a note, and all of it enters the digest."""


def verdict_pdf(
    stored: StoredVerdict, *, asked_by: str, font: Path | None = None, now: datetime | None = None
) -> bytes:
    """The report as a PDF file; every text stands in it as text and nothing in it is run, opened or fetched.

    Args:
        stored: The verdict.
        asked_by: Who asked for the report.
        font: A TrueType font for characters that the built-in one lacks.
        now: When it was asked for.

    Returns:
        The file. Its last section has the SHA-256 of the stored verdict, by which a copy can be checked.
    """
    view = verdict_view(stored.body, stored.signature)
    paper = _Paper(font, now or datetime.now(UTC))
    paper.begin(f"Verdict {stored.summary.id}")
    _head(paper, stored.summary, view)
    _figures(paper, view.cards)
    _clashes(paper, view)
    paper.section("Runs")
    for run in view.runs:
        _run(paper, run)
    _grounding(paper, view)
    _advice(paper, view)
    _made(paper, stored, view, asked_by)
    return paper.finished()


def _head(paper: _Paper, summary: VerdictSummary, view: VerdictView) -> None:
    said = {"serve": "served", "flag": "flagged", "refuse": "refused", "failed": "failed"}
    label = view.label.replace("_", " ").lower()
    paper.title(f"Answer {said.get(view.decision, view.decision)}, trust {label}")
    origin = [summary.agent, summary.version, summary.model, summary.route]
    when = f"{summary.created.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    paper.small(" · ".join([when, *(part for part in origin if part)]))
    paper.section("Question")
    paper.text(view.query)
    if view.answer:
        paper.section("Answer served" if view.served else "Consensus, not served")
        paper.text(view.answer)
    paper.calls(view.calls)
    if view.reasons:
        paper.section("Why it was not simply served")
        paper.items(view.reasons)


def _figures(paper: _Paper, cards: Sequence[Card]) -> None:
    paper.section("Figures")
    rows = [
        (card.name, card.value, " ".join(part for part in (card.spread, f"({card.hint})" if card.hint else "") if part))
        for card in cards
    ]
    paper.table(("figure", "value", "interval, or why there is none"), rows, (34, 16, 110))


def _clashes(paper: _Paper, view: VerdictView) -> None:
    if not view.clashes:
        return
    paper.section("Where runs contradict each other")
    for clash in view.clashes:
        paper.small(f"Runs {clash.run_i} and {clash.run_j}, contradiction {clash.score}, by {clash.rule}")
        paper.quote(f"Run {clash.run_i}", clash.plain_i)
        paper.quote(f"Run {clash.run_j}", clash.plain_j)
    if view.more_clashes:
        paper.small(f"and {view.more_clashes} further pairs")


def _run(paper: _Paper, run: RunView) -> None:
    facts = [f"class {run.letter}" if run.letter else "not compared", "the consensus" if run.chosen else ""]
    facts.append(f"contradicts run {', '.join(map(str, run.contradicts))}" if run.contradicts else "")
    paper.heading(f"Run {run.number}", " · ".join(part for part in [*facts, run.facts] if part))
    if run.failure:
        paper.text(f"Failed: {run.failure}")
    if run.plain:
        paper.text(run.plain)
    paper.calls(run.calls)
    for name, values in (("Findings", run.findings), ("Sources", run.sources)):
        if values:
            paper.small(name)
            paper.items(values)


def _grounding(paper: _Paper, view: VerdictView) -> None:
    if view.grounding is None:
        return
    paper.section(f"Does it rest on the sources? {view.grounded_share} of its claims")
    for sentence in view.grounding:
        paper.text(f"[{sentence.status}] {sentence.text}")
        if sentence.passage:
            paper.quote(sentence.source, sentence.passage)
    if view.unread:
        paper.small("Not read: " + "; ".join(view.unread))


def _advice(paper: _Paper, view: VerdictView) -> None:
    if not view.advice:
        return
    paper.section("What to try")
    for one in view.advice:
        paper.heading(one_line(str(one.get("fix", "")), 300), str(one.get("severity", "")).lower())
        paper.text(str(one.get("detail", "")))
        paper.items([str(each) for each in one.get("evidence") or ()])


def _made(paper: _Paper, stored: StoredVerdict, view: VerdictView, asked_by: str) -> None:
    paper.section("How this was made")
    summary = stored.summary
    body = json.dumps(stored.as_json(), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    digest = hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()
    rows = [
        ("verdict", summary.id),
        ("task", summary.task),
        ("reliability", f"{number(summary.reliability.value)} {interval(summary.reliability)}".strip()),
        *view.made,
        ("SHA-256", digest),
        ("report", f"likewise {VERSION}, {paper.now:%Y-%m-%d %H:%M:%S} UTC, asked for by {one_line(asked_by, 80)}"),
    ]
    paper.table(("", ""), rows, (34, 126), headings=False)
    if paper.unknown:
        paper.small(
            f"{paper.unknown:,} characters for which the font has no sign stand as {_UNKNOWN}; the setting pdf_font of "
            "the dashboard names a font that has them."
        )


@cache
def _signs(path: str) -> frozenset[int]:
    """The characters that a font has a sign for."""
    with TTFont(path, lazy=True, fontNumber=0) as font:
        return frozenset(font.getBestCmap() or ())


class _Paper:
    """Pages with our fonts, on which texts are only ever texts."""

    def __init__(self, font: Path | None, now: datetime) -> None:
        self.now, self.unknown = now.astimezone(UTC), 0
        own = files("likewise.service.dashboard") / "fonts"
        regular, bold = str(own / "DejaVuSans.ttf"), str(own / "DejaVuSans-Bold.ttf")
        self._pdf = _Pages(format="A4")
        self._pdf.add_font("sans", "", regular)
        self._pdf.add_font("sans", "B", bold)
        self._signs = _signs(regular)
        if font is not None:
            self._pdf.add_font("further", "", str(font))
            self._pdf.set_fallback_fonts(["further"], exact_match=False)
            self._signs |= _signs(str(font))
        self._pdf.alias_nb_pages("")  # else "{nb}" in an agent's text would become the number of pages
        self._pdf.set_margins(22, 20, 22)
        self._pdf.set_auto_page_break(True, 20)

    def begin(self, title: str) -> None:
        self._pdf.set_title(self._plain(title, 200))
        self._pdf.set_creator(f"likewise {VERSION}")
        self._pdf.set_lang("en")
        self._pdf.set_creation_date(self.now)
        self._pdf.foot = self._plain(title, 200)
        self._pdf.add_page()

    def finished(self) -> bytes:
        return bytes(self._pdf.output())

    def title(self, words: str) -> None:
        self._write(words, 18, bold=True)
        self._pdf.ln(1)

    def section(self, words: str) -> None:
        self._pdf.ln(4)
        if self._pdf.will_page_break(24):
            self._pdf.add_page()
        self._pdf.set_font("sans", "B", 12)
        self._pdf.start_section(self._plain(words, 200))
        self._write(words, 12, bold=True)
        self._pdf.ln(0.5)

    def heading(self, words: str, beside: str) -> None:
        self._pdf.ln(2)
        if self._pdf.will_page_break(16):
            self._pdf.add_page()
        self._write(words, 10, bold=True)
        if beside:
            self.small(beside)

    def text(self, words: str) -> None:
        shown = visible(words).strip()
        self._write(shown[:LONGEST], 10)
        if len(shown) > LONGEST:
            self.small(f"… {len(shown) - LONGEST:,} more characters are stored")

    def small(self, words: str) -> None:
        self._write(one_line(words, 2_000), 8.5, colour=_MUTED)

    def items(self, words: Iterable[str]) -> None:
        for each in words:
            self._write(f"• {one_line(each, LONGEST)}", 10, indent=3)

    def quote(self, name: str, words: str) -> None:
        top, page = self._pdf.get_y(), self._pdf.page
        self._write(f"{name}:", 8.5, colour=_MUTED, indent=4)
        self._write(visible(words).strip()[:LONGEST], 10, indent=4)
        if self._pdf.page == page:
            self._pdf.set_draw_color(*_CLASH)
            self._pdf.set_line_width(0.7)
            self._pdf.line(self._pdf.l_margin + 1, top + 0.5, self._pdf.l_margin + 1, self._pdf.get_y() - 0.5)
        self._pdf.ln(1.5)

    def calls(self, calls: Iterable[tuple[str, str]]) -> None:
        for name, arguments in calls:
            self._write(f"calls {name} {one_line(arguments, LONGEST)}", 9, indent=3)

    def table(
        self, heading: Sequence[str], rows: Iterable[Sequence[str]], widths: tuple[int, ...], *, headings: bool = True
    ) -> None:
        self._pdf.set_font("sans", "", 8.5)
        self._pdf.set_draw_color(*_LINE)
        self._pdf.set_text_color(*_INK)
        self._pdf.set_line_width(0.2)
        with self._pdf.table(
            col_widths=widths,
            first_row_as_headings=headings,
            headings_style=FontFace(emphasis="BOLD", color=_MUTED),
            borders_layout="HORIZONTAL_LINES",
            line_height=4.6,
            padding=(0.8, 1),
            text_align="LEFT",
            markdown=False,
        ) as table:
            for row in [heading, *rows] if headings else rows:
                cells = table.row()
                for cell in row:
                    cells.cell(self._plain(one_line(cell, 1_500)))

    def _write(
        self, words: str, size: float, *, bold: bool = False, colour: tuple[int, int, int] = _INK, indent: float = 0
    ) -> None:
        self._pdf.set_font("sans", "B" if bold else "", size)
        self._pdf.set_text_color(*colour)
        self._pdf.set_x(self._pdf.l_margin + indent)
        self._pdf.multi_cell(
            0, size * 0.5, self._plain(words), align="L", markdown=False, new_x=XPos.LMARGIN, new_y=YPos.NEXT
        )

    def _plain(self, words: str, limit: int = 0) -> str:
        """What the fonts can show; what they cannot is counted."""
        shown = visible(words).replace("\t", "    ")
        shown = shown[:limit] if limit else shown
        lacking = {letter for letter in set(shown) if ord(letter) not in self._signs and letter != "\n"}
        if lacking:
            self.unknown += sum(letter in lacking for letter in shown)
            shown = "".join(_UNKNOWN if letter in lacking else letter for letter in shown)
        return shown


class _Pages(FPDF):
    """Pages with a number below."""

    foot = ""

    def footer(self) -> None:
        """The name of the report and the page."""
        self.set_y(-14)
        self.set_font("sans", "", 8)
        self.set_text_color(*_MUTED)
        self.cell(0, 5, f"{self.foot} · page {self.page_no()}", align="C", markdown=False)
