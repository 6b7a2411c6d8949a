"""What of a recipe can be refused at once, before runs are read and models are loaded: names, settings, folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from likewise.core.errors import ConfigError

__all__ = ["check_fields", "check_model", "check_vllm", "loaded", "made"]

Made = TypeVar("Made")
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


def check_fields(kind: type[Any], table: Mapping[str, Any], key: str) -> None:
    """Refuse names that a class of settings has not.

    Args:
        kind: A dataclass of another library, such as trl.GRPOConfig.
        table: What the recipe gives it.
        key: Where in the recipe.

    Raises:
        ConfigError: Names the first one, and names like it.
    """
    known = [field.name for field in fields(kind) if field.init]
    for name in table:
        if name not in known:
            near = " or ".join(get_close_matches(name, known, 3))
            raise ConfigError("", f"{kind.__name__} has no such field", key=f"{key}.{name}", expected=near or None)


def made(kind: type[Made], table: Mapping[str, Any], key: str, **own: Any) -> Made:  # noqa: ANN401 - of any kind
    """Settings of another library from a part of a recipe.

    Args:
        kind: Their class, a dataclass.
        table: What the recipe gives it.
        key: Where in the recipe.
        own: What the command gives it.

    Raises:
        ConfigError: A name that it has not, or a value that it refuses, in its words.
    """
    check_fields(kind, table, key)
    try:
        return kind(**own, **table)
    except (ValueError, TypeError, NotImplementedError) as problem:
        told = " ".join(str(problem).split())[:300]
        raise ConfigError("", f"{kind.__name__} refuses it: {told}", key=key) from None


def check_vllm(table: Mapping[str, Any], key: str) -> None:
    """Refuse generation by vLLM where it is not installed.

    Raises:
        ConfigError: Says what to do.
    """
    if table.get("use_vllm") and find_spec("vllm") is None:
        way = "install vLLM beside likewise[train], or use_vllm: false"
        raise ConfigError("", "vLLM is not installed", key=f"{key}.use_vllm", expected=way)


def check_model(name: str, key: str) -> None:
    """Refuse a model that is a folder by its name, and not there or none.

    Args:
        name: Folder, or id of the hub, which only loading can tell.
        key: Where in the recipe.

    Raises:
        ConfigError: There is no such folder, or it holds no model.
    """
    folder = Path(name)
    if name and folder.is_dir():
        if not any((folder / each).is_file() for each in ("config.json", "adapter_config.json")):
            raise ConfigError("", f"the folder {name} holds no model", key=key, expected="one with a config.json")
    elif not _HUB.fullmatch(name) or folder.exists():
        raise ConfigError(
            "", f"there is no folder {name}", key=key, expected="a folder of a model, or an id of the hub"
        )


def loaded(load: Callable[[str], Made], name: str, key: str) -> Made:
    """What a model's folder or the hub gives.

    Args:
        load: Loads it.
        name: Folder or id.
        key: Where in the recipe.

    Raises:
        ConfigError: It cannot be had; the loader's first words say why.
    """
    try:
        return load(name)
    except OSError as problem:
        told = " ".join(str(problem).split())[:200]
        where = f"{name} is no folder here, and cannot be had from the hub" if not Path(name).is_dir() else name
        raise ConfigError("", f"{where}: {told}", key=key) from None
