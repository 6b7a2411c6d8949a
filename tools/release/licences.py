"""Writes docs/licences.md: what likewise needs, base and extra by extra, under which licence, and the weights.

What is installed is read, in every environment that make has made; a package that is in none of them is named as such.
Run: python tools/release/licences.py [--check] [--also FOLDER ...]   (site-packages of further environments)
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "licences.md"
LONGEST = 60
"""Characters of a licence; some packages put the whole text into the field."""

KNOWN_TEXTS = (
    (r"Permission is hereby granted, free of charge", "MIT"),
    (r"Apache License\s+Version 2\.0", "Apache-2.0"),
    (r"Redistributions? .{0,200}in binary form", "BSD"),
    (r"Mozilla Public License,? [Vv]ersion 2\.0", "MPL-2.0"),
    (r"PYTHON SOFTWARE FOUNDATION LICENSE", "PSF-2.0"),
    (r"Permission to use, copy, modify, and/?o?r? distribute", "ISC"),
)
"""How a licence is told by its text, where a package names none."""


STATED_ELSEWHERE = dict.fromkeys(("crewai", "crewai-cli", "crewai-core"), "MIT (stated in its repository alone)")
"""Packages whose metadata and files name no licence."""


def licence_of(distribution: Distribution) -> str | None:
    """The licence that a package states: expression, classifier, field, or the text that it brings."""
    meta = distribution.metadata
    if expression := meta.get("License-Expression"):
        return str(expression)
    classifiers = [c.split(" :: ")[-1] for c in meta.get_all("Classifier", []) if c.startswith("License :: ")]
    named = [c for c in classifiers if c != "OSI Approved"]
    field = (meta.get("License") or "").strip()
    if field and field.upper() != "UNKNOWN" and len(field) <= LONGEST and "\n" not in field:
        return field
    if named:
        return ", ".join(named)
    texts = [field]
    for file in distribution.files or []:
        if re.match(r"(?i)(licen[cs]e|copying)", file.name) and file.suffix.lower() in ("", ".txt", ".md", ".rst"):
            texts.append(Path(str(file.locate())).read_text(encoding="utf-8", errors="replace"))
    return next((name for text in texts for pattern, name in KNOWN_TEXTS if re.search(pattern, text, re.S)), None)


def installed(root: Path = ROOT, also: Iterable[Path] = ()) -> dict[str, Distribution]:
    """Packages by name, of all environments beside the repository, then of others; the first that has one counts."""
    folders = [*sorted(root.glob(".venv*/lib/python3*/site-packages")), *also]
    found: dict[str, Distribution] = {}
    for folder in folders:
        for each in distributions(path=[str(folder)]):
            found.setdefault(canonicalize_name(each.metadata["Name"]), each)
    return found


def closure(requirements: Iterable[str], packages: dict[str, Distribution]) -> tuple[set[str], set[str]]:
    """Names of what these requirements bring, and of those that are installed nowhere."""
    waiting = [Requirement(each) for each in requirements]
    seen: set[tuple[str, str]] = set()
    found, missing = set(), set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in ("", *wanted.extras):
            if (name, extra) in seen or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
                continue
            seen.add((name, extra))
            if name not in packages:
                missing.add(name)
                continue
            found.add(name)
            for line in packages[name].requires or []:
                inner = Requirement(line)
                if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                    inner.marker = None
                    waiting.append(inner)
    return found, missing


def page(root: Path = ROOT, also: Iterable[Path] = ()) -> tuple[str, list[str]]:
    """The page, and the packages whose licence is not known."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages = installed(root, also)
    lines = [
        "# Licences",
        "",
        "likewise is Apache-2.0. This page is written by `tools/release/licences.py` from what is installed.",
        "",
        "## Weights, data and files in the package",
        "",
        *(root / "NOTICE").read_text(encoding="utf-8").partition("This product includes:\n\n")[2].strip().splitlines(),
        "",
    ]
    unknown: list[str] = []
    base, _ = closure(project["dependencies"], packages)
    sections = [("Base", project["dependencies"], set())]
    sections += [(f"Extra `{name}`", needed, base) for name, needed in project["optional-dependencies"].items()]
    for title, needed, without in sections:
        found, missing = closure(needed, packages)
        lines += [f"## {title}", ""]
        rows = sorted(found - without)
        if rows:
            lines += ["| package | licence |", "|---|---|"]
        for name in rows:
            licence = licence_of(packages[name]) or STATED_ELSEWHERE.get(name)
            unknown += [] if licence else [name]
            lines.append(f"| {packages[name].metadata['Name']} | {licence or '**not stated**'} |")
        if rows:
            lines.append("")
        if missing:
            lines += [f"Not installed where this page was made: {', '.join(sorted(missing))}.", ""]
    return "\n".join(lines).rstrip() + "\n", sorted(set(unknown))


def main() -> None:
    """Write the page, or with --check say whether a licence is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a licence is not stated")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="site-packages of further environments")
    options = parser.parse_args()
    text, unknown = page(also=options.also)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} written")
    if unknown:
        sys.exit(f"no licence is stated by: {', '.join(unknown)}")


if __name__ == "__main__":
    main()
