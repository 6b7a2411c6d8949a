"""Settings: API keys, how long verdicts are kept, who is told of regressions, and what was done here."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from likewise.service.alerts import channels_of, send_test
from likewise.service.dashboard.access import (
    Form,
    PageError,
    PageRoute,
    Visitor,
    dashboard_of,
    in_thread,
    read_form,
    redirect,
    visitor,
)
from likewise.service.dashboard.rendering import html_page
from likewise.service.dashboard.state import Dashboard
from likewise.service.figures import figure_of
from likewise.service.retention import SETTING, kept_days
from likewise.service.security.keys import Scope, create_key

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
Who = Annotated[Visitor, Depends(visitor)]
MOST_PER_MINUTE, LONGEST_KEPT = 1_000_000, 36_500


@router.get("/settings")
async def settings_page(request: Request, who: Who) -> Response:
    """All settings on one page."""
    who.must_be_admin()
    return await _page(request, who)


async def _page(
    request: Request, who: Visitor, status: int = 200, *, created: str = "", problem: str = "", done: str = ""
) -> Response:
    context = await in_thread(_context, dashboard_of(request))
    told = {"created": created, "problem": problem, "done": done}
    return html_page("settings.html.j2", status, who=who, scopes=list(Scope), **context, **told)


def _context(dashboard: Dashboard) -> dict[str, Any]:
    service, store = dashboard.service, dashboard.store
    alerts = store.alerts.list(limit=50)
    return {
        "keys": store.keys.list(),
        "kept": kept_days(service),
        "kept_fixed": service.settings.retention_days is not None,
        "channels": channels_of(service.settings.alerts),
        "check_seconds": service.settings.alerts.check_seconds,
        "alerts": [(alert, figure_of(alert.metric), store.alerts.deliveries(alert.id)) for alert in alerts],
        "audit": store.audit.page(limit=30).items,
        "where": store.where,
    }


@router.post("/settings/keys")
async def make_key(request: Request, who: Who) -> Response:
    """Make an API key and show it, this once."""
    who.must_be_admin()
    form = await read_form(request, who)
    name = form.text("name", 100)
    scopes = {scope for scope in Scope if scope.value in form.all("scope")}
    if not name or not scopes:
        return await _page(request, who, 422, problem="A key needs a name and at least one scope.")
    per_minute = _whole(form, "per_minute", 600, MOST_PER_MINUTE)
    burst = _whole(form, "burst", 60, MOST_PER_MINUTE)
    store = dashboard_of(request).store
    created = await in_thread(
        create_key, store, name, scopes=scopes, per_minute=per_minute, burst=burst, actor=f"user:{who.name}"
    )
    return await _page(request, who, created=created.secret)


@router.post("/settings/keys/revoke")
async def revoke_key(request: Request, who: Who) -> Response:
    """Revoke a key; it is refused from then on."""
    who.must_be_admin()
    form = await read_form(request, who)
    prefix = form.text("prefix", 100)
    service = dashboard_of(request).service
    revoked = await in_thread(service.store.keys.revoke, prefix, f"user:{who.name}")
    service.ring.forget(prefix)
    if not revoked:
        return await _page(request, who, 404, problem="There is no such key, or it is revoked already.")
    return redirect("/settings#keys")


@router.post("/settings/retention")
async def set_retention(request: Request, who: Who) -> Response:
    """How long verdicts are kept."""
    who.must_be_admin()
    form = await read_form(request, who)
    dashboard = dashboard_of(request)
    if dashboard.service.settings.retention_days is not None:
        return await _page(request, who, 409, problem="The service was started with a fixed time: retention_days.")
    days = _whole(form, "days", 0, LONGEST_KEPT)
    await in_thread(dashboard.store.settings.set, SETTING, days or None, actor=f"user:{who.name}")
    return redirect("/settings#retention")


@router.post("/settings/alerts/test")
async def test_alerts(request: Request, who: Who) -> Response:
    """Send a message over every channel, marked as a test, and say what came of it."""
    who.must_be_admin()
    await read_form(request, who)
    service = dashboard_of(request).service
    failures = await send_test(service)
    if failures:
        return await _page(request, who, 502, problem="; ".join(failures))
    return await _page(request, who, done="The test message was taken by every channel.")


def _whole(form: Form, name: str, default: int, most: int) -> int:
    text = form.text(name, 12)
    if not text:
        return default
    if not (text.isascii() and text.isdigit()) or int(text) > most:
        raise PageError(422, "Not a number", f"The field {name!r} takes a whole number up to {most:,}.")
    return int(text)
