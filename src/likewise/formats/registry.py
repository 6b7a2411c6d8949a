"""Find the files, find the format of each, read them, and give every run an id of its own.

The only module that knows all formats; others may register modules under the entry point group `likewise.formats`.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from itertools import count
from pathlib import Path
from typing import Protocol, cast

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.protocols import Progress, no_progress
from likewise.core.rollout import Excluded, Rollout
from likewise.formats import native, openai_chat, tau2, tau_bench
from likewise.formats.files import read_head
from likewise.formats.rollout_set import Parsed, RolloutSet

__all__ = ["FORMATS", "Format", "available_formats", "read_rollouts"]

_GROUP = "likewise.formats"
_SUFFIXES = frozenset({".json", ".jsonl"})


class Format(Protocol):
    """A log format: a module (or object) with these four names."""

    @property
    def NAME(self) -> str:
        """Name for `--format`."""
        ...

    @property
    def DESCRIPTION(self) -> str:
        """What it is, in one line."""
        ...

    def sniff(self, head: str, path: Path, /) -> str | None:
        """None where the file, of which `head` is the start, has this format; else the reason why not."""
        ...

    def read(self, path: Path, label: str, /) -> Parsed:
        """Read a file; `label` names the file in the run ids of logs that have none."""
        ...


FORMATS: dict[str, Format] = {module.NAME: module for module in (native, tau_bench, tau2, openai_chat)}


def available_formats() -> dict[str, Format]:
    """Our formats, then those that other packages registered; a name of ours cannot be taken over."""
    return _with_plugins()[0]


def _with_plugins() -> tuple[dict[str, Format], list[str]]:
    formats, warnings = dict(FORMATS), []
    for entry in sorted(entry_points(group=_GROUP), key=lambda each: each.name):
        try:
            plugin = cast("Format", entry.load())
            name = plugin.NAME
        except Exception as error:  # a broken plugin must not stop the reading of other formats
            warnings.append(f"the format {entry.name!r} does not load: {error}")
            continue
        if name in formats:
            warnings.append(f"the format {name!r} of {entry.value} is ignored: the name is taken")
        else:
            formats[name] = plugin
    return formats, warnings


@dataclass(slots=True)
class _Reading:
    """What has been found and read so far."""

    strict: bool
    rollouts: list[Rollout] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    digests: dict[bytes, Path] = field(default_factory=dict)

    def exclude(self, items: Iterable[Excluded]) -> None:
        for item in items:
            if self.strict:
                raise RolloutFormatError(item.path, item.reason, line=item.line, pointer=item.pointer)
            self.excluded.append(item)


def read_rollouts(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,
    strict: bool = False,
    progress: Progress = no_progress,
) -> RolloutSet:
    """Read rollouts from files and folders.

    Folders are read recursively, in sorted order, for .json and .jsonl files; a file reached twice is read once, and
    so is one of two files with the same bytes. In a folder, a file of no known format or that cannot be read is
    excluded; a file that was named is an error.

    Args:
        paths: One or more files or folders.
        format: Name of the format of all files; found file by file where None.
        strict: Raise instead of excluding a record.
        progress: Display of the reading.

    Returns:
        All rollouts, those that failed in the harness included; `(task_id, run_id)` is unique among them.

    Raises:
        RolloutFormatError: A file that was named cannot be read; or, if strict, any file or record.
        UnknownFormatError: No format recognises a file, or there is no format of the name given.
    """
    formats, warnings = _with_plugins()
    reading = _Reading(strict, warnings=warnings)
    named = [paths] if isinstance(paths, str | Path) else list(paths)
    if not named:
        raise RolloutFormatError("(no path)", "nothing to read", expected="at least one file or folder")
    if format is not None and format not in formats:
        raise UnknownFormatError(str(named[0]), {format: f"no such format; there are {', '.join(formats)}"})
    files = _find_files([Path(path) for path in named], reading)
    labels = _labels(list(files))
    with progress("reading", len(files)) as task:
        for path, from_folder in files.items():
            if len(files) == 1 or not _is_copy(path, reading):
                _read_file(path, labels[path], formats, format, from_folder, reading)
            task.advance()
    rollouts = _with_unique_ids(reading)
    return RolloutSet(rollouts, tuple(reading.excluded), tuple(reading.files), tuple(reading.warnings))


def _find_files(named: list[Path], reading: _Reading) -> dict[Path, bool]:
    """Each file once, with whether it was found in a folder rather than named."""
    found: dict[Path, bool] = {}
    known: dict[str, Path] = {}
    for path in named:
        is_folder = _is_folder(path)
        for file in _walk(path, reading) if is_folder else [path]:
            first = known.setdefault(_real(file), file)
            found[first] = is_folder and found.get(first, True)
    return found


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


def _walk(folder: Path, reading: _Reading) -> list[Path]:
    files: list[Path] = []
    skipped: list[str] = []

    def refuse(error: OSError) -> None:
        raise RolloutFormatError(str(error.filename), f"cannot be read: {error.strerror}") from error

    for root, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if path.suffix.lower() in _SUFFIXES:
                files.append(path)
            else:
                skipped.append(str(path.relative_to(folder)))
    if not files:
        raise RolloutFormatError(str(folder), "no .json or .jsonl file in this folder")
    if skipped:
        shown = ", ".join(skipped[:5]) + (", ..." if len(skipped) > 5 else "")
        reading.warnings.append(f"{folder}: {len(skipped)} files skipped, neither .json nor .jsonl: {shown}")
    return sorted(files)


def _labels(paths: list[Path]) -> dict[Path, str]:
    """The file's stem, with as many parent folders before it as tell it from the other files."""
    parts = {path: Path(os.path.abspath(path)).parts for path in paths}
    places = Counter((parts[path][:-1], path.stem) for path in paths)  # a.json beside a.jsonl keep their suffixes
    names = {path: path.stem if places[parts[path][:-1], path.stem] == 1 else path.name for path in paths}
    labels, depth = dict(names), 1
    while clashing := {label for label, times in Counter(labels.values()).items() if times > 1}:
        depth += 1
        for path, label in labels.items():
            if label in clashing:
                labels[path] = "/".join((*parts[path][-depth:-1], names[path]))
    return labels


def _is_copy(path: Path, reading: _Reading) -> bool:
    """Exclude a file whose bytes were read under another path: counted twice, it would narrow every interval."""
    digest = _digest(path)
    if digest is None:
        return False
    first = reading.digests.setdefault(digest, path)
    if first == path:
        return False
    reason = f"the same bytes as {first}, read before"
    reading.exclude([Excluded(None, None, reason, path=str(path))])
    reading.warnings.append(f"{path}: {reason}; counted once")
    return True


def _digest(path: Path) -> bytes | None:
    """None for a pipe, which can be read only once, and for a file whose reader will say what is wrong with it."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except (OSError, ValueError):
        return None


def _read_file(
    path: Path, label: str, formats: dict[str, Format], forced: str | None, from_folder: bool, reading: _Reading
) -> None:
    try:
        name = forced or _recognise(path, formats)
        parsed = formats[name].read(path, label)
    except RolloutFormatError as error:
        if reading.strict or not from_folder:
            raise
        reading.exclude([Excluded(None, None, error.problem, str(path), error.line, error.pointer)])
        reading.warnings.append(f"{error}; the file is excluded")
        return
    except UnknownFormatError as error:
        if not from_folder:
            raise
        reasons = "; ".join(f"{name}: {reason}" for name, reason in error.declined.items())
        reading.exclude([Excluded(None, None, f"not a rollout file of a known format ({reasons})", str(path))])
        return
    reading.files.append((str(path), name))
    reading.rollouts += parsed.rollouts
    reading.exclude(parsed.excluded)
    reading.warnings += parsed.warnings
    if not parsed.rollouts and not parsed.excluded:
        reading.warnings.append(f"{path}: no rollouts in it")


def _recognise(path: Path, formats: dict[str, Format]) -> str:
    head = read_head(path)
    declined: dict[str, str] = {}
    for name, each in formats.items():
        reason = each.sniff(head, path)
        if reason is None:
            return name
        declined[name] = reason
    raise UnknownFormatError(str(path), declined)


def _with_unique_ids(reading: _Reading) -> tuple[Rollout, ...]:
    """The same record twice stays once; two records under one id stay two runs, the later under a new id."""
    taken = {(rollout.task_id, rollout.run_id) for rollout in reading.rollouts}
    kept: dict[tuple[str, ...], list[Rollout]] = {}
    unique: list[Rollout] = []
    for rollout in reading.rollouts:
        others = kept.setdefault((rollout.task_id, rollout.run_id), [])
        twin = next((other for other in others if _same(other, rollout)), None) or _same_record(rollout, kept)
        if twin is not None:
            reason = f"duplicate of run {twin.run_id!r} in {twin.path}"
            reading.exclude([Excluded(rollout.task_id, rollout.run_id, reason, rollout.path)])
            reading.warnings.append(f"{rollout.path}: run {rollout.run_id!r} is a {reason}; counted once")
            continue
        others.append(rollout)
        if len(others) > 1:
            rollout = _renamed(rollout, taken, reading)
        unique.append(rollout)
    return tuple(unique)


def _same(first: Rollout, second: Rollout) -> bool:
    return repr(replace(first, path="")) == repr(replace(second, path=""))  # repr: NaN in arguments equals itself


def _same_record(rollout: Rollout, kept: dict[tuple[str, ...], list[Rollout]]) -> Rollout | None:
    """The run already kept under the log's own unique id (`meta["record_id"]`), where both hold the same turns."""
    record_id = rollout.meta.get("record_id")
    if not isinstance(record_id, str):
        return None
    others = kept.setdefault(("record", rollout.task_id, record_id), [])
    twin = next((other for other in others if repr(other.turns) == repr(rollout.turns)), None)
    if twin is None:
        others.append(rollout)
    return twin


def _renamed(rollout: Rollout, taken: set[tuple[str, str]], reading: _Reading) -> Rollout:
    task_id, run_id = rollout.task_id, rollout.run_id
    new_id = next(name for n in count(2) if (task_id, name := f"{run_id}~{n}") not in taken)
    taken.add((task_id, new_id))
    warning = f"{rollout.path}: another run {run_id!r} of task {task_id!r}, with other content, is kept as {new_id!r}"
    reading.warnings.append(warning)
    return replace(rollout, run_id=new_id)
