"""Options that always come together: a class of them stands in a command's signature as one parameter."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

__all__ = ["takes_groups"]


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options, each a dataclass whose fields are options with defaults.

    To whoever reads the signature, as Typer does to find options, each field stands where the group stood, under its
    own name; the command itself gets one object a group.

    Args:
        command: A function whose parameters after `*` may be groups.

    Raises:
        TypeError: Two options have one name, or a field of a group has no default.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {}
    flat: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints.get(name)
        if isinstance(kind, type) and is_dataclass(kind):
            options = _options_of(kind)
            groups[name] = (kind, tuple(each.name for each in options))
            flat += options
        else:
            flat.append(parameter.replace(annotation=hints.get(name), kind=inspect.Parameter.KEYWORD_ONLY))
    names = [each.name for each in flat]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TypeError(f"{command.__name__} takes {', '.join(twice)} more than once")

    @functools.wraps(command)
    def with_groups(**given: Any) -> None:  # noqa: ANN401 - the values of all options
        made = {}
        for name, (group, options) in groups.items():
            made[name] = group(**{option: given.pop(option) for option in options if option in given})
        command(**given, **made)

    with_groups.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in flat} | {"return": type(None)}
    return with_groups


def _options_of(group: type) -> list[inspect.Parameter]:
    """The fields as parameters by name; their annotations are read where the group is defined."""
    hints = get_type_hints(group, include_extras=True)
    found = []
    for field in fields(group):
        if field.default is MISSING:
            raise TypeError(f"{group.__name__}.{field.name} has no default")
        found.append(
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            )
        )
    return found
