"""Which files there are to read: those named, those found in folders, and a short name for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from likewise.core.errors import RolloutFormatError

__all__ = ["PACKED", "SUFFIXES", "find_files", "labels", "unpacked_name"]

SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
"""Suffixes read in a folder whatever the formats; a format may name more in `SUFFIXES`. Each may be followed by one of
`PACKED`."""
PACKED = (".gz", ".zst")
"""What follows the suffix of a packed file."""


def find_files(named: Sequence[Path], suffixes: Iterable[str]) -> tuple[dict[Path, bool], list[str]]:
    """Each file once, with whether it was found in a folder rather than named, and what was passed over.

    Args:
        named: Files and folders; folders are read recursively, in sorted order.
        suffixes: Suffixes of the files to read in a folder, lower case, with their dot.

    Returns:
        File -> found in a folder; warnings that name skipped files.

    Raises:
        RolloutFormatError: A folder cannot be read, or has no file of those suffixes.
    """
    found: dict[Path, bool] = {}
    known: dict[str, Path] = {}
    warnings: list[str] = []
    wanted = frozenset(suffixes)
    for path in named:
        is_folder = _is_folder(path)
        for file in _walk(path, wanted, warnings) if is_folder else [path]:
            first = known.setdefault(_real(file), file)
            found[first] = is_folder and found.get(first, True)
    return found, warnings


def _real(path: Path) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError) as error:
        raise RolloutFormatError(str(path), f"cannot be read: {error}") from None


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError) as error:
        raise RolloutFormatError(str(path), f"cannot be read: {error}") from None


def _walk(folder: Path, wanted: frozenset[str], warnings: list[str]) -> list[Path]:
    files: list[Path] = []
    skipped: list[str] = []

    def refuse(error: OSError) -> None:
        raise RolloutFormatError(str(error.filename), f"cannot be read: {error.strerror}") from error

    for root, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if Path(unpacked_name(name)).suffix.lower() in wanted:
                files.append(path)
            else:
                skipped.append(str(path.relative_to(folder)))
    if not files:
        raise RolloutFormatError(str(folder), f"no rollout file in this folder (looked for {_listed(wanted)})")
    if skipped:
        shown = ", ".join(skipped[:5]) + (", ..." if len(skipped) > 5 else "")
        warnings.append(f"{folder}: {len(skipped)} files skipped, none of {_listed(wanted)}: {shown}")
    return sorted(files)


def _listed(wanted: frozenset[str]) -> str:
    return ", ".join(sorted(wanted))


def unpacked_name(name: str) -> str:
    """The name of what is in a file: `runs.jsonl.gz` holds `runs.jsonl`."""
    return name.rpartition(".")[0] if name.lower().endswith(PACKED) else name


def labels(paths: list[Path]) -> dict[Path, str]:
    """The file's stem, with as many parent folders before it as tell it from the other files."""
    parts = {path: Path(os.path.abspath(path)).parts for path in paths}
    stems = {path: Path(unpacked_name(path.name)).stem for path in paths}
    places = Counter((parts[path][:-1], stems[path]) for path in paths)  # a.json beside a.jsonl keep their suffixes
    names = {path: stems[path] if places[parts[path][:-1], stems[path]] == 1 else path.name for path in paths}
    found, depth = dict(names), 1
    while clashing := {label for label, times in Counter(found.values()).items() if times > 1}:
        depth += 1
        for path, label in found.items():
            if label in clashing:
                found[path] = "/".join((*parts[path][-depth:-1], names[path]))
    return found
