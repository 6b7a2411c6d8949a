"""Which extras are installed is told from metadata: here those of distributions made for the purpose."""

import sys
import tomllib
from pathlib import Path

import pytest

from likewise.cli.installed import BRINGS, Extra, extras

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """Make an installed distribution: a folder of metadata on the path, as pip leaves it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def _make(name, version="1.0", lines=()):
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        text = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines]
        (folder / "METADATA").write_text("\n".join(text) + "\n")

    return _make


def test_packages_that_are_there_missing_or_too_old_are_told_apart(distribution):
    distribution(
        "lwhost",
        lines=[
            "Provides-Extra: some",
            "Provides-Extra: none",
            "Requires-Dist: lwbase",
            'Requires-Dist: lwgood>=1.5; extra == "some"',
            'Requires-Dist: lwold>=3; extra == "some"',
            'Requires-Dist: lwgone; extra == "some"',
            'Requires-Dist: lwgone; extra == "none"',
        ],
    )
    distribution("lwgood", "2.0")
    distribution("lwold", "2.9")
    assert extras("lwhost") == [
        Extra("none", (), ("lwgone",), ()),
        Extra("some", ("lwgood 2.0",), ("lwgone",), ("lwold 2.9, needs >=3",)),
    ]


def test_what_another_platform_needs_is_not_missed_here(distribution):
    distribution(
        "lwhost",
        lines=["Provides-Extra: a", f"Requires-Dist: lwgone; sys_platform != '{sys.platform}' and extra == 'a'"],
    )
    assert extras("lwhost") == [Extra("a", (), (), ())]


def test_a_prerelease_that_is_newer_does(distribution):
    distribution("lwhost", lines=["Provides-Extra: a", "Requires-Dist: lwdev>=1; extra == 'a'"])
    distribution("lwdev", "1.1.dev0")
    assert extras("lwhost") == [Extra("a", ("lwdev 1.1.dev0",), (), ())]


def test_an_extra_of_the_package_itself_and_a_line_that_is_none_are_passed_over(distribution):
    distribution(
        "lwhost", lines=["Provides-Extra: all", "Requires-Dist: likewise[llm]; extra == 'all'", "Requires-Dist: ==="]
    )
    assert extras("lwhost") == [Extra("all", (), (), ())]


def test_a_source_tree_that_was_never_installed_has_none():
    assert extras("lw-nowhere") == []


def test_every_extra_of_the_project_says_what_it_brings():
    assert PROJECT["optional-dependencies"].keys() - {"all"} <= BRINGS.keys()
