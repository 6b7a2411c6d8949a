"""Pages: which agent got worse and where, a query's runs side by side, a task's fork tree, settings, audit reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from likewise.service.service import Service

__all__ = ["add_dashboard"]


def add_dashboard(app: FastAPI, service: Service) -> None:
    """Add the pages to the service, and the task that looks for regressions."""
    from likewise.service.alerts import watch
    from likewise.service.dashboard import analyze, history, settings_pages, sign_in, tasks
    from likewise.service.dashboard.rendering import page_error
    from likewise.service.dashboard.state import Dashboard

    app.state.dashboard = Dashboard(service)
    app.state.page_errors = page_error
    for part in (sign_in, history, tasks, analyze, settings_pages):
        app.include_router(part.router)
    service.spawn("alerts", watch)
