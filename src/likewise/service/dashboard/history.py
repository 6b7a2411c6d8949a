"""Pages that show the history: all agents, one agent, verdicts in a list, one verdict, and its audit report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response

from likewise.evaluation.trend import Trend
from likewise.service.dashboard.access import PageError, PageRoute, Visitor, dashboard_of, in_thread, visitor
from likewise.service.dashboard.agents_view import AgentRow, agent_row, days_ago, figure_trends
from likewise.service.dashboard.pdf import verdict_pdf
from likewise.service.dashboard.rendering import HEADERS, html_page, render
from likewise.service.dashboard.state import Dashboard
from likewise.service.dashboard.verdict_view import verdict_view
from likewise.service.regressions import agent_trends, recorded_trends
from likewise.service.retention import kept_days
from likewise.store.verdicts import StoredVerdict, VerdictFilter

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
By = Literal["day", "version"]
Who = Annotated[Visitor, Depends(visitor)]

AGENTS_SHOWN = 30
SPANS = {30: "30 days", 90: "90 days", 365: "a year"}
DECISIONS = ("serve", "flag", "refuse", "failed")
LABELS = ("HIGH", "MEDIUM", "LOW", "CRITICAL", "NOT_MEASURED")
_TEXT_FILTERS = ("agent", "version", "model", "task", "text")


# ------------------------------------------------------------------ agents
@router.get("/")
async def overview(request: Request, who: Who) -> Response:
    """All agents: how reliable, how often contradictory, and which have become worse."""
    days = _span(request)
    skip = _number(request, "skip", 0, 1_000_000)
    rows, total = await in_thread(_rows, dashboard_of(request), days, skip)
    more = skip + AGENTS_SHOWN if skip + AGENTS_SHOWN < total else None
    return html_page("overview.html.j2", who=who, rows=rows, total=total, days=days, spans=SPANS, skip=skip, more=more)


def _rows(dashboard: Dashboard, days: int, skip: int) -> tuple[list[AgentRow], int]:
    since = days_ago(days)
    agents = sorted(dashboard.store.trends.agents(since=since), key=lambda summary: summary.agent)
    rows = [
        agent_row(
            summary,
            dashboard.store.trends.series(summary.agent, by="day", since=since),
            recorded_trends(dashboard.store, summary.agent),
        )
        for summary in agents[skip : skip + AGENTS_SHOWN]
    ]
    return sorted(rows, key=lambda row: (not row.regressed, row.name)), len(agents)


def _trends(dashboard: Dashboard, agent: str) -> Mapping[str, Trend]:
    """The changes of an agent's figures, worked out once a minute."""
    return dashboard.trends.get(agent, partial(agent_trends, dashboard.store, agent, kept_days(dashboard.service)))


@router.get("/agent")
async def agent_page(request: Request, who: Who) -> Response:
    """One agent over time: each figure with its intervals and changes, and its tasks, the worst first."""
    name, days = request.query_params.get("name", ""), _span(request)
    by: By = "version" if request.query_params.get("by") == "version" else "day"
    cursor = request.query_params.get("after") or None
    context = await in_thread(_agent, dashboard_of(request), name, days, by, cursor)
    return html_page("agent.html.j2", who=who, name=name, days=days, by=by, spans=SPANS, **context)


def _agent(dashboard: Dashboard, name: str, days: int, by: By, cursor: str | None) -> dict[str, Any]:
    trends, since = dashboard.store.trends, days_ago(days)
    summary = next((one for one in trends.agents(since=since) if one.agent == name), None)
    if summary is None:
        raise PageError(404, "No such agent", f"No verdict of an agent of this name was stored in {SPANS[days]}.")
    series = trends.series(name, by=by, since=since)
    try:
        tasks = trends.tasks(name, after=cursor, limit=30)
    except ValueError as problem:
        raise PageError(400, "Not a page of this list", f"{problem}.") from None
    figures = figure_trends(summary, series, _trends(dashboard, name), by=by)
    return {"summary": summary, "figures": figures, "tasks": tasks}


# ------------------------------------------------------------------ verdicts
@router.get("/verdicts")
async def verdicts_page(request: Request, who: Who) -> Response:
    """Verdicts, the newest first, as a filter asks for them."""
    asked = {name: value for name, value in request.query_params.items() if value}
    chosen, cursor = _filter(asked), asked.pop("after", None)
    try:
        page = await in_thread(dashboard_of(request).store.verdicts.page, chosen, after=cursor, limit=50)
    except ValueError as problem:
        raise PageError(400, "Not a page of this list", f"{problem}.") from None
    further = None if page.next is None else "/verdicts?" + urlencode({**asked, "after": page.next})
    if request.headers.get("hx-request") == "true":
        return Response(
            render("_verdict_rows.html.j2", page=page, further=further, continued=cursor is not None),
            media_type="text/html; charset=utf-8",
            headers={**HEADERS, "Vary": "HX-Request"},
        )
    context: dict[str, Any] = {
        "page": page,
        "further": further,
        "asked": asked,
        "decisions": DECISIONS,
        "labels": LABELS,
    }
    return html_page("verdicts.html.j2", who=who, continued=cursor is not None, **context)


def _filter(asked: Mapping[str, str]) -> VerdictFilter:
    texts = {name: asked[name][:500] for name in _TEXT_FILTERS if name in asked}
    until = _date(asked.get("until"))
    return VerdictFilter(
        **texts,
        decision=asked.get("decision") if asked.get("decision") in DECISIONS else None,
        label=asked.get("label") if asked.get("label") in LABELS else None,
        contradictory=True if asked.get("contradictory") == "1" else None,
        since=_date(asked.get("since")),
        until=None if until is None else until + timedelta(days=1),
    )


def _date(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    except ValueError:
        raise PageError(400, "Not a date", "A date is written as in 2026-03-31.") from None


@router.get("/verdicts/{id}")
async def verdict_page(request: Request, id: str, who: Who) -> Response:
    """One verdict: its runs side by side, where they clash, what the answer rests on, what to do."""
    stored = await _stored(request, id)
    view = await in_thread(verdict_view, stored.body, stored.signature)
    return html_page("verdict.html.j2", who=who, id=stored.summary.id, s=stored.summary, v=view)


@router.get("/verdicts/{id}/report.pdf")
async def verdict_report(request: Request, id: str, who: Who) -> Response:
    """The same on paper."""
    stored = await _stored(request, id)
    font = dashboard_of(request).service.settings.dashboard.pdf_font
    content = await in_thread(verdict_pdf, stored, asked_by=who.name, font=font)
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="likewise-{_plain(stored.summary.id)}.pdf"'}
    return Response(content, media_type="application/pdf", headers=headers)


def _plain(id: str) -> str:
    """What of a name may stand in a header."""
    return "".join(letter for letter in id if letter.isascii() and letter.isalnum())[:16] or "verdict"


async def _stored(request: Request, id: str) -> StoredVerdict:
    stored = await in_thread(dashboard_of(request).store.verdicts.get, id) if len(id) <= 64 else None
    if stored is None:
        raise PageError(404, "No such verdict", "It was never stored, or it is older than verdicts are kept.")
    return stored


# ------------------------------------------------------------------ queries
def _span(request: Request) -> int:
    days = _number(request, "days", 30, 10_000)
    return days if days in SPANS else 30


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, "")
    return min(int(text), most) if text.isascii() and text.isdigit() and len(text) < 12 else default
