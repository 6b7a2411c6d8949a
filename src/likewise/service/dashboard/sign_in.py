"""Signing in and out, and the files that pages load."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from likewise.service.dashboard.access import (
    PageError,
    PageRoute,
    dashboard_of,
    in_thread,
    read_form,
    redirect,
    safe_path,
    visitor,
)
from likewise.service.dashboard.rendering import HEADERS, asset, html_page
from likewise.service.security.attempts import TooManyAttemptsError
from likewise.service.security.csrf import ForgedFormError
from likewise.service.security.login import WrongLoginError

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)
FORM_COOKIE = "likewise_form"


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A style sheet or script; its address changes with its content."""
    found = asset(name)
    if found is None:
        raise PageError(404, "Not found", "There is no such file.")
    headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found.content, media_type=found.media_type, headers=headers)


@router.get("/login")
async def login_page(request: Request) -> Response:
    """The form to sign in."""
    return await _form(request, safe_path(request.query_params.get("next", "/")))


async def _form(request: Request, wanted: str, status: int = 200, problem: str = "", name: str = "") -> Response:
    cookie, csrf = dashboard_of(request).logins.login_csrf()
    anybody = await in_thread(dashboard_of(request).store.users.any)
    https = dashboard_of(request).service.settings.https
    context = {"wanted": wanted, "problem": problem, "name": name, "csrf": csrf, "anybody": anybody}
    page = html_page("login.html.j2", status, **context)
    page.set_cookie(FORM_COOKIE, cookie, max_age=3600, path="/login", httponly=True, samesite="strict", secure=https)
    return page


@router.post("/login")
async def login(request: Request) -> Response:
    """Check name and password, and begin a session under a new token."""
    logins = dashboard_of(request).logins
    form = await read_form(request)
    wanted, name = safe_path(form.text("next", 2_000) or "/"), form.text("name", 200)
    try:
        logins.check_login_csrf(request.cookies.get(FORM_COOKIE), form.text("csrf", 200))
    except ForgedFormError:
        return await _form(request, wanted, 403, "The form was too old. Please try again.", name)
    address = request.client.host if request.client is not None else ""
    old = request.cookies.get(logins.cookie_name)
    try:
        session = await logins.enter(name, form.text("password", 1_000), address, old)
    except WrongLoginError:
        return await _form(request, wanted, 401, "Name or password is wrong.", name)
    except TooManyAttemptsError as problem:
        seconds = max(1, round(problem.retry_after))
        return await _form(request, wanted, 429, f"Too many attempts. Try again in {seconds} seconds.", name)
    answer = redirect(wanted)
    answer.set_cookie(**logins.cookie(session))
    return answer


@router.post("/logout")
async def logout(request: Request) -> Response:
    """End the session."""
    who = await visitor(request)
    await read_form(request, who)
    logins = dashboard_of(request).logins
    await logins.leave(request.cookies.get(logins.cookie_name, ""))
    answer = redirect("/login")
    answer.delete_cookie(**logins.forget_cookie())
    return answer
