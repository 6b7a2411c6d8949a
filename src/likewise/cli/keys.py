"""`likewise keys`: who may use the service, and for what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.db import DatabaseUrl, actor, open_history
from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.options import AsJson, Debug

if TYPE_CHECKING:
    from likewise.store.keys import ApiKey

__all__ = ["app"]

SCHEMA = "likewise.keys/1"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Make, list and revoke API keys of the service.")


@app.command("create")
@plain_errors
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(help="What it may do: analyze, score, proxy, read or admin; may be repeated.", metavar="SCOPE"),
    ] = None,
    per_minute: Annotated[int, typer.Option(help="Requests a minute, on average.", min=1, max=1_000_000)] = 600,
    burst: Annotated[int, typer.Option(help="Requests at once.", min=1, max=1_000_000)] = 60,
    database: DatabaseUrl = None,
    debug: Debug = False,
) -> None:
    """Make a key and print it, this once: only a hash of it is kept."""
    del debug
    with open_history(database) as store:
        from likewise.service.security.keys import create_key

        try:
            created = create_key(store, name, scope or [], per_minute=per_minute, burst=burst, actor=actor())
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
    typer.echo(created.secret)
    say(f"key {created.key.prefix} made; it is shown this once, and only a hash of it is kept")


@app.command("list")
@plain_errors
def list_keys(database: DatabaseUrl = None, as_json: AsJson = False, debug: Debug = False) -> None:
    """List the keys, revoked ones too; never what is secret in them."""
    del debug
    with open_history(database) as store:
        keys = store.keys.list()
    if as_json:
        typer.echo(json.dumps({"schema": SCHEMA, "keys": [_as_json(key) for key in keys]}, indent=2))
        return
    if not keys:
        say("there are no keys; make one with: likewise keys create NAME --scope proxy")
    for key in keys:
        state = f"revoked {key.revoked:%Y-%m-%d}" if key.revoked else "valid"
        used = f"last used {key.last_used:%Y-%m-%d %H:%M}" if key.last_used else "never used"
        rate = f"{key.per_minute} a minute, {key.burst} at once"
        typer.echo(_plain(f"{key.prefix}  {state}  {' '.join(sorted(key.scopes))}  {rate}  {used}  {key.name}"))


@app.command("revoke")
@plain_errors
def revoke(
    prefix: Annotated[str, typer.Argument(help="The key's public part: the twelve letters after lw_.")],
    database: DatabaseUrl = None,
    debug: Debug = False,
) -> None:
    """Make a key invalid for good; a running service notices within seconds."""
    del debug
    with open_history(database) as store:
        done = store.keys.revoke(prefix, actor())
    if not done:
        say(f"error: no valid key {prefix[:40]!r}; `likewise keys list` shows them")
        raise typer.Exit(ExitCode.INPUT)
    say(f"key {prefix} revoked")


def _plain(text: str) -> str:
    from likewise.report.text import one_line

    return one_line(text)


def _as_json(key: ApiKey) -> dict[str, object]:
    return {
        "prefix": key.prefix,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "per_minute": key.per_minute,
        "burst": key.burst,
        "created": key.created.isoformat(),
        "created_by": key.created_by,
        "revoked": key.revoked.isoformat() if key.revoked else None,
        "last_used": key.last_used.isoformat() if key.last_used else None,
    }
