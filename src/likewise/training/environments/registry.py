"""Environments by name: those that come with the package, and a user's own as `module:class`."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from likewise.core.errors import ConfigError
from likewise.training.environments.bookings import Bookings
from likewise.training.environments.protocol import Environment

__all__ = ["ENVIRONMENTS", "environment_maker", "failure_of"]

ENVIRONMENTS: dict[str, Callable[[], Environment]] = {"bookings": Bookings}
_NEEDED = ("name", "tools", "tasks", "turn_limit", "reset", "step", "sub_goals", "spoiled")
_NOT_THE_USERS = (
    f"{Path(__file__).parents[2]}{os.sep}",
    *(f"{sysconfig.get_path(kind)}{os.sep}" for kind in ("stdlib", "purelib", "platlib")),
    "<",  # <frozen importlib._bootstrap>
)


def environment_maker(name: str) -> Callable[[], Environment]:
    """What makes a fresh environment: one of the package's, or what `module:class` names.

    Raises:
        ValueError: There is none of that name, or what it names makes something else.
        ConfigError: Its module or what makes it fails; so may what is given back.
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
        raise ValueError(f"{name!r} cannot be loaded: {problem}{_place(problem)}") from None
    except (Exception, SystemExit) as problem:  # whatever a user's code raises or exits with is its own fault
        raise ConfigError(name, f"the environment fails while it is imported: {failure_of(problem)}") from problem
    finally:
        sys.path.remove("")
    if not callable(maker):
        raise ValueError(f"{name!r} is {type(maker).__name__}, not a class of environments")

    def make() -> Environment:
        try:
            made = maker()
            missing = [each for each in _NEEDED if not hasattr(made, each)]
            tasks = None if missing else made.tasks
        except (Exception, SystemExit) as problem:
            raise ConfigError(name, f"the environment fails when it is made: {failure_of(problem)}") from problem
        if missing:
            raise ValueError(f"{name!r} makes no environment: it lacks {', '.join(missing)}")
        if not isinstance(tasks, tuple | list) or not tasks or not all(isinstance(task, str) for task in tasks):
            told = "none" if tasks in ((), []) else f"{tasks!r:.60}"
            raise ValueError(f"{name!r} is an environment without tasks: `tasks` is a tuple of names, got {told}")
        return made  # type: ignore[no-any-return]

    make()
    return make


def failure_of(problem: BaseException) -> str:
    """What a user's code raised, on one line: type, words, and the last line of its own that was reached."""
    said = f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}".removesuffix(": ")
    return said + _place(problem)


def _place(problem: BaseException) -> str:
    """Where in a user's own code it arose; "" where that cannot be told, or is told already."""
    frames = traceback.extract_tb(problem.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith(_NOT_THE_USERS)]
    if not own or isinstance(problem, SyntaxError):  # whose words say where it is
        return ""
    return f" ({Path(own[-1].filename).name}, line {own[-1].lineno})"
