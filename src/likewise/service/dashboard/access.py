"""Who looks at a page: sessions, forms that cannot be forged, and how a page that cannot be shown says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from urllib.parse import parse_qs, quote

import anyio.to_thread
from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from likewise.core.errors import StoreUnavailableError
from likewise.service.dashboard.rendering import HEADERS, html_page
from likewise.service.security.csrf import ForgedFormError, check_csrf
from likewise.service.security.login import Session

if TYPE_CHECKING:
    from likewise.service.dashboard.state import Dashboard

__all__ = [
    "Form",
    "PageError",
    "PageRoute",
    "Visitor",
    "dashboard_of",
    "in_thread",
    "read_form",
    "redirect",
    "safe_path",
    "visitor",
]

P = ParamSpec("P")
R = TypeVar("R")

LARGEST_FORM = 256_000
"""Bytes of a form: a question and its sources, no more."""
MOST_FIELDS = 100


class PageError(Exception):
    """A page that cannot be shown."""

    def __init__(self, status: int, title: str, words: str = "") -> None:
        """Say what is wrong in a few words, and what to do in a sentence."""
        super().__init__(title)
        self.status, self.title, self.words = status, title, words


class _SignInFirst(Exception):
    """Nobody is signed in."""


class Form:
    """Fields of a form, as text."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        """Keep them by name."""
        self._fields = fields

    def text(self, name: str, limit: int = 10_000) -> str:
        """A field without the space around it; "" where it is missing.

        Raises:
            PageError: It is longer than the limit.
        """
        value = self._fields.get(name, [""])[0].strip()
        if len(value) > limit:
            raise PageError(
                413, "Too long", f"The field {name!r} takes {limit:,} characters; {len(value):,} were sent."
            )
        return value

    def all(self, name: str) -> list[str]:
        """Every value of a field, as checkboxes send them."""
        return [value for value in self._fields.get(name, []) if value]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who is signed in."""

    session: Session

    @property
    def name(self) -> str:
        """The name signed in with."""
        return self.session.user

    @property
    def is_admin(self) -> bool:
        """Whether this person may change settings and run agents."""
        return self.session.administers

    @property
    def csrf(self) -> str:
        """What this person's forms carry."""
        return self.session.csrf

    def must_be_admin(self) -> None:
        """Refuse anybody else.

        Raises:
            PageError: With status 403.
        """
        if not self.is_admin:
            raise PageError(403, "Not allowed", "This takes an administrator. You are signed in as a viewer.")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run what waits for a database or a model in a thread."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))


def dashboard_of(request: Request) -> Dashboard:
    """What all pages share."""
    state: Dashboard = request.app.state.dashboard
    return state


async def visitor(request: Request) -> Visitor:
    """Who is signed in; nobody is sent to the page to sign in."""
    logins = dashboard_of(request).logins
    token = request.cookies.get(logins.cookie_name, "")
    session = await logins.resume(token) if token else None
    if session is None:
        raise _SignInFirst
    return Visitor(session)


async def read_form(request: Request, who: Visitor | None = None) -> Form:
    """The fields of a form that was sent; with `who` also checked to be that person's own.

    Raises:
        PageError: It is too large, or no form.
        ForgedFormError: It does not come from this person's page.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise PageError(415, "Not a form", "This address takes what its own form sends.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise PageError(413, "Too long", f"A form takes {LARGEST_FORM:,} bytes.")
    try:
        form = Form(parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise PageError(400, "Not a form", "The form that was sent cannot be read.") from None
    if who is not None:
        headers = request.headers
        check_csrf(who.session, form.text("csrf", 200), headers.get("origin"), headers.get("host"))
    return form


def safe_path(path: str) -> str:
    """A path on this site; `/` for anything that could lead elsewhere."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if plain and "\\" not in path and len(path) <= 2_000 else "/"


def redirect(path: str) -> Response:
    """Send the browser to another page, by GET."""
    return RedirectResponse(path, 303, headers=HEADERS)


class PageRoute(APIRoute):
    """A route whose failures are pages: to sign in, or that say what is wrong."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with the failures that a person may meet turned into pages."""
        inner: Callable[[Request], Awaitable[Response]] = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except _SignInFirst:
                return _to_sign_in(request)
            except PageError as problem:
                return _error(problem)
            except ForgedFormError:
                return _error(
                    PageError(403, "Form refused", "The form was too old or not yours. Go back and try again.")
                )
            except StoreUnavailableError as problem:
                return _error(PageError(503, "The history cannot be reached", f"{problem} Try again in a moment."))

        return handle


def _to_sign_in(request: Request) -> Response:
    if request.headers.get("hx-request") == "true":  # a part of a page: the whole page must go there
        return Response(status_code=401, headers={**HEADERS, "HX-Redirect": "/login"})
    if request.method != "GET":
        return redirect("/login")
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return redirect("/login" if wanted == "/" else f"/login?next={quote(wanted, safe='')}")


def _error(problem: PageError) -> Response:
    return html_page("error.html.j2", problem.status, title=problem.title, words=problem.words)
