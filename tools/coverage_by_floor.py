"""Share of statements that the fast tests reach, floor by floor, top floor first.

Run from the repository's environment: python tools/coverage_by_floor.py [--data FILE] [--out FILE] [pytest arguments]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FLOORS = (
    ("6", ("cli",)),
    ("5", ("service",)),
    ("4", ("report", "store")),
    ("3", ("evaluation", "reliability", "training")),
    ("2", ("scoring", "learned")),
    ("1", ("metrics", "formats", "backends")),
    ("0", ("core",)),
)
SETTINGS = """
[run]
source_pkgs = likewise
data_file = {folder}/data
parallel = true
patch = subprocess
"""
"""Of coverage; the last line lets it see the tests' own processes, and the commands that tests start."""
FAST = "not data and not slow and not torch and not ray and not service and not integrations"


def rooms(report: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Statements reached and statements of each room, from coverage's JSON report."""
    reached: Counter[str] = Counter()
    there: Counter[str] = Counter()
    for name, file in report["files"].items():
        parts = Path(name).parts
        inside = parts[parts.index("likewise") + 1 :]
        room = inside[0] if len(inside) > 1 else "(top)"
        reached[room] += file["summary"]["covered_lines"]
        there[room] += file["summary"]["num_statements"]
    return {room: (reached[room], there[room]) for room in there}


def table(by_room: Mapping[str, tuple[int, int]]) -> str:
    """The floors with their rooms; a room that is on no floor comes last."""
    lines = []
    placed = {room for _, names in FLOORS for room in names}
    for floor, names in (*FLOORS, ("-", tuple(sorted(by_room.keys() - placed)))):
        for room in names:
            reached, there = by_room.get(room, (0, 0))
            share = f"{100 * reached / there:5.1f} %" if there else "nothing measured"
            lines.append(f"{floor}  {room:<12} {share}  ({reached} of {there} statements)")
    return "\n".join(lines)


def by_floor(by_room: Mapping[str, tuple[int, int]]) -> dict[str, dict[str, float]]:
    """Statements reached, statements and their share, of each floor and of all; a floor without any is left out."""
    sums = {floor: [by_room.get(room, (0, 0)) for room in names] for floor, names in FLOORS}
    sums["all"] = list(by_room.values())
    found = {}
    for floor, parts in sums.items():
        reached, there = (sum(column) for column in zip(*parts, strict=True)) if parts else (0, 0)
        if there:
            name = floor if floor == "all" else f"floor {floor}"
            found[name] = {"reached": reached, "statements": there, "share": reached / there}
    return found


def measured(arguments: list[str], folder: Path) -> Mapping[str, Any]:
    """Run the tests under coverage; a failed test ends this."""
    settings = folder / "settings"
    settings.write_text(SETTINGS.format(folder=folder), encoding="utf-8")

    def coverage(*words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
        tool = [sys.executable, "-m", "coverage", words[0], f"--rcfile={settings}"]
        return subprocess.run([*tool, *words[1:]], cwd=ROOT, check=check)

    spread = ["--numprocesses", "logical", "--dist", "loadfile"]
    tests = coverage("run", "-m", "pytest", "-q", *spread, "-m", FAST, *arguments, check=False)
    if tests.returncode:
        sys.exit(f"the tests ended with {tests.returncode}; coverage of failed tests is not stated")
    coverage("combine", "-q")
    coverage("json", "-q", "-o", str(folder / "report.json"))
    found: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a JSON report that coverage wrote earlier")
    parser.add_argument("--out", type=Path, help="write the shares as JSON, too")
    options, rest = parser.parse_known_args()
    if options.data:
        found = rooms(json.loads(options.data.read_text(encoding="utf-8")))
    else:
        with tempfile.TemporaryDirectory() as name:
            found = rooms(measured(rest, Path(name)))
    print(table(found))
    if options.out:
        rows = {"tests": " ".join(["make test", *rest]), **by_floor(found)}
        options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
