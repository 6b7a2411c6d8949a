"""What a mistyped command line is answered with: what was typed, what may be typed, and never a library's own words."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["PlainCommand", "PlainGroup", "plain_usage"]

_ENUM = re.compile(r"'(?P<given>.*)' is not one of (?P<known>'.*')\.?", re.DOTALL)
_KINDS = {"float_parsing": "no number", "int_parsing": "no whole number", "int_from_float": "no whole number"}


class PlainCommand(TyperCommand):
    """A command whose refusals say what would be right."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Typer's own class differs by version
        """Read the arguments as Typer does.

        Raises:
            UsageError: They are not understood; the message says what would be.
        """
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:
            plain_usage(problem, {name: option for option in self.params for name in option.opts})
            raise


class PlainGroup(TyperGroup):
    """The table of commands; a word that is none is answered with the command that was likely meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - as above
        """Find the command.

        Raises:
            UsageError: There is none of that name.
        """
        try:
            return super().resolve_command(ctx, args)
        except Exception as problem:
            if getattr(problem, "exit_code", None) == 2:
                _meant(problem, args[0], ctx.command_path)
            raise


def _meant(problem: Any, word: str, program: str) -> None:  # noqa: ANN401 - Typer's usage error
    if word == "help":
        problem.message = f"No such command 'help'; type: {program} --help"
    elif word == "version":
        problem.message = f"No such command 'version'; type: {program} --version"
    elif Path(word).suffix or "/" in word or word == "-":  # runs where a command should stand
        problem.message = f"No such command {word!r}; to measure recorded runs, type: {program} report {word}"


def plain_usage(problem: Any, options: dict[str, Any]) -> None:  # noqa: ANN401 - Typer's usage error
    """Put a refusal into plain words, in place; what is plain already stays.

    Args:
        problem: What Typer raised; anything that is no usage error is left alone.
        options: The command's options and arguments by their names.
    """
    kind, parameter = type(problem).__name__, getattr(problem, "param", None)
    if kind == "MissingParameter" and not problem.message and parameter is not None and parameter.help:
        problem.message = str(parameter.help)
    elif kind == "BadOptionUsage" and "requires an argument" in problem.message:
        option = options.get(problem.option_name)
        if option is not None:
            problem.message = f"Option {problem.option_name!r} needs {option.metavar or 'a value'}. {option.help or ''}"
    elif kind == "BadParameter" and isinstance(problem, typer.BadParameter):
        problem.message = _of_value(problem) or problem.message


def _of_value(problem: Any) -> str | None:  # noqa: ANN401 - Typer's usage error
    """What is wrong with one value, from what the validation behind Typer found; None where it found nothing."""
    errors = getattr(problem.__cause__, "errors", None)
    if not callable(errors):
        return None
    first = errors()[0]
    given, limits = first.get("input"), first.get("ctx") or {}
    if first["type"] in _KINDS:
        comma = "; a point, not a comma, stands before the fraction" if "," in str(given) else ""
        return f"{given!r} is {_KINDS[first['type']]}{comma}"
    if first["type"].startswith(("less_than", "greater_than")):
        end = next(iter(limits.values()))
        side = {"less_than_equal": "at most", "less_than": "below", "greater_than_equal": "at least"}
        return f"{given} is out of range: {side.get(first['type'], 'above')} {end:g}"
    enum = _ENUM.search(problem.message)
    if enum is None:
        return None
    words = re.findall(r"'([^']*)'", enum["known"])
    near = get_close_matches(enum["given"], words, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"{enum['given']!r} is none of {', '.join(words)}{hint}"
