"""Environments by name: those that come with the package, and a user's own as `module:class`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from likewise.training.environments.bookings import Bookings
from likewise.training.environments.protocol import Environment

__all__ = ["ENVIRONMENTS", "environment_maker"]

ENVIRONMENTS: dict[str, Callable[[], Environment]] = {"bookings": Bookings}
_NEEDED = ("name", "tools", "tasks", "turn_limit", "reset", "step", "sub_goals", "spoiled")


def environment_maker(name: str) -> Callable[[], Environment]:
    """What makes a fresh environment: one of the package's, or what `module:class` names.

    Raises:
        ValueError: There is none of that name, or what it names makes something else.
    """
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    module, _, path = name.partition(":")
    if not module or not path:
        raise ValueError(f"{name!r} is no environment; there are {', '.join(ENVIRONMENTS)}, or name module:class")
    sys.path.insert(0, "")  # modules of the working folder are found, too
    try:
        maker: Any = importlib.import_module(module)
        for part in path.split("."):
            maker = getattr(maker, part)
    except (ImportError, AttributeError) as problem:
        raise ValueError(f"{name!r} cannot be loaded: {problem}") from None
    finally:
        sys.path.remove("")
    if not callable(maker):
        raise ValueError(f"{name!r} is {type(maker).__name__}, not a class of environments")
    made = maker()
    missing = [each for each in _NEEDED if not hasattr(made, each)]
    if missing:
        raise ValueError(f"{name!r} makes no environment: it lacks {', '.join(missing)}")
    return maker  # type: ignore[no-any-return]
