"""Where the pairs of a labelling stream come from: recorded runs, and files with a pair of texts a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import IO, Final

from likewise.backends.call_text import parse_call_text
from likewise.backends.remote_files import copied_here, is_address, open_address
from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.group import RolloutGroup, group_rollouts
from likewise.core.protocols import Progress, no_progress
from likewise.core.rollout import Action, Excluded, JsonValue, Rollout
from likewise.formats.registry import read_rollouts
from likewise.formats.text_pairs import TextPairFile, pair_fields
from likewise.scoring.label_stream import SourcePair

__all__ = ["SCOPE_LINES", "LabelInput", "file_pairs", "group_pairs", "label_input", "pairs_in_group"]

SCOPE_LINES: Final = 4096
"""Lines of a file of pairs that may settle each other (`Labeller.by_classes`): a file has no tasks to part it."""


def group_pairs(group: RolloutGroup) -> Iterator[SourcePair]:
    """The actions of each pair of valid rollouts at each turn that both have; the scope is the group."""
    for first, second in combinations(group.valid, 2):
        runs: list[JsonValue] = [first.run_id, second.run_id]
        for turn, (a, b) in enumerate(zip(first.actions, second.actions, strict=False)):
            yield SourcePair(a, b, {"task": group.task_id, "runs": runs, "turn": turn}, ("task", group.task_id))


def pairs_in_group(group: RolloutGroup) -> int:
    """How many pairs `group_pairs` gives."""
    lengths = sorted(group.lengths)  # each is the shorter one against those that follow
    return sum(length * (len(lengths) - 1 - i) for i, length in enumerate(lengths))


def file_pairs(file: TextPairFile) -> Iterator[SourcePair]:
    """The pairs of a file; a text that spells calls, as in `name({"key": 1})`, is read as those calls."""
    for first, second, line in file:
        place: dict[str, JsonValue] = {"file": file.path, "line": line}
        yield SourcePair(_action(first), _action(second), place, (file.path, line // SCOPE_LINES))


def _action(text: str) -> Action:
    return parse_call_text(text) or Action(text)


@dataclass(slots=True)
class LabelInput:
    """Everything whose pairs are to be labelled: runs grouped by task, then files of pairs.

    Attributes:
        groups: Runs of one task each.
        files: Files with a pair of texts a line.
        excluded: Records of runs that could not be read, and why.
        warnings: What else the user should know of the runs.
    """

    groups: list[RolloutGroup] = field(default_factory=list)
    files: list[TextPairFile] = field(default_factory=list)
    excluded: tuple[Excluded, ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[SourcePair]:
        """All pairs, repeats included."""
        for group in self.groups:
            yield from group_pairs(group)
        for file in self.files:
            yield from file_pairs(file)

    def count(self) -> int | None:
        """How many pairs there are, at most; None where that cannot be told without using them up (a pipe)."""
        if not all(file.rereadable for file in self.files):
            return None
        return sum(map(pairs_in_group, self.groups)) + sum(file.count_lines() for file in self.files)

    @property
    def rollouts(self) -> Iterator[Rollout]:
        """All runs, for what their logs say of their tools."""
        return (rollout for group in self.groups for rollout in group.rollouts)

    @property
    def excluded_count(self) -> int:
        """Records and lines left out so far; complete when all pairs have been read."""
        return len(self.excluded) + sum(file.excluded_lines for file in self.files)


@contextmanager
def label_input(
    paths: Sequence[str],
    *,
    format: str | None = None,
    mapping: Path | None = None,
    strict: bool = False,
    progress: Progress = no_progress,
) -> Iterator[LabelInput]:
    """Open what holds pairs, told apart by content: recorded runs (files, folders), files with a pair of texts a line.

    A path may be an address (`s3://bucket/key`); runs at addresses are copied for the time of the context, pairs are
    read from where they are. What is no regular file (a pipe) is taken for pairs, because it can be read only once.

    Args:
        paths: Files, folders of runs, addresses.
        format: Everything is runs in this format.
        mapping: Everything is runs, read by this mapping.
        strict: Raise instead of excluding a record or a line.
        progress: Display of the reading of runs.

    Raises:
        RolloutFormatError: A file cannot be read.
        UnknownFormatError: A file holds neither pairs nor runs of a known format.
        GroupError: A run id occurs twice within a task.
        MissingExtraError: A path is an address, and fsspec is not installed.
        BackendError: An address cannot be read.
    """
    found = LabelInput()
    runs: list[str] = []
    for path in paths:
        file = _pair_file(path, strict) if format is None and mapping is None else None
        if file is None:
            runs.append(path)
        else:
            found.files.append(file)
    with copied_here([path for path in runs if is_address(path)]) as copies:
        places = [Path(path) for path in runs if not is_address(path)] + list(copies)
        if places:
            with _named_as_given(copies):
                read = read_rollouts(places, format=format, mapping=mapping, strict=strict, progress=progress)
            found.groups, found.excluded = group_rollouts(read), read.excluded
            found.warnings = tuple(_named(warning, copies) for warning in read.warnings)
        yield found


def _pair_file(path: str, strict: bool) -> TextPairFile | None:
    """The file at a path if it holds pairs of texts."""
    if is_address(path):
        opener: Callable[[], IO[bytes]] = partial(open_address, path)
    elif Path(path).is_dir():
        return None
    else:
        opener = partial(_opened, path)
        if Path(path).exists() and not Path(path).is_file():
            return TextPairFile(path, opener, strict, rereadable=False)
    return TextPairFile(path, opener, strict) if pair_fields(path, opener) else None


def _opened(path: str) -> IO[bytes]:
    return Path(path).open("rb")


@contextmanager
def _named_as_given(copies: Mapping[Path, str]) -> Iterator[None]:
    """Errors name the address, not its copy."""
    try:
        yield
    except (RolloutFormatError, UnknownFormatError) as error:
        error.path = _named(error.path, copies)
        raise


def _named(text: str, copies: Mapping[Path, str]) -> str:
    for copy, address in copies.items():
        text = text.replace(str(copy), address)
    return text
