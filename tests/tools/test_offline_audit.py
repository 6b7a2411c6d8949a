"""What is known of weaknesses without asking anybody: ranges by the rules of versions, lines that say what to mend."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

PATH = Path(__file__).parents[2] / "tools" / "release" / "offline_audit.py"
LEAK = {"package": "Some_Lib", "versions": ">=2.0,<2.10", "id": "CVE-1", "what": "leaks"}


@pytest.fixture(scope="module")
def audit():
    spec = importlib.util.spec_from_file_location("offline_audit", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("version", "bad"),
    [
        ("1.9", False),
        ("2.0", True),
        ("2.9", True),  # by letters it would be above 2.10
        ("2.9.post1", True),
        ("2.10rc1", False),  # PEP 440: "<2.10" is no candidate of 2.10
        ("2.10", False),
    ],
)
def test_a_version_in_the_range_is_found_by_the_order_of_versions_not_of_letters(audit, version, bad):
    lines = audit.found([LEAK], {"some-lib": version, "other": "2.5"})
    assert lines == ([f"Some_Lib {version}: CVE-1, leaks; affected: >=2.0,<2.10"] if bad else [])


@pytest.mark.parametrize(
    ("requirement", "bad"),
    [
        ("some.lib>=2.5", True),
        ("some.lib[extra]>=2.10; python_version > '3'", False),
        ("some.lib==2.3", True),
        ("some.lib>=1.0,>=2.10", False),  # the higher of two floors
        ("other>=2.5", False),
    ],
)
def test_a_requirement_is_known_by_its_lowest_version(audit, requirement, bad):
    assert len(audit.allowed([LEAK], [requirement])) == bad


def test_every_entry_of_the_list_has_a_name_and_a_range_that_can_be_read(audit):
    known = audit.weaknesses()
    assert len(known) >= 10
    for one in known:
        assert set(one) == {"package", "versions", "id", "what"}
        assert len(SpecifierSet(one["versions"])) >= 1
        assert one["id"].startswith(("CVE-", "GHSA-", "PYSEC-"))


def test_the_requirements_are_those_of_the_base_and_of_all_extras(audit):
    names = [text.split(">")[0].split("[")[0] for text in audit.required()]
    assert {"numpy", "jinja2", "fastapi", "psycopg", "torch"} <= set(names)


def test_the_program_finds_nothing_here_and_fails_where_something_is(audit, monkeypatch, capsys):
    answer = subprocess.run([sys.executable, str(PATH)], capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "`make audit` asks for all others" in answer.stdout
    monkeypatch.setattr(audit, "weaknesses", lambda: [LEAK | {"package": "pytest", "versions": ">=1"}])
    assert audit.main() == 1
    assert "pytest" in capsys.readouterr().err
