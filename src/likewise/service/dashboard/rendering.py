"""Templates, styles and the headers that every page carries."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib.resources import files

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from likewise.evaluation.trend import FALSE_ALARM
from likewise.report import words
from likewise.report.html import template_asset, template_environment

__all__ = ["HEADERS", "POLICY", "Asset", "asset", "html_page", "link", "page_error", "render"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Nothing from elsewhere, nothing inline, in nobody's frame: text of an agent that slipped through could do nothing."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""The referrer stays within the site: forms are told from forged ones by where they come from."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load."""

    content: bytes
    media_type: str
    digest: str


@cache
def _assets() -> dict[str, Asset]:
    own = files("likewise.service.dashboard") / "static"
    texts = {
        "report.css": ("text/css", template_asset(template_environment(), "report.css").encode("utf-8")),
        "dashboard.css": ("text/css", (own / "dashboard.css").read_bytes()),
        "htmx.min.js": ("text/javascript", (own / "htmx.min.js").read_bytes()),
    }
    return {
        name: Asset(content, f"{kind}; charset=utf-8", hashlib.sha256(content).hexdigest()[:16])
        for name, (kind, content) in texts.items()
    }


def asset(name: str) -> Asset | None:
    """A style sheet or script by its name; None for any other name."""
    return _assets().get(name)


def link(name: str) -> str:
    """Where a page finds an asset: its address changes with its content, so a browser may keep it for good."""
    return f"/static/{name}?{_assets()[name].digest}"


def _moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _day(day: date) -> str:
    return f"{day.day} {day:%b %Y}"


@cache
def _environment() -> Environment:
    shared = template_environment()
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("likewise.service.dashboard"),
                PrefixLoader({"report": PackageLoader("likewise.report")}),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(shared.filters)
    environment.filters.update(moment=_moment, day=_day)
    environment.globals.update(words=words, link=link, false_alarm=words.percent(FALSE_ALARM))
    return environment


def render(template: str, **context: object) -> str:
    """A page or a part of one as text; every text of an agent, a log or a person is escaped."""
    return _environment().get_template(template).render(**context)


async def page_error(request: Request, status: int, message: str) -> Response:
    """A page for what no page of ours answered."""
    del request
    title = {404: "Not found", 405: "Not possible", 413: "Too large"}.get(status, "This did not work")
    return html_page("error.html.j2", status, title=title, words=message)


def html_page(template: str, status: int = 200, **context: object) -> Response:
    """A page with its headers."""
    return HTMLResponse(render(template, **context), status, headers=HEADERS)
