"""`likewise doctor`: whether what is installed and set up here works, and what to do where it does not."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likewise.cli.errors import ExitCode, plain_errors
from likewise.cli.options import AsJson, ConfigFile, Debug, Store

if TYPE_CHECKING:
    from likewise.cli.doctor_checks import Check

__all__ = ["SCHEMA", "doctor"]

SCHEMA = "likewise.doctor/1"


@plain_errors
def doctor(
    config: ConfigFile = None,
    store: Store = None,
    database: Annotated[
        str | None, typer.Option(help="History to look at. Default: LIKEWISE_DATABASE_URL.", metavar="URL")
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Endpoint to ask for its models. Default: OPENAI_BASE_URL.", metavar="URL")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Try everything that is installed and set up here: extras, models, label store, history, endpoint, settings.

    What is broken comes with what to do. Nothing is sent anywhere, but a request for its models to the endpoint that
    OPENAI_BASE_URL or --endpoint names.

    Exit codes: 0 all that is there works, 2 the settings cannot be used, 4 something else is broken.
    """
    del debug
    from likewise.cli.doctor_checks import State

    checks: list[Check] = []
    for check in _checks(config, store, database, endpoint):
        checks.append(check)
        if not as_json:
            _show(check)
    broken = [check for check in checks if check.state is State.BROKEN]
    if as_json:
        _print_json(checks, fine=not broken)
    else:
        _conclude(broken)
    if broken:
        of_settings = all(check.name in ("settings", "service settings") for check in broken)
        raise typer.Exit(ExitCode.USAGE if of_settings else ExitCode.BACKEND)


def _checks(config: Path | None, store: Path | None, database: str | None, endpoint: str | None) -> Iterator[Check]:
    """One after another, so that what takes seconds is seen to be under way."""
    from likewise.cli import doctor_checks as look

    yield look.check_judge()
    yield look.check_encoder()
    yield look.check_store(store)
    yield look.check_settings(config)
    service = look.check_service()
    if service is not None:
        yield service
    yield look.check_history(database)
    yield look.check_endpoint(endpoint)
    yield from look.check_extras()


def _print_json(checks: list[Check], *, fine: bool) -> None:
    from likewise.core.version import VERSION

    facts = {
        "schema": SCHEMA,
        "likewise": VERSION,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "fine": fine,
        "checks": [check.as_json() for check in checks],
    }
    typer.echo(json.dumps(facts, indent=2))


def _show(check: Check) -> None:
    from likewise.cli.doctor_checks import State
    from likewise.report.text import one_line

    broken = check.state is State.BROKEN
    advice = f" ({check.fix})" if check.fix and not broken else ""
    typer.echo(one_line(f"{check.state}: {check.name}: {check.detail}{advice}"))
    if check.fix and broken:
        typer.echo(f"    to mend it: {one_line(check.fix)}")


def _conclude(broken: list[Check]) -> None:
    if broken:
        typer.echo(f"\n{len(broken)} part(s) broken: {', '.join(check.name for check in broken)}")
    else:
        typer.echo("\nall that is set up here works")
