"""Recipes: how a training is run, as a YAML file of known fields; the package's own by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from likewise.core.errors import ConfigError, MissingExtraError

__all__ = ["RECIPE", "read_recipe", "recipe_names", "settings_from"]

RECIPE = "likewise.recipe/1"
LARGEST = 100_000
"""Bytes of a recipe at most."""

Settings = TypeVar("Settings")


def recipe_names() -> list[str]:
    """Names of the package's own recipes."""
    folder = files("likewise.training") / "recipes"
    return sorted(each.name.removesuffix(".yaml") for each in folder.iterdir() if each.name.endswith(".yaml"))


def read_recipe(name: str | Path) -> dict[str, Any]:
    """A recipe by the name of one of the package's own, or by its file.

    Raises:
        ConfigError: It is missing, too large, no YAML, or no recipe of this version.
        MissingExtraError: The extra `train`, which reads YAML, is not installed.
    """
    where, text = str(name), _text(name)
    try:
        import yaml
    except ImportError as problem:
        raise MissingExtraError("reading a recipe", "train") from problem
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise ConfigError(where, "not YAML: " + " ".join(str(problem).split())[:300]) from None
    except RecursionError:
        raise ConfigError(where, "nested too deeply") from None
    if not isinstance(found, dict) or found.get("schema") != RECIPE:
        raise ConfigError(where, "no recipe of this version", key="schema", expected=RECIPE)
    return {str(key): value for key, value in found.items()}


def _text(name: str | Path) -> str:
    if str(name) in recipe_names():
        return (files("likewise.training") / "recipes" / f"{name}.yaml").read_text(encoding="utf-8")
    path = Path(name)
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        known = f"a file, or {', '.join(recipe_names())}"
        raise ConfigError(str(name), "no such file or recipe", expected=known) from None
    if len(raw) > LARGEST:
        raise ConfigError(str(name), f"larger than {LARGEST} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(str(name), "not UTF-8 text") from None


def settings_from(kind: type[Settings], table: Any, where: str, key: str) -> Settings:  # noqa: ANN401 - of YAML
    """A settings object from one section of a recipe; fields that are left out keep their defaults.

    Args:
        kind: A dataclass, which checks its own values.
        table: The section.
        where: The recipe, for errors.
        key: Name of the section.

    Raises:
        ConfigError: An unknown field, or a value that cannot be.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(where, "not a table", key=key, expected="names and values")
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name, value in table.items():
        if name not in known:
            raise ConfigError(where, "no such field", key=f"{key}.{name}", expected=", ".join(known))
        if not _fits(value, str(known[name].type)):
            raise ConfigError(where, f"cannot be {value!r:.60}", key=f"{key}.{name}", expected=str(known[name].type))
    try:
        return kind(**table)
    except ValueError as problem:
        raise ConfigError(where, str(problem), key=key) from None


def _fits(value: object, kind: str) -> bool:
    """Whether a value of YAML is of the kind that a field's annotation names."""
    if value is None:
        return "None" in kind
    if isinstance(value, bool):
        return "bool" in kind
    if isinstance(value, int):
        return "int" in kind or "float" in kind
    if isinstance(value, float):
        return "float" in kind
    if isinstance(value, str):
        return "str" in kind
    if isinstance(value, list):
        return "tuple" in kind or "list" in kind
    return isinstance(value, dict) and "dict" in kind
