"""Pages on the runs of many verdicts: one task, and two versions of an agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response

from likewise.core.errors import BackendError, GroupError
from likewise.core.rollout import Rollout
from likewise.report import compare_words
from likewise.report.text import one_line
from likewise.service.dashboard.access import PageError, PageRoute, Visitor, dashboard_of, in_thread, visitor
from likewise.service.dashboard.rendering import HEADERS, html_page, render
from likewise.service.dashboard.state import Dashboard
from likewise.service.dashboard.task_view import (
    MOST_RUNS,
    MOST_TASKS,
    ComparisonView,
    TaskView,
    compared,
    runs_of_version,
    task_view,
)
from likewise.store.trends import AgentSummary
from likewise.store.verdicts import VerdictFilter

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
T = TypeVar("T")
Who = Annotated[Visitor, Depends(visitor)]


@router.get("/task")
async def task_page(request: Request, who: Who) -> Response:
    """One task: its verdicts at once, the analysis of its runs as soon as it is done (with scripts), or on its own."""
    agent, task, version = (_asked(request, name) for name in ("agent", "task", "version"))
    dashboard = dashboard_of(request)
    chosen = VerdictFilter(agent=agent, task=task, version=version or None)
    page = await in_thread(dashboard.store.verdicts.page, chosen, limit=20)
    if not page.items:
        raise PageError(404, "No such task", "No verdict on this task is stored.")
    versions = await in_thread(_versions, dashboard, agent)
    view = None
    if request.query_params.get("analysis") == "1":
        view = await _judged(dashboard, _analysis, agent, task, version)
    context: dict[str, Any] = {
        "agent": agent,
        "task": task,
        "version": version,
        "versions": versions,
        "most": MOST_RUNS,
    }
    return html_page("task.html.j2", who=who, page=page, v=view, query=page.items[0].query, **context)


@router.get("/task/analysis")
async def task_analysis(request: Request, who: Who) -> Response:
    """The analysis alone, to be put into the page."""
    del who
    agent, task, version = (_asked(request, name) for name in ("agent", "task", "version"))
    view = await _judged(dashboard_of(request), _analysis, agent, task, version)
    return Response(render("_analysis.html.j2", v=view), media_type="text/html; charset=utf-8", headers=HEADERS)


async def _judged(dashboard: Dashboard, work: Callable[..., T], *arguments: str) -> T:
    """What takes the judge, in a thread, a few at a time."""
    async with dashboard.judging:
        return await in_thread(work, dashboard, *arguments)


def _analysis(dashboard: Dashboard, agent: str, task: str, version: str) -> TaskView | None:
    """The runs of a task scored together; kept as long as they are the same runs."""
    group = dashboard.store.verdicts.group(agent, task, version=version or None, limit=MOST_RUNS)
    service = dashboard.service
    key = ("task", agent, task, version, _which(group.rollouts))
    try:
        return dashboard.analyses.get(key, partial(task_view, group.rollouts, service.judge, service.encoder))
    except BackendError as problem:
        raise PageError(503, "The judge does not answer", one_line(str(problem), 300)) from None


def _which(rollouts: tuple[Rollout, ...] | list[Rollout]) -> tuple[tuple[str, str], ...]:
    return tuple((rollout.task_id, rollout.run_id) for rollout in rollouts)


@router.get("/compare")
async def compare_page(request: Request, who: Who) -> Response:
    """Two versions of an agent: is the candidate more consistent, or was it luck?"""
    agent, task, base, candidate = (_asked(request, name) for name in ("agent", "task", "base", "candidate"))
    dashboard = dashboard_of(request)
    versions = await in_thread(_versions, dashboard, agent)
    view, problem = None, ""
    if base and candidate:
        unknown = [version for version in (base, candidate) if version not in versions]
        if unknown:
            raise PageError(404, "No such version", f"No verdict of version {one_line(unknown[0], 60)} is stored.")
        try:
            view = await _judged(dashboard, _comparison, agent, task, base, candidate)
        except GroupError as refused:
            problem = f"These versions cannot be compared: {one_line(str(refused), 300)}."
        except BackendError as failed:
            raise PageError(503, "The judge does not answer", one_line(str(failed), 300)) from None
    context: dict[str, Any] = {"agent": agent, "task": task, "base": base, "candidate": candidate, "versions": versions}
    limits: dict[str, Any] = {"most_runs": MOST_RUNS, "most_tasks": MOST_TASKS}
    return html_page("compare.html.j2", who=who, v=view, problem=problem, said=compare_words, **context, **limits)


def _comparison(dashboard: Dashboard, agent: str, task: str, base: str, candidate: str) -> ComparisonView:
    first, second = (runs_of_version(dashboard.store, agent, version, task or None) for version in (base, candidate))
    key = ("compare", agent, base, candidate, _which(first), _which(second))
    service = dashboard.service
    return dashboard.analyses.get(key, partial(compared, first, second, service.judge, service.encoder))


def _versions(dashboard: Dashboard, agent: str) -> list[str]:
    """The versions of an agent that can be asked for; 404 for an agent that is not known."""
    summary: AgentSummary | None = next((one for one in dashboard.store.trends.agents() if one.agent == agent), None)
    if summary is None:
        raise PageError(404, "No such agent", "No verdict of an agent of this name is stored.")
    return [version for version in summary.versions if version]


def _asked(request: Request, name: str) -> str:
    return request.query_params.get(name, "")[:500]
