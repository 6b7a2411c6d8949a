"""Find the files, find the format of each, read them, and give every run an id of its own.

The only module that knows all formats; others may register modules under the entry point group `likewise.formats`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.protocols import Progress, no_progress
from likewise.core.rollout import Excluded, Rollout
from likewise.formats import (
    anthropic_messages,
    atif,
    claude_code,
    inspect_ai,
    langchain_steps,
    langfuse,
    native,
    openai_chat,
    openai_responses,
    otel,
    promptfoo,
    swe_agent,
    table,
    tau2,
    tau_bench,
    toolsandbox,
    uqlm,
)
from likewise.formats.compressed import packing
from likewise.formats.files import outline, read_bytes, read_head
from likewise.formats.identity import Identities
from likewise.formats.joining import Joining, Parts
from likewise.formats.mapped import mapped_by
from likewise.formats.rollout_set import Parsed, RolloutSet
from likewise.formats.walk import SUFFIXES, find_files, labels

__all__ = ["FORMATS", "Format", "RolloutStream", "available_formats", "claims", "read_rollouts", "stream_rollouts"]

_GROUP = "likewise.formats"


class Format(Protocol):
    """A log format: a module (or object) with these four names.

    A fifth, `SUFFIXES`, may name suffixes of its files beside .json, .jsonl and .ndjson: in folders, files of other
    suffixes are passed over. Two more, `chains(runs)` and `joined(parts)`, put together what several files hold of one
    run (see `likewise.formats.joining`). Another, `READ_TOGETHER`, may hold names of files whose bytes are only a part
    of a run: two of them may be equal, and none a copy.
    """

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


_OURS: tuple[Format, ...] = (
    native,
    tau_bench,
    tau2,
    inspect_ai,
    langfuse,
    otel,
    claude_code,
    atif,
    swe_agent,
    langchain_steps,
    promptfoo,
    toolsandbox,
    uqlm,
    openai_responses,
    anthropic_messages,
    openai_chat,
    table,  # asks least of a file, so it is asked last
)
FORMATS: dict[str, Format] = {each.NAME: each for each in _OURS}


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
class RolloutStream:
    """Rollouts, one after another while their files are read; iterate over it once.

    Attributes:
        excluded: Records that are not among the rollouts, and why; complete when the stream is at its end, like
            the other two.
        files: Each file read, with the name of the format it was read as.
        warnings: What the user should know.
    """

    excluded: list[Excluded] = field(default_factory=list)
    files: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _strict: bool = False
    _parts: list[tuple[str, str]] = field(default_factory=list)
    _rollouts: Generator[Rollout] = field(default_factory=lambda: _nothing())

    def __iter__(self) -> Iterator[Rollout]:
        """The rollouts, in the order of the files."""
        return self._rollouts

    def close(self) -> None:
        """End the reading, and with it its progress bar, before the stream is at its end."""
        self._rollouts.close()

    def _exclude(self, items: Iterable[Excluded]) -> None:
        for item in items:
            if self._strict:
                raise RolloutFormatError(item.path, item.reason, line=item.line, pointer=item.pointer)
            self.excluded.append(item)


def _nothing() -> Generator[Rollout]:
    yield from ()


def read_rollouts(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,
    mapping: str | Path | None = None,
    strict: bool = False,
    progress: Progress = no_progress,
) -> RolloutSet:
    """Read rollouts from files and folders.

    Folders are read recursively, in sorted order, for the suffixes of the formats; a file reached twice is read once,
    and so is one of two files with the same bytes. In a folder, a file of no known format or that cannot be read is
    excluded; a file that was named is an error.

    Args:
        paths: One or more files or folders.
        format: Name of the format of all files; found file by file where None.
        mapping: Mapping file (TOML) that says which field of a record is what; all files are then read by it.
        strict: Raise instead of excluding a record.
        progress: Display of the reading.

    Returns:
        All rollouts, those that failed in the harness included; `(task_id, run_id)` is unique among them.

    Raises:
        RolloutFormatError: A file that was named cannot be read; or, if strict, any file or record.
        UnknownFormatError: No format recognises a file, or there is no format of the name given.
        ConfigError: The mapping file cannot be used.
    """
    stream = stream_rollouts(paths, format=format, mapping=mapping, strict=strict, progress=progress)
    rollouts = tuple(stream)
    return RolloutSet(rollouts, tuple(stream.excluded), tuple(stream.files), tuple(stream.warnings))


def stream_rollouts(
    paths: str | Path | Iterable[str | Path],
    *,
    format: str | None = None,
    mapping: str | Path | None = None,
    strict: bool = False,
    progress: Progress = no_progress,
) -> RolloutStream:
    """Read rollouts like `read_rollouts`, but hold those of one file at a time.

    The arguments and errors are those of `read_rollouts`; errors of files come while the stream is iterated over.
    """
    formats, warnings = _with_plugins()
    if mapping is not None:
        reader = mapped_by(mapping)
        formats, format = {reader.NAME: reader}, reader.NAME if format is None else format
    named = [paths] if isinstance(paths, str | Path) else list(paths)
    if not named:
        raise RolloutFormatError("(no path)", "nothing to read", expected="at least one file or folder")
    if format is not None and format not in formats:
        raise UnknownFormatError(str(named[0]), {format: f"no such format; there are {', '.join(formats)}"})
    suffixes = SUFFIXES.union(*(getattr(each, "SUFFIXES", ()) for each in formats.values()))
    files, skipped = find_files([Path(path) for path in named], suffixes)
    stream = RolloutStream(warnings=[*warnings, *skipped], _strict=strict)
    stream._rollouts = _read(files, formats, format, stream, progress)
    return stream


def _read(
    files: dict[Path, bool], formats: dict[str, Format], forced: str | None, stream: RolloutStream, progress: Progress
) -> Generator[Rollout]:
    identities = Identities(stream._exclude, stream.warnings)
    named = labels(list(files))
    parts: dict[str, Parts] = {}
    together = frozenset[str]().union(*(getattr(each, "READ_TOGETHER", ()) for each in formats.values()))
    with progress("reading", len(files)) as task:
        for path, from_folder in files.items():
            if len(files) == 1 or path.name in together or not identities.is_copy(path):
                name, rollouts = _read_file(path, named[path], formats, forced, from_folder, stream)
                if hasattr(formats.get(name), "chains"):
                    parts.setdefault(name, _parts(name, formats[name])).take(path, named[path], rollouts)
                    rollouts = ()
                yield from filter(None, map(identities.admit, rollouts))
            task.advance()
    for of_format in parts.values():
        yield from filter(None, map(identities.admit, of_format.runs(stream.warnings, progress)))
    read = {path for path, _ in stream.files}
    owners = dict.fromkeys(owner for _, owner in stream._parts if owner not in read)
    stream.warnings += [f"{owner}: not read, but parts of it were named; name it or its folder" for owner in owners]
    identities.finish()


def _parts(name: str, format: Format) -> Parts:
    return Parts(cast("Joining", format), lambda path, label: _parse(path, label, name, format).rollouts)


def _read_file(
    path: Path, label: str, formats: dict[str, Format], forced: str | None, from_folder: bool, stream: RolloutStream
) -> tuple[str, tuple[Rollout, ...]]:
    try:
        _refuse_what_is_no_file(path)
        name = forced or _recognise(path, formats)
        parsed = _parse(path, label, name, formats[name])
    except RolloutFormatError as error:
        if stream._strict or not from_folder:
            raise
        stream.excluded.append(Excluded(None, None, error.problem, str(path), error.line, error.pointer))
        stream.warnings.append(f"{error}; the file is excluded")
        return "", ()
    except UnknownFormatError as error:
        if not from_folder:
            raise
        problem = f"not a rollout file of a known format ({len(error.declined)} tried)"
        stream._exclude([Excluded(None, None, problem, str(path))])
        return "", ()
    stream.files.append((str(path), name))
    stream._exclude(parsed.excluded)
    stream.warnings += parsed.warnings
    if parsed.part_of is not None:
        stream._parts.append((str(path), parsed.part_of))
    elif not parsed.rollouts and not parsed.excluded and not parsed.warnings:
        stream.warnings.append(f"{path}: no rollouts in it")
    return name, parsed.rollouts


def _parse(path: Path, label: str, name: str, format: Format) -> Parsed:
    try:
        return format.read(path, label)
    except (RolloutFormatError, MemoryError):
        raise
    except Exception as error:
        if name in FORMATS:  # a fault of ours, to be seen as one
            raise
        problem = f"the format {name!r}, of another package, failed: {type(error).__name__}: {error}"
        raise RolloutFormatError(str(path), problem) from error


def _recognise(path: Path, formats: dict[str, Format]) -> str:
    declined: dict[str, str] = {}
    for name, reason in _sniffed(path, formats):
        if reason is None:
            return name
        declined[name] = reason
    _refuse_what_is_known(path)
    raise UnknownFormatError(str(path), declined)


def _refuse_what_is_no_file(path: Path) -> None:
    """A pipe gives what it holds once, and finding a format takes a reading; a device need not end at all."""
    try:
        readable = not path.exists() or path.is_file() or path.is_dir()
    except (OSError, ValueError):
        return  # the reading says what is wrong
    if not readable:
        problem = "a pipe or a device, not a file; write what it gives to a file and name that"
        raise RolloutFormatError(str(path), problem)


def _refuse_what_is_known(path: Path) -> None:
    """Say what a file is where it is no log but can be told all the same."""
    if problem := packing(read_bytes(path, 1024)):
        raise RolloutFormatError(str(path), problem)
    schema = outline(read_head(path)).texts.get("schema", "")
    if schema.startswith("likewise."):
        raise RolloutFormatError(str(path), f"no recorded runs: likewise wrote this itself ({schema})")


def _sniffed(path: Path, formats: dict[str, Format]) -> Iterator[tuple[str, str | None]]:
    """What each format says of a file, in the order in which they are asked."""
    head = read_head(path)
    for name, each in formats.items():
        try:
            yield name, each.sniff(head, path)
        except RolloutFormatError:
            raise
        except Exception as error:
            if name in FORMATS:
                raise
            yield name, f"of another package, failed: {type(error).__name__}: {error}"


def claims(path: str | Path) -> dict[str, str | None]:
    """What each format says of a file: None where it would read it, else why not; the first None is the one that does.

    Raises:
        RolloutFormatError: The file cannot be read.
    """
    _refuse_what_is_no_file(Path(path))
    return dict(_sniffed(Path(path), available_formats()))
