from __future__ import annotations

import sys

import pytest

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
