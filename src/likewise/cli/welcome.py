"""`likewise` alone: what to do next, by what this folder holds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote

import typer

__all__ = ["Found", "Runs", "look", "welcome"]

FOLDERS, WALKED, FILES, SNIFFED = 60, 100, 200, 3
"""How many folders are looked into, how many below each, how many files of each are counted and how many opened."""
SHOWN = 4
"""Places that are named; a reader wants the first."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Recorded runs in one place: what to type for it, its files, and the name of their format."""

    place: str
    files: int
    format: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds that likewise has a use for."""

    runs: tuple[Runs, ...] = ()
    reports: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    settings: str | None = None


def look(folder: Path) -> Found:
    """Look at a folder and the folders in it, at a few files of each; nothing is read to its end."""
    from likewise.core.config import FILE_NAME

    runs, reports, models = list[Runs](), list[str](), list[str]()
    for place in (folder, *islice(_folders(folder), FOLDERS)):
        files = list(islice(_files(place, deep=place != folder), FILES))
        models += [_name(place, folder)] if (place / "model.json").is_file() else []
        written = [path for path in files[:FILES] if path.suffix == ".json" and _is_report(path)]
        reports += [_name(path, folder) for path in written]
        found = _runs_in(place, folder, [path for path in files if path not in written and path.name != "model.json"])
        runs += [] if found is None else [found]
    settings = FILE_NAME if (folder / FILE_NAME).is_file() else None
    return Found(tuple(runs), tuple(reports), tuple(models), settings)


def _is_report(path: Path) -> bool:
    """Whether likewise wrote a report there; by the head alone, since what reads reports loads NumPy."""
    from likewise.core.errors import LikewiseError
    from likewise.formats.files import outline, read_head

    try:
        return outline(read_head(path)).texts.get("schema", "").startswith("likewise.report/")
    except LikewiseError:
        return False


def _folders(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, FILES) if not entry.name.startswith(".") and entry.is_dir()]
    yield from (folder / name for name in sorted(names))


def _files(folder: Path, deep: bool) -> Iterator[Path]:
    """Files that could hold runs, sorted folder by folder; a folder that cannot be read holds none."""
    from likewise.formats.registry import available_formats
    from likewise.formats.walk import SUFFIXES

    wanted = SUFFIXES.union(*(getattr(each, "SUFFIXES", ()) for each in available_formats().values()))
    for root, folders, names in islice(os.walk(folder), WALKED):
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if deep else []
        for name in sorted(names):
            if Path(name.removesuffix(".gz")).suffix.lower() in wanted:
                yield Path(root, name)


def _runs_in(place: Path, folder: Path, files: list[Path]) -> Runs | None:
    from likewise.core.errors import LikewiseError
    from likewise.formats.registry import claims

    for path in files[:SNIFFED]:
        try:
            said = claims(path)
        except LikewiseError:
            continue
        format = next((name for name, reason in said.items() if reason is None), None)
        if format is None:
            continue
        if place != folder:
            return Runs(f"{_name(place, folder)}/", len(files), format)
        alike = [each for each in files if each.suffix == path.suffix]
        return Runs(quote(path.name) if len(alike) == 1 else f"*{path.suffix}", len(alike), format)
    return None


def _name(path: Path, folder: Path) -> str:
    """What to type for it from this folder."""
    return "." if path == folder else quote(str(path.relative_to(folder)))


def welcome(folder: Path) -> None:
    """Print what to do next."""
    from likewise.report.text import visible

    found = look(folder)
    steps = _steps(found)
    width = max(len(command) for command, _ in steps)
    lines = [
        "likewise tells whether an agent behaves alike when it is run again, and where and why it does not.",
        "",
        *_here(found),
        "",
        *(f"  {command:{width}}  {what}" for command, what in steps),
        "",
        "A task must have been run at least twice. Nothing leaves this machine unless you name an endpoint.",
    ]
    for line in lines:
        typer.echo(visible(line).replace("\n", " "))  # a file's name may hold what a terminal obeys


def _here(found: Found) -> Iterator[str]:
    if not found.runs:
        yield "No recorded runs in this folder or the folders in it."
    for runs in found.runs[:SHOWN]:
        yield f"Recorded runs: {runs.place} ({runs.files} file{'s' * (runs.files > 1)}, {runs.format})"
    if len(found.runs) > SHOWN:
        yield f"and in {len(found.runs) - SHOWN} more places"
    if found.settings:
        yield f"Settings: {found.settings}"


def _steps(found: Found) -> list[tuple[str, str]]:
    """Commands that make sense here, each with what it does."""
    steps: list[tuple[str, str]] = []
    if found.runs:
        first = found.runs[0].place
        steps += [(f"likewise inspect {first}", "what would be read, and what not")]
        steps += [(f"likewise report {first} --html report.html", "how alike the runs are, and where they part")]
        counts = Counter(runs.format for runs in found.runs)
        alike = [runs.place for runs in found.runs if counts[runs.format] > 1]
        if len(alike) > 1:
            steps += [(f"likewise compare {alike[0]} {alike[1]}", "whether one version is better than the other")]
    else:
        steps += [
            ("likewise formats", "the log formats that are read; any other JSON by a mapping"),
            ("likewise report FOLDER --html report.html", "how alike recorded runs are, and where they part"),
            ('likewise run --agent module:function --query "..."', "ask an agent of yours several times"),
        ]
    if found.reports:
        steps += [(f"likewise plan --detect 0.3 --from {found.reports[0]}", "how many runs the next claim needs")]
    if found.runs and found.models:
        place = found.runs[0].place
        steps += [(f"likewise score {place} --model {found.models[0]}", "divergence ahead, turn by turn")]
    steps += [("likewise doctor", "whether everything works here"), ("likewise --help", "all commands")]
    return steps
