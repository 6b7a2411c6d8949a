"""When two calls of a tool are one: arguments by name, defaults filled in, values by the types that the tool states.

Runs of one agent write the same call in several ways: `refund(7)`, `refund(order_id="7")`, `refund("7", amount=10)`
where 10 is the default. What is left after these are taken out tells whether another run has made the call already.
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from enum import Enum
from functools import partial
from math import isfinite
from numbers import Integral, Real
from typing import Any, Final

__all__ = ["ToolArguments", "tool_name", "unwrapped"]

_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_WORDS: Final = {"true": True, "false": False}
_KINDS: Final[Mapping[str, Any]] = {"integer": int, "number": float, "string": str, "boolean": bool}
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
DEEPEST = 40
"""Levels of an argument that are looked into; deeper is taken as it prints."""
LONGEST_NUMBER = 40
"""Characters of a text that may spell a number."""


def unwrapped(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside of partials."""
    while isinstance(tool, partial):
        tool = tool.func
    return tool


def tool_name(tool: Callable[..., Any]) -> str:
    """The name that a tool goes by; of a partial, that of its function.

    Raises:
        ValueError: It has none: an object that can be called.
    """
    name = getattr(unwrapped(tool), "__name__", None)
    if isinstance(name, str):
        return name
    raise ValueError(f"a tool of type {type(unwrapped(tool)).__name__} has no name of its own: wrap(tool, name=...)")


@dataclass(frozen=True, slots=True)
class ToolArguments:
    """How one tool is called.

    Attributes:
        function: What is called in the end.
        first: Arguments by place that a partial has fixed.
        fixed: Arguments by name that a partial has fixed.
        shape: The function's signature; None where it tells none (functions written in C).
        types: Types of arguments by name, where they are known.
        defaults: Values that a JSON schema fills in.
    """

    function: Callable[..., Any]
    first: tuple[Any, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    shape: inspect.Signature | None = None
    types: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, tool: Callable[..., Any], schema: Mapping[str, Any] | None = None) -> ToolArguments:
        """What the tool's signature says, and the JSON schema of its arguments where there is one.

        Args:
            tool: A function, a method, a partial.
            schema: Of the arguments, as models are given it: `{"properties": {...}}`.

        Raises:
            ValueError: A schema that is none of arguments.
        """
        first, fixed = (), dict[str, Any]()
        while isinstance(tool, partial):
            first, fixed, tool = (*tool.args, *first), {**tool.keywords, **fixed}, tool.func
        try:
            shape = inspect.signature(tool)
        except (TypeError, ValueError):
            shape = None
        known = {} if shape is None else _annotated(tool, shape)
        defaults: dict[str, Any] = {}
        if schema is not None:
            properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
            if not isinstance(properties, Mapping) or not all(isinstance(p, Mapping) for p in properties.values()):
                raise ValueError('a schema of arguments is an object: {"properties": {"order_id": {"type": "string"}}}')
            known |= {name: kind for name, each in properties.items() if (kind := _of_schema(each)) is not None}
            defaults = {name: each["default"] for name, each in properties.items() if "default" in each}
        return cls(tool, first, fixed, shape, known, defaults)

    def named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name, as given, and the defaults of those that are not.

        Raises:
            TypeError: The tool takes no such arguments.
        """
        given, words = (*self.first, *args), {**self.fixed, **kwargs}
        if self.shape is None:
            named = {str(place): value for place, value in enumerate(given)} | words
        else:
            bound = self.shape.bind(*given, **words)
            bound.apply_defaults()
            named = {}
            for name, value in bound.arguments.items():
                if self.shape.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                    named |= value
                elif value or self.shape.parameters[name].kind is not inspect.Parameter.VAR_POSITIONAL:
                    named[name] = value
        return dict(self.defaults) | named

    def key(self, named: Mapping[str, Any], *, changes: bool) -> str:
        """What calls have in common that are one call.

        Args:
            named: As `named` gives them.
            changes: The tool changes something. A number and the string that spells it the same way are then one where
                the type is not known: a change that may have been made is not made again. Readers are asked again.
        """
        try:
            json.dumps(named, default=repr, skipkeys=True)
        except (ValueError, RecursionError):  # what holds itself
            return repr(named)
        values = {
            name: _typed(value, self.types[name]) if name in self.types else _spelled(value) if changes else value
            for name, value in named.items()
        }
        return json.dumps(_plain(values), sort_keys=True)


def _annotated(tool: Callable[..., Any], shape: inspect.Signature) -> dict[str, Any]:
    """Types by name. Each annotation on its own: one that names what is imported for checkers alone costs that one."""
    space = getattr(inspect.unwrap(tool), "__globals__", {})
    found: dict[str, Any] = {}
    for name, parameter in shape.parameters.items():
        if parameter.annotation is parameter.empty or parameter.kind in _VARIADIC:
            continue
        holder = types.SimpleNamespace(__annotations__={name: parameter.annotation})
        try:
            found |= typing.get_type_hints(holder, space, include_extras=False)
        except Exception:  # whatever a user's annotation raises when it is read
            continue
    return found


def _of_schema(schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a type
    """The Python type of a JSON schema; None where it says none that is used here."""
    several = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(several, Sequence):
        kinds = [_of_schema(each) for each in several if isinstance(each, Mapping)]
        known = tuple(kind for kind in kinds if kind is not None)
        return typing.Union[known] if known else None  # noqa: UP007 - made of what was read
    kind = schema.get("type")
    if isinstance(kind, list):
        known = tuple(_KINDS[each] for each in kind if each in _KINDS)
        return typing.Union[known] if known else None  # noqa: UP007 - as above
    if kind == "array":
        items = schema.get("items")
        inner = _of_schema(items) if isinstance(items, Mapping) else None
        return list if inner is None else list[inner]  # type: ignore[valid-type]
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _typed(value: object, kind: Any) -> object:  # noqa: ANN401 - a type
    """The value as its type has it: "7" is 7 for a number and 7 is "7" for a text; as it is where it fits in no way."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _typed(value, inner[0])
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, inner)
    if origin is typing.Literal:
        return next((each for each in inner if _text(each) == _text(value)), value)
    if isinstance(value, list | tuple) and (items := _items(origin, inner, len(value))) is not None:
        return [_typed(item, each) for item, each in zip(value, items, strict=True)]
    if isinstance(value, Mapping) and len(inner) == 2:
        return {name: _typed(item, inner[1]) for name, item in value.items()}
    return _scalar(value, kind)


def _one_of(value: object, kinds: Sequence[Any]) -> object:
    """By the first type that the value is of, else by the first that it can be."""
    for kind in kinds:
        if isinstance(kind, type) and type(value) is kind:
            return value
    for kind in kinds:
        if (typed := _typed(value, kind)) is not value:
            return typed
    return value


def _items(origin: Any, inner: tuple[Any, ...], count: int) -> list[Any] | None:  # noqa: ANN401 - a type
    """The type of each item of a list or tuple; None where it is not said."""
    if not inner or not isinstance(origin, type) or not issubclass(origin, Sequence | set | frozenset):
        return None
    if origin is tuple and inner[-1] is not Ellipsis:
        return list(inner) if len(inner) == count else None
    return [inner[0]] * count


def _scalar(value: object, kind: Any) -> object:  # noqa: ANN401 - a type
    if not isinstance(kind, type) or isinstance(value, Enum) or issubclass(kind, Enum):
        return value
    if issubclass(kind, bool):
        return _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
    if issubclass(kind, int | float | Decimal):
        return _read(value.strip()) if isinstance(value, str) else value
    return _text(value) if issubclass(kind, str) else value


def _text(value: object) -> object:
    """A number as it is spelled; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, Real | Decimal):
        return value
    return json.dumps(_plain(value))


def _read(text: str) -> object:
    """The number that a text spells; the text where it spells none."""
    return Decimal(text) if len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text) else text


def _spelled(value: object, depth: int = 0) -> object:
    """A text that spells a number in the one usual way as that number, in lists and objects too; 1.10 stays a text."""
    if isinstance(value, str):
        number = _read(value)
        return number if _text(number) == value else value
    if depth > DEEPEST:
        return value
    if isinstance(value, list | tuple):
        return [_spelled(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {name: _spelled(item, depth + 1) for name, item in value.items()}
    return value


def _plain(value: object, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """As JSON: 10.0 as 10, tuples as lists, anything else as it prints."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Enum):
        return _plain(value.value, depth)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real | Decimal):
        return _number(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return repr(value) if depth > DEEPEST else _parts(value, depth + 1)


def _number(value: Real | Decimal) -> int | float | str:
    """A whole number without its point; a decimal that no float is stays a text."""
    number = float(value)
    if not isfinite(number):
        return repr(number)
    if isinstance(value, Decimal) and Decimal(repr(number)) != value:
        return str(value.normalize())
    return int(number) if number.is_integer() else number


def _parts(value: object, depth: int) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, Mapping):
        names = {name: name if isinstance(name, str) else repr(name) for name in value}
        return {names[name]: _plain(item, depth) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(item, depth) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    return repr(value)  # dataclasses and models print their fields
