"""Known weaknesses of what is installed here, and of what pyproject.toml would allow, without asking anybody.

    python tools/release/offline_audit.py

Reads the short list beside it, which somebody keeps by hand: no weakness found here is no proof that there is none.
`make audit` asks the advisory service, which knows all that is public. Exit code 1 where a weakness is found.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

HERE = Path(__file__).parent
PROJECT = HERE.parents[1] / "pyproject.toml"


def weaknesses(path: Path = HERE / "weaknesses.toml") -> list[dict[str, str]]:
    """The list."""
    return tomllib.loads(path.read_text(encoding="utf-8"))["weakness"]


def found(known: Iterable[Mapping[str, str]], installed: Mapping[str, str]) -> list[str]:
    """A line for each weakness that an installed version has.

    Args:
        known: The list.
        installed: Version by name of package.
    """
    versions = {canonicalize_name(name): Version(version) for name, version in installed.items()}
    return [
        f"{one['package']} {version}: {one['id']}, {one['what']}; affected: {one['versions']}"
        for one in known
        if (version := versions.get(canonicalize_name(one["package"]))) is not None
        and SpecifierSet(one["versions"]).contains(version, prereleases=True)
    ]


def allowed(known: Iterable[Mapping[str, str]], requirements: Iterable[str]) -> list[str]:
    """A line for each requirement whose lowest version has a weakness."""
    lowest = {}
    for text in requirements:
        requirement = Requirement(text)
        floors = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==", "~=")]
        lowest[requirement.name] = str(max(floors, default=Version("0")))
    return [f"pyproject.toml allows {line}" for line in found(known, lowest)]


def required(project: Path = PROJECT) -> list[str]:
    """What an installation asks for itself, base and extras."""
    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    return [*table["dependencies"], *(one for extra in table["optional-dependencies"].values() for one in extra)]


def main() -> int:
    """Say what is found."""
    known = weaknesses()
    here = {each.metadata["Name"]: each.version for each in distributions() if each.metadata["Name"]}
    lines = [*found(known, here), *allowed(known, required())]
    for line in lines:
        print(line, file=sys.stderr)
    if not lines:
        print(f"none of {len(known)} known weaknesses is installed or allowed; `make audit` asks for all others")
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main())
