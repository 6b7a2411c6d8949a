"""The figures of the structure, on small packages whose figures are counted by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "house_figures.py"


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house_figures", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """Write the modules of a package `p`; gives the folder that holds it."""

    def _write(**texts):
        (tmp_path / "p").mkdir()
        for name, text in texts.items():
            (tmp_path / "p" / f"{name}.py").write_text(text)
        return tmp_path

    return _write


def test_figures_of_a_small_package_are_those_counted_by_hand(house, package):
    a = '"""A."""\n\n\ndef one():\n    """One."""\n    return 1\n\n\ndef two():\n    return 2\n'
    found = house.figures(package(__init__='"""P."""\n', a=a))
    assert (found["modules"], found["lines"], found["functions"]) == (2, 11, 2)
    assert found["function_length_median"] == 2.5
    assert found["longest_function"] == 3
    assert found["longest_file"] == {"module": "p.a", "lines": 10}
    assert found["public_docstring_share"] == 3 / 4
    assert found["import_cycles"] == []
    assert found["duplicate_blocks"] == []


def test_a_cycle_is_found_also_over_relative_imports(house, package):
    texts = {"__init__": "", "a": "from p import b\n", "b": "from .c import x\n", "c": "import p.a\nx = 1\n"}
    assert house.figures(package(**texts, d="def f():\n    pass\n"))["import_cycles"] == [["p.a", "p.b", "p.c"]]


@pytest.mark.parametrize(
    "late", ["def f():\n    import p.a\n", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a\n"]
)
def test_imports_on_use_or_for_types_close_no_cycle(house, package, late):
    texts = {"__init__": "", "a": "import p.b\n\n\ndef g():\n    pass\n", "b": late}
    assert house.figures(package(**texts))["import_cycles"] == []


def test_lines_that_stand_twice_are_found_once(house):
    shared = "\n".join(f"value_{n} = {n}" for n in range(12))
    found = house.duplicate_blocks({"a": shared, "b": "other = 1\n" + shared})
    assert found == [("a", "b:2")]
    assert house.duplicate_blocks({"a": shared, "b": "\n".join(shared.split("\n")[:7])}) == []


def test_this_house_has_no_cycle_and_its_public_names_are_documented(house):
    found = house.figures()
    assert found["import_cycles"] == []
    assert found["public_docstring_share"] >= 0.95
