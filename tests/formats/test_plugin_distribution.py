"""A format of another package, truly installed: built as a wheel, installed by pip, found through its entry point."""

import json
import os
import subprocess
import sys

import pytest

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "toy-rollouts"
version = "1.0"

[project.entry-points."likewise.formats"]
toy = "toy_rollouts"

[tool.hatch.build.targets.wheel]
include = ["toy_rollouts.py"]
"""

MODULE = """
from likewise.core.rollout import Action, Rollout, Turn
from likewise.formats import Parsed

NAME = "toy"
DESCRIPTION = "one answer a line, after the word toy"
SUFFIXES = frozenset({".toy"})


def sniff(head, path):
    return None if head.startswith("toy") else "does not start with toy"


def read(path, label):
    lines = path.read_text().splitlines()[1:]
    runs = (Rollout("t", f"{label}#t#{n}", (Turn((), Action(line)),), path=str(path)) for n, line in enumerate(lines))
    return Parsed(tuple(runs))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the toy distribution in it, as pip installs it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "toy_rollouts.py").write_text(MODULE)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(source)], check=True, timeout=120, capture_output=True)
    return target


@pytest.fixture
def ask(installed, likewise):
    return lambda *arguments: likewise(*arguments, environment={"PYTHONPATH": str(installed)})


def test_an_installed_package_adds_its_format_to_the_list(ask, likewise):
    listed = {row["name"]: row for row in json.loads(ask("formats", "--json").stdout)["formats"]}
    assert listed["toy"] == {
        "name": "toy",
        "description": "one answer a line, after the word toy",
        "suffixes": [".json", ".jsonl", ".ndjson", ".toy"],
        "built_in": False,
    }
    assert "toy" not in likewise("formats").stdout
    assert "(of another package)" in " ".join(ask("formats").stdout.split())


def test_its_files_are_found_in_folders_known_by_their_sign_and_read(ask, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "a.toy").write_text("toy\nHello.\nHi.\n")
    found = json.loads(ask("inspect", folder, "--json").stdout)
    assert (found["rollouts"], [row["format"] for row in found["files"]]) == (2, ["toy"])
    assert json.loads(ask("inspect", folder, "--json", "--format", "toy").stdout)["rollouts"] == 2


def test_without_the_package_its_files_are_of_no_known_format(likewise, tmp_path):
    (tmp_path / "a.toy").write_text("toy\nHello.\n")
    result = likewise("inspect", tmp_path / "a.toy")
    assert (result.returncode, os.linesep.join(result.stderr.splitlines()[1:])) == (3, "")
