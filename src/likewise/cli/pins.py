"""`--pin`: what a user says of a tool, written into the configuration without touching anything else in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from likewise.backends.tool_names import ToolClass
from likewise.core.config import nearest
from likewise.core.errors import ConfigError
from likewise.core.state_text import canonical_text

__all__ = ["parse_pins", "pinned_text", "write_pins"]

_HEADER = "# Settings of likewise. `likewise tools RUNS` shows what they make of each tool.\n"


def parse_pins(pins: Sequence[str]) -> dict[str, ToolClass]:
    """Pins as typed, `NAME=reads` or `NAME=changes`.

    Raises:
        typer.BadParameter: One is neither, or a tool is pinned both ways.
    """
    parsed: dict[str, ToolClass] = {}
    for pin in pins:
        name, _, word = pin.rpartition("=")
        name, word = canonical_text(name), word.strip()
        if not name or word not in list(ToolClass):
            problem = f"{pin!r}: expected TOOL=reads or TOOL=changes{nearest(word, ToolClass) if name else ''}"
            raise typer.BadParameter(problem, param_hint="--pin")
        if parsed.setdefault(name, ToolClass(word)) != word:
            raise typer.BadParameter(f"{name!r} is pinned both ways", param_hint="--pin")
    return parsed


def pinned_text(text: str, pins: Mapping[str, ToolClass], path: str) -> str:
    """The text of a configuration with the tools pinned; comments, order and layout stay.

    Raises:
        ConfigError: The text cannot be edited without changing what else it says.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse(text)
        if "tools" not in document:
            if text.strip():
                document.add(tomlkit.nl())
            document["tools"] = tomlkit.table()
        tools = document["tools"]
        for name, pin in pins.items():
            if isinstance(tools.get(name), Mapping):
                tools[name]["class"] = str(pin)
            else:
                tools[name] = str(pin)
        edited = tomlkit.dumps(document)
        done = tomllib.loads(edited) == _wanted(tomllib.loads(text), pins)
    except (TOMLKitError, tomllib.TOMLDecodeError):
        done = False
    if not done:
        lines = ", ".join(f'"{name}" = "{pin}"' for name, pin in pins.items())
        raise ConfigError(path, f"cannot be edited safely; write {lines} under [tools] by hand")
    return edited.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else edited


def _wanted(before: dict[str, Any], pins: Mapping[str, ToolClass]) -> dict[str, Any]:
    tools = dict(before.get("tools", {}))
    for name, pin in pins.items():
        known = tools.get(name)
        tools[name] = {**known, "class": str(pin)} if isinstance(known, Mapping) else str(pin)
    return {**before, "tools": tools}


def write_pins(path: Path, pins: Mapping[str, ToolClass]) -> None:
    """Pin tools in a configuration file, atomically; a file that is not there is made.

    Raises:
        ConfigError: The file cannot be edited without changing what else it says.
        OSError: It cannot be written.
    """
    from likewise.cli.targets import write_target

    text = path.read_bytes().decode("utf-8-sig") if path.exists() else _HEADER
    write_target(str(path.absolute()), pinned_text(text, pins, str(path)))
