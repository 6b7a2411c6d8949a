"""`likewise db`: the layout of the history, its users, what is old in it, and a way out of it."""

from __future__ import annotations

import getpass
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from likewise.cli.errors import ExitCode, plain_errors, say
from likewise.cli.options import Debug

if TYPE_CHECKING:
    from likewise.store.engine import Database
    from likewise.store.store import Store

__all__ = ["DatabaseUrl", "actor", "app", "open_history"]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Look after the history of verdicts.")

DatabaseUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--database",
        help="sqlite:///FILE or postgresql://...; a URL with a password belongs in LIKEWISE_DATABASE_URL.",
        metavar="URL",
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def open_history(url: str | None) -> Store:
    """The history of this version's layout.

    Raises:
        MissingExtraError: It needs an extra.
        ConfigError: No such address.
        StoreUnavailableError: It cannot be opened, or has another layout.
    """
    from likewise.store.engine import parse_url
    from likewise.store.store import Store

    # A file is made and brought up to date by the way; a server that others use is not, unless somebody says so.
    return Store.open(url, upgrade=parse_url(_url(url)).get_backend_name() == "sqlite")


def actor() -> str:
    """Who does this, for the audit log."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):  # a container's user need not have a name
        return "cli"


def _url(url: str | None) -> str:
    from likewise.store.engine import default_url

    return default_url() if url is None else url


def _database(url: str | None) -> Database:
    from likewise.store.engine import Database, parse_url

    return Database(parse_url(_url(url)))


@app.command("upgrade")
@plain_errors
def upgrade(database: DatabaseUrl = None, debug: Debug = False) -> None:
    """Bring the database to the layout of this version; all of it or nothing."""
    del debug
    from likewise.store.migrate import current, latest, upgrade

    found = _database(database)
    try:
        before = current(found) if not found.sqlite or Path(str(found.url.database)).exists() else None
        upgrade(found)
    finally:
        found.close()
    say(f"{found.where}: {'is up to date' if before == latest() else 'brought up to date'} (layout {latest()})")


@app.command("downgrade")
@plain_errors
def downgrade(
    target: Annotated[str, typer.Argument(help="A layout, -1 for one step back, or base for nothing at all.")],
    yes: Yes = False,
    database: DatabaseUrl = None,
    debug: Debug = False,
) -> None:
    """Bring the database back to an earlier layout: what only the later one holds is lost."""
    del debug
    from likewise.store.migrate import current, downgrade

    found = _database(database)
    try:
        if not yes:
            typer.confirm(f"What only the later layout of {found.where} holds is lost. Go on?", abort=True, err=True)
        downgrade(found, target)
        now = current(found)
    finally:
        found.close()
    say(f"{found.where}: layout {now or 'none: it is empty'}")


@app.command("current")
@plain_errors
def show_current(database: DatabaseUrl = None, debug: Debug = False) -> None:
    """Say which layout the database has; exit code 1 where it is not that of this version."""
    del debug
    from likewise.store.migrate import current, latest

    found = _database(database)
    try:
        layout = current(found)
    finally:
        found.close()
    typer.echo(f"{layout or 'empty'} (this version: {latest()})")
    if layout != latest():
        raise typer.Exit(ExitCode.THRESHOLD)


@app.command("user")
@plain_errors
def user(
    name: Annotated[str, typer.Argument(help="Name to log in with.")],
    admin: Annotated[bool, typer.Option("--admin", help="May change keys, users and settings.")] = False,
    disable: Annotated[bool, typer.Option("--disable", help="Shut out, and end all sessions.")] = False,
    database: DatabaseUrl = None,
    debug: Debug = False,
) -> None:
    """Make a user of the dashboard, or give one another password; it is asked for, or read from standard input."""
    del debug
    with open_history(database) as store:
        if disable:
            if not store.users.disable(name, actor=actor()):
                say(f"error: no user {name[:60]!r} who may log in")
                raise typer.Exit(ExitCode.INPUT)
            say(f"user {name} is shut out")
            return
        from likewise.service.security.login import Role, create_user

        try:
            create_user(store, name, _password(), Role.ADMIN if admin else Role.VIEWER, actor=actor())
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
    say(f"user {name} may log in{' and administer' if admin else ''}")


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    return sys.stdin.readline().rstrip("\r\n")


@app.command("retain")
@plain_errors
def retain(
    days: Annotated[float, typer.Argument(help="Age from which on verdicts go.", min=0)],
    yes: Yes = False,
    database: DatabaseUrl = None,
    debug: Debug = False,
) -> None:
    """Delete verdicts older than so many days; trends keep counting them."""
    del debug
    with open_history(database) as store:
        if days < 1 and not yes:
            which = f"All verdicts of {store.where}" + (f" older than {days * 24:g} hours" if days else "")
            typer.confirm(f"{which} are deleted. Go on?", abort=True, err=True)
        deleted = store.retention.delete_older_than(days)
        store.audit.add(actor(), "retention", details={"days": days, "verdicts": deleted})
    say(f"{deleted} verdict(s) deleted")


@app.command("export")
@plain_errors
def export(
    output: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            "--output",
            help="FILE.jsonl, FILE.jsonl.gz (runs) or FILE.parquet (verdicts).",
            metavar="FILE",
        ),
    ],
    rollouts: Annotated[
        bool, typer.Option("--rollouts", help="Runs that `likewise report` reads, not verdicts.")
    ] = False,
    agent: Annotated[str | None, typer.Option(help="Of this agent alone.", metavar="NAME")] = None,
    version: Annotated[str | None, typer.Option(help="Of this version alone.", metavar="NAME")] = None,
    task: Annotated[str | None, typer.Option(help="Of this task alone.", metavar="NAME")] = None,
    since: Annotated[datetime | None, typer.Option(help="Decided then or later (UTC).")] = None,
    database: DatabaseUrl = None,
    debug: Debug = False,
) -> None:
    """Write verdicts (JSON Lines, Parquet), or runs in our own format, to a file."""
    del debug
    from datetime import UTC

    from likewise.cli.targets import check_targets

    check_targets({"--out": str(output)}, [], overwrite=True)
    if rollouts and agent is None:
        raise typer.BadParameter(
            "runs of several agents would be compared with each other; name one", param_hint="--agent"
        )
    written = (".jsonl", ".jsonl.gz") if rollouts else (".jsonl", ".parquet")
    if not output.name.casefold().endswith(written):
        raise typer.BadParameter(f"{output}: name a file that ends in {' or '.join(written)}", param_hint="--out")
    with open_history(database) as store:
        from likewise.store.export import export_rollouts, export_verdicts
        from likewise.store.verdicts import VerdictFilter

        moment = None if since is None else since.replace(tzinfo=UTC)
        wanted = VerdictFilter(agent=agent, version=version, task=task, since=moment)
        count = (export_rollouts if rollouts else export_verdicts)(store, output, wanted)
    say(f"wrote {count} {'run(s)' if rollouts else 'verdict(s)'} to {output}")
