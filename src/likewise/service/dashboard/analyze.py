"""The form that asks an agent a question several times and goes to the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from likewise.report.text import one_line
from likewise.service.analyze_routes import analyze as run_agent
from likewise.service.dashboard.access import Form, PageRoute, Visitor, dashboard_of, read_form, redirect, visitor
from likewise.service.dashboard.rendering import html_page
from likewise.service.errors import ServiceError
from likewise.service.schemas import AnalyzeIn

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Who = Annotated[Visitor, Depends(visitor)]
STORED_AS = "X-Likewise-Verdict-Id"
MODES = {
    "standard": "a fixed number of runs",
    "full": "the same, and whether the answer rests on the sources",
    "adaptive": "two runs, more where they differ",
    "sequential": "until the most frequent answer is sure",
}
_FIELDS = ("agent", "query", "runs", "mode", "task", "version", "source")


@router.get("/analyze")
async def analyze_page(request: Request, who: Who) -> Response:
    """The empty form."""
    who.must_be_admin()
    return _form(request, who, dict.fromkeys(_FIELDS, "") | {"runs": "3", "mode": "standard"})


def _form(request: Request, who: Visitor, given: Mapping[str, str], status: int = 200, problem: str = "") -> Response:
    settings = dashboard_of(request).service.settings
    context = {"agents": sorted(settings.agents), "most": settings.max_runs, "modes": MODES}
    return html_page("analyze.html.j2", status, who=who, given=given, problem=problem, **context)


@router.post("/analyze")
async def analyze(request: Request, who: Who) -> Response:
    """Run the agent, store the verdict, and show it."""
    who.must_be_admin()
    form = await read_form(request, who)
    given = {name: form.text(name, 200_000) for name in _FIELDS}
    try:
        wanted = _wanted(form)
    except ValidationError as refused:
        first = refused.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "form"
        return _form(request, who, given, 422, f"{field}: {str(first['msg']).removeprefix('Value error, ')}.")
    try:
        verdict_id, _ = await run_agent(dashboard_of(request).service, wanted, f"user:{who.name}")
    except ServiceError as failed:
        stored = failed.headers.get(STORED_AS)  # all runs failed: that is a verdict, too
        if stored is None:
            return _form(request, who, given, failed.status, one_line(str(failed), 1_000))
        return redirect(f"/verdicts/{stored}")
    return redirect(f"/verdicts/{verdict_id}")


def _wanted(form: Form) -> AnalyzeIn:
    """What the form asks for; the schema of the API refuses what cannot be."""
    source = form.text("source", 200_000)
    asked: dict[str, object] = {
        "agent": form.text("agent", 200),
        "query": form.text("query", 200_000),
        "mode": form.text("mode", 40) or "standard",
        "task_id": form.text("task", 200),
        "version": form.text("version", 200),
    }
    if form.text("runs", 10):
        asked["runs"] = form.text("runs", 10)
    if source:
        asked["sources"] = {"source": source}
    return AnalyzeIn.model_validate(asked)
