"""Files that say what tools do: the answer of an MCP server to `tools/list`, with the hints of its annotations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from likewise.backends.tool_names import ToolClass
from likewise.core.errors import ConfigError
from likewise.core.paths import no_such_file
from likewise.core.tool_hints import HINTS

__all__ = ["Hints", "hinted_class", "merged_hints", "read_tools_file"]

Hints = Mapping[str, Mapping[str, bool]]
"""Tool name -> its hints (`readOnlyHint`, `destructiveHint`); empty for a tool that gives none."""

_EXPECTED = 'the answer to MCP\'s tools/list: {"tools": [{"name": ..., "annotations": {...}}]}'


def hinted_class(hints: Mapping[str, bool]) -> tuple[ToolClass, str] | None:
    """Whether a tool with these hints reads or changes state, and why; None without hints.

    `destructiveHint` speaks only of tools that change state, so that either value of it says that the tool does, unless
    `readOnlyHint` says that it only reads.
    """
    read_only, destructive = hints.get("readOnlyHint"), hints.get("destructiveHint")
    if read_only is not None:
        return (ToolClass.READS if read_only else ToolClass.CHANGES), f"readOnlyHint is {str(read_only).lower()}"
    if destructive is not None:
        return ToolClass.CHANGES, f"destructiveHint is {str(destructive).lower()}"
    return None


def merged_hints(*many: Hints) -> dict[str, dict[str, bool]]:
    """The hints of several sources; where they disagree on a tool, those that say it changes state."""
    merged: dict[str, dict[str, bool]] = {}
    for hints in many:
        for name, given in hints.items():
            new, known = hinted_class(given), hinted_class(merged.get(name, {}))
            if known is None or (new is not None and new[0] is ToolClass.CHANGES and known[0] is ToolClass.READS):
                merged[name] = dict(given)
    return merged


def read_tools_file(path: str | Path) -> dict[str, dict[str, bool]]:
    """Read a tools file: `{"tools": [...]}`, the JSON-RPC answer around it (`result`), or the bare list.

    Returns:
        The hints of every tool in it, in order; {} for a tool without any.

    Raises:
        ConfigError: The file cannot be read, or holds no such list, no tool, or a hint that is not true or false.
    """
    top = _json(Path(path))
    pointer = ""
    for key in ("result", "tools"):
        if isinstance(top, dict) and key in top:
            top, pointer = top[key], f"{pointer}/{key}"
    if not isinstance(top, list):
        raise ConfigError(str(path), "no list of tools", expected=_EXPECTED)
    if not top:
        raise ConfigError(str(path), "the list of tools is empty")
    return merged_hints(*(dict([_tool(item, f"{pointer}/{index}", str(path))]) for index, item in enumerate(top)))


def _tool(item: object, pointer: str, path: str) -> tuple[str, dict[str, bool]]:
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(name, str) or not name.strip():
        raise ConfigError(path, "a tool without a name", key=pointer, expected=_EXPECTED)
    annotations = item.get("annotations")
    if annotations is None:
        return name, {}
    if not isinstance(annotations, dict):
        raise ConfigError(path, "not an object", key=f"{pointer}/annotations", expected="an object of hints")
    hints: dict[str, bool] = {}
    for hint in HINTS:
        value = annotations.get(hint)
        if isinstance(value, bool):
            hints[hint] = value
        elif value is not None:
            problem = f"{json.dumps(value)[:40]} for the tool {name!r}"
            raise ConfigError(path, problem, key=f"{pointer}/annotations/{hint}", expected="true or false")
    return name, hints


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(str(path), no_such_file(path)) from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(str(path), "not UTF-8") from None
    except RecursionError:
        raise ConfigError(str(path), "JSON nested too deeply") from None
    except ValueError as error:
        raise ConfigError(str(path), f"not JSON: {error}") from None
