from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from likewise.cli.errors import plain_errors
from likewise.cli.option_groups import takes_groups
from likewise.cli.usage import PlainCommand


def not_odd(value: int) -> int:
    if value % 2:
        raise typer.BadParameter("odd")
    return value


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option("--width", help="Its width.", callback=not_odd)] = 2
    deep: Annotated[bool, typer.Option("--deep", help="Deeper.")] = False


@dataclass(frozen=True)
class Colour:
    name: Annotated[str | None, typer.Option("--name", help="Its name.")] = None


def paint(
    thing: Annotated[str, typer.Argument(help="What.")],
    *,
    first: Annotated[int, typer.Option("--first", help="First.")] = 1,
    size: Size,
    between: Annotated[int, typer.Option("--between", help="Between.")] = 5,
    colour: Colour,
) -> None:
    """Paint a thing."""
    typer.echo(f"{thing} {first} {size} {between} {colour}")


@pytest.fixture
def run():
    app = typer.Typer(rich_markup_mode=None)
    app.command(cls=PlainCommand)(plain_errors(takes_groups(paint)))
    return lambda *words: CliRunner().invoke(app, words)


def test_each_option_of_a_group_stands_where_the_group_stood():
    assert list(inspect.signature(takes_groups(paint)).parameters) == [
        "thing", "first", "width", "deep", "between", "name",
    ]  # fmt: skip


def test_help_lists_the_options_of_groups_in_order(run):
    said = run("--help").stdout
    places = [said.index(option) for option in ("--first", "--width", "--deep", "--between", "--name")]
    assert places == sorted(places)


def test_a_group_has_its_defaults_where_nothing_is_typed(run):
    assert run("door").stdout == "door 1 Size(width=2, deep=False) 5 Colour(name=None)\n"


def test_what_is_typed_is_found_in_its_group_and_beside_it(run):
    done = run("door", "--deep", "--name", "red", "--width", "4", "--between", "7")
    assert done.stdout == "door 1 Size(width=4, deep=True) 7 Colour(name='red')\n"


def test_the_callback_of_an_option_in_a_group_refuses_as_anywhere(run):
    done = run("door", "--width", "3")
    assert (done.exit_code, "Invalid value for '--width': odd" in done.stderr) == (2, True)


def test_a_command_without_groups_stays_as_it_is():
    def plain(one: Annotated[int, typer.Option(help="One.")] = 1) -> None:
        """Nothing."""
        typer.echo(str(one))

    app = typer.Typer()
    app.command()(takes_groups(plain))
    assert CliRunner().invoke(app, ["--one", "3"]).stdout == "3\n"


def test_two_options_of_one_name_are_refused_when_the_command_is_defined():
    def twice(width: Annotated[int, typer.Option(help="Width.")] = 1, *, size: Size) -> None:
        """Nothing."""

    with pytest.raises(TypeError, match="twice takes width more than once"):
        takes_groups(twice)


def test_a_field_without_a_default_is_refused_when_the_command_is_defined():
    @dataclass
    class Bad:
        made: Annotated[list[str], typer.Option(help="Made.")] = field(default_factory=list)

    def bad(*, group) -> None:
        """Nothing."""

    bad.__annotations__ = {"group": Bad}
    Bad.__annotations__ = {"made": Annotated[list[str], typer.Option(help="Made.")]}
    with pytest.raises(TypeError, match=r"Bad\.made has no default"):
        takes_groups(bad)
