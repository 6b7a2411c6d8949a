from __future__ import annotations

import sys

import pytest

from likewise.core.errors import ConfigError
from likewise.training.environments.bookings import Bookings
from likewise.training.environments.registry import ENVIRONMENTS, environment_maker


def test_the_package_has_bookings():
    assert environment_maker("bookings") is ENVIRONMENTS["bookings"] is Bookings


def test_a_users_own_class_is_found_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "my_worlds_8.py").write_text(
        "from likewise.training.environments.bookings import Bookings\n"
        "class World(Bookings):\n    name = 'mine-1'\n"
        "class Empty:\n    pass\n"
        "NUMBER = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert environment_maker("my_worlds_8:World")().name == "mine-1"
    with pytest.raises(ValueError, match="makes no environment: it lacks name, tools, tasks"):
        environment_maker("my_worlds_8:Empty")
    with pytest.raises(ValueError, match="is int, not a class of environments"):
        environment_maker("my_worlds_8:NUMBER")
    assert sys.path == before


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("class World(", r"fails while it is imported: SyntaxError: .*\(fragile_N.py, line 1\)$"),
        ("\nraise OSError('no\\nrooms')", r"imported: OSError: no rooms \(fragile_N.py, line 2\)$"),
        ("raise SystemExit(3)", r"imported: SystemExit: 3 \(fragile_N.py, line 1\)$"),
        ("import json\njson.loads('')", r"imported: JSONDecodeError: .* \(fragile_N.py, line 2\)$"),
        ("class World:\n    def __init__(self):\n        {}['x']", r"is made: KeyError: 'x' \(fragile_N.py, line 3\)$"),
        ("def World(messages):\n    pass", r"is made: TypeError: World\(\) missing 1 required .*'messages'$"),
    ],
)
def test_an_environment_whose_code_fails_is_named_with_the_line(tmp_path, monkeypatch, request, code, told):
    module = f"fragile_{request.node.callspec.indices['code']}"  # a module of its own: what is imported stays so
    (tmp_path / f"{module}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=f"^{module}:World: the environment .*" + told.replace("fragile_N", module)):
        environment_maker(f"{module}:World")


def test_a_module_that_a_users_own_lacks_is_told_with_the_line(tmp_path, monkeypatch):
    (tmp_path / "fragile_lacks.py").write_text("import no_such_module_here\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"No module named 'no_such_module_here' \(fragile_lacks.py, line 1\)$"):
        environment_maker("fragile_lacks:World")


@pytest.mark.parametrize(
    ("tasks", "told"),
    [("()", "got none"), ("'one'", "got 'one'"), ("(1, 2)", r"got \(1, 2\)"), ("len", "got <built-in")],
)
def test_an_environment_without_tasks_is_refused(tmp_path, monkeypatch, request, tasks, told):
    module = f"taskless_{request.node.callspec.indices['tasks']}"
    (tmp_path / f"{module}.py").write_text(
        f"from likewise.training.environments.bookings import Bookings\nclass World(Bookings):\n    tasks = {tasks}\n"
        "    spoiled = False\n    def __init__(self):\n        pass\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"is an environment without tasks: `tasks` is a tuple of names, {told}"):
        environment_maker(f"{module}:World")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chess", "'chess' is no environment; there are bookings, or name module:class"),
        ("no_such_module_here:World", "cannot be loaded: No module named 'no_such_module_here'"),
        ("json:World", "cannot be loaded: module 'json' has no attribute 'World'"),
    ],
)
def test_what_is_no_environment_is_refused(name, told):
    with pytest.raises(ValueError, match=told):
        environment_maker(name)
