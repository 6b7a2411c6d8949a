"""The sections `rules`, `tools`, `arguments` and `annotations` of a configuration: what a user says of tools.

docs/configuration.md explains them to users.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from likewise.backends.argument_modes import ArgumentMode, Mode, Tolerance
from likewise.backends.tool_names import ToolClass
from likewise.backends.tool_rules_plan import RULES
from likewise.backends.tools_file import merged_hints, read_tools_file
from likewise.core.config import Table, nearest
from likewise.core.labels import Relation
from likewise.core.state_text import canonical_text

__all__ = ["RuleSettings", "ToolSettings", "read_settings"]

RELATIONS: Final = {relation.name.lower(): relation for relation in Relation}
CLASSES: Final = {str(each): each for each in ToolClass}
MODES: Final = {str(mode): mode for mode in Mode}
TOOL_KEYS: Final = ("class", "arguments", "list-order", "object")
TOLERANCES: Final = ("absolute", "relative")
_MODES_EXPECTED: Final = ", ".join(f'"{mode}"' for mode in Mode) + ", { absolute = ... } or { relative = ... }"


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What a user says of the calls of one tool.

    Attributes:
        arguments: Modes by dotted path or bare name.
        list_order: What the row `list-order` decides for this tool; None for what it decides for all.
        objects: Dotted paths of the arguments that name the object; empty where none does, None for the default.
    """

    arguments: Mapping[str, ArgumentMode] = field(default_factory=dict)
    list_order: Relation | None = None
    objects: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """Everything that a configuration says of tools; see `ToolRules` for what each part means."""

    overrides: Mapping[str, Relation | None] = field(default_factory=dict)
    tool_classes: Mapping[str, ToolClass] = field(default_factory=dict)
    arguments: Mapping[str, ArgumentMode] = field(default_factory=dict)
    tools: Mapping[str, ToolSettings] = field(default_factory=dict)
    hints: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)


def read_settings(config: Table, tools_files: Sequence[str | Path] = ()) -> RuleSettings:
    """Read the sections on tools.

    Args:
        config: The whole configuration.
        tools_files: Tools files beside those that the configuration names.

    Raises:
        ConfigError: A key or value is unknown, by its dotted name; or a tools file cannot be used.
    """
    annotations = config.table("annotations")
    annotations.only(("files",))
    named = [Path(config.path).parent / file for file in annotations.texts("files")]
    classes, tools = _tools(config.table("tools"))
    return RuleSettings(
        overrides=_overrides(config.table("rules")),
        tool_classes=classes,
        arguments=dict(_modes(config.table("arguments"))),
        tools=tools,
        hints=merged_hints(*(read_tools_file(path) for path in (*named, *tools_files))),
    )


def _overrides(section: Table) -> dict[str, Relation | None]:
    rows = {rule.name: rule for rule in RULES}
    overrides: dict[str, Relation | None] = {}
    for key in section.values:
        name = key.removeprefix("tool:")
        if name not in rows:
            raise section.refusal(key, f"unknown rule{nearest(name, rows)}", ", ".join(rows))
        known: dict[str, Relation | None] = {**RELATIONS}
        if rows[name].relation is None:
            known["judge"] = None
        relation = section.choice(key, known)
        if rows[name].fixed and relation is not rows[name].relation:
            raise section.refusal(key, "what is the same is equivalent by definition; this rule cannot be changed")
        overrides[name] = relation
    return overrides


def _tools(section: Table) -> tuple[dict[str, ToolClass], dict[str, ToolSettings]]:
    classes: dict[str, ToolClass] = {}
    settings: dict[str, ToolSettings] = {}
    for key, value in section.values.items():
        name = canonical_text(key)
        if not isinstance(value, Mapping):
            classes[name] = section.choice(key, CLASSES)
            continue
        tool = section.table(key)
        _known_keys(tool)
        if "class" in tool.values:
            classes[name] = tool.choice("class", CLASSES)
        settings[name] = ToolSettings(
            dict(_modes(tool.table("arguments"))),
            tool.choice("list-order", RELATIONS) if "list-order" in tool.values else None,
            frozenset(map(_path, tool.texts("object"))) if "object" in tool.values else None,
        )
    return classes, {name: each for name, each in settings.items() if each != ToolSettings()}


def _known_keys(tool: Table) -> None:
    """Refuse unknown keys; a tool's name with dots, unquoted, is the likeliest cause of one that holds a table."""
    for key, value in tool.values.items():
        if key in TOOL_KEYS or nearest(key, TOOL_KEYS):
            continue
        if isinstance(value, Mapping) or (isinstance(value, str) and value in CLASSES):
            name = json.dumps(f"{tool.name.removeprefix('tools.')}.{key}", ensure_ascii=False)
            raise tool.refusal(key, f"unknown key; a tool's name with dots is written in quotes, {name}")
    tool.only(TOOL_KEYS)


def _modes(section: Table, before: str = "") -> Iterator[tuple[str, ArgumentMode]]:
    """Modes by path: a table is what lies under a path, or, where it holds a number, a tolerance."""
    for key, value in section.values.items():
        path = _path(f"{before}.{key}" if before else key)
        if isinstance(value, Mapping):
            inner = section.table(key)
            if any(isinstance(each, int | float) for each in value.values()) or not value:
                yield path, _tolerance(inner)
            else:
                yield from _modes(inner, path)
        elif isinstance(value, str):
            yield path, section.choice(key, MODES, _MODES_EXPECTED)
        else:
            raise section.refusal(key, "no mode of comparison", _MODES_EXPECTED)


def _tolerance(table: Table) -> Tolerance:
    table.only(TOLERANCES)
    if not table.values:
        raise table.refusal("absolute", "an empty table is no mode", _MODES_EXPECTED)
    absolute = table.number("absolute", low=0) if "absolute" in table.values else 0.0
    relative = table.number("relative", low=0, high=1) if "relative" in table.values else 0.0
    return Tolerance(absolute, relative)


def _path(path: str) -> str:
    """`items[].price` is `items.price`: paths go through lists."""
    return canonical_text(path.replace("[]", ""))
