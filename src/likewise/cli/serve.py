"""`likewise serve`: REST, the OpenAI-compatible proxy, and the history of both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.errors import plain_errors
from likewise.cli.options import Debug

if TYPE_CHECKING:
    from likewise.service.service import Service

__all__ = ["serve"]


@plain_errors
def serve(
    config: Annotated[
        Path | None,
        typer.Option(help="Settings (TOML); LIKEWISE_CONFIG names it otherwise.", metavar="FILE"),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. Default: 127.0.0.1.", metavar="ADDRESS")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port. Default: 8700.", metavar="NUMBER", min=0, max=65_535)] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="sqlite:///FILE or postgresql://...; a URL with a password belongs in LIKEWISE_DATABASE_URL.",
            metavar="URL",
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check the settings, serve nothing.")] = False,
    debug: Debug = False,
) -> None:
    """Serve REST and the proxy: clients change their base URL, and no contradictory answer is served any more.

    likewise keys create my-app --scope proxy
    likewise serve --config likewise-serve.toml

    Ends on SIGTERM or Ctrl-C when what is in flight is answered and stored.
    """
    del debug
    given: dict[str, Any] = {"host": host, "port": port, "database_url": database}
    service = _service(config, {name: value for name, value in given.items() if value is not None})
    if check:
        from likewise.store.engine import parse_url

        if service.settings.database_url is not None:
            parse_url(service.settings.database_url.get_secret_value())
        typer.echo("the settings are fine")
        return
    from likewise.service.server import serve as run

    run(service)


def _service(config: Path | None, given: dict[str, Any]) -> Service:
    from likewise.core.errors import MissingExtraError

    try:
        import fastapi  # noqa: F401 - the one place that finds out
        import pydantic_settings  # noqa: F401
        import sqlalchemy  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as problem:
        raise MissingExtraError("the service", "serve") from problem
    from likewise.service.service import Service
    from likewise.service.settings import load_settings

    return Service(load_settings(config, **given))
