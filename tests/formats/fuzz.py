"""Mutates log files and reads them: whatever the bytes, reading ends in rollouts, in Excluded or in an error of ours.

Used by test_fuzz.py on small files made here, and by benchmarks/fuzz_formats.py on real ones.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.core.errors import LikewiseError
from likewise.formats.native import rollout_lines
from likewise.formats.registry import FORMATS, stream_rollouts
from likewise.formats.summary import Tally

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

STRANGE: list[Any] = [
    None, True, False, -1, 0, 1e308, -1e-308, 10**30, float("nan"), float("inf"), "", " ", "x" * 300, "\ud800", "\x00",
    "\udfff\x00\u202e", "[]", "{}", '{"a": [1', "9" * 5_000, [], {}, [[]], [{}], [None], {"": None}, {"type": {}},
]  # fmt: skip
SKIPPED = frozenset({".md", ".txt"})


@dataclass(frozen=True)
class Seed:
    """A file to start from."""

    name: str
    """What it is called; its suffix counts."""
    data: bytes


def seeds_of(folder: Path) -> list[Seed]:
    """Every file of a folder of samples, small ones as they are, long ones by their first 300 kB of values."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("NOTICE"))
    return [Seed(path.name, _shortened(path)) for path in files if path.suffix not in SKIPPED]


def _shortened(path: Path) -> bytes:
    """A list of runs of megabytes is no better a start than its first runs, and slower."""
    data = path.read_bytes()
    if len(data) < 300_000 or path.suffix != ".json":
        return data
    value = json.loads(data)
    for holder, key in ((value, None), (value, "simulations"), (value, "samples")):
        items = holder if key is None else holder.get(key) if isinstance(holder, dict) else None
        if isinstance(items, list) and len(items) > 3:
            value = items[:3] if key is None else {**holder, key: items[:3]}
            break
    return json.dumps(value).encode()


def mutated(seed: Seed, chance: random.Random) -> tuple[str, bytes]:
    """The seed with something wrong, and what was done to it."""
    if seed.data[:2] == b"PK" and chance.random() < 0.7:
        return _mutated_archive(seed.data, chance)
    how, change = chance.choice(_BYTES + (_VALUES * 2 if _values(seed.data) is not None else []))
    data = change(seed.data, chance)
    if chance.random() < 0.05:
        pack = chance.choice([gzip.compress, zstd.compress])
        how, data = f"{how}, {pack.__module__}", pack(data)[: chance.choice([None, -1, -9, 20])]
    return how, data


# Bytes


def _flip(data: bytes, chance: random.Random) -> bytes:
    flipped = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 8, 100])):
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
    return bytes(flipped)


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def _drop(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.choice([1, 10, 1_000, 50_000]) :]


def _double(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data))
    return data[:start] + data[start : start + chance.choice([1, 50, 5_000])] * 3 + data[start:]


def _insert(data: bytes, chance: random.Random) -> bytes:
    what = chance.choice(
        [b"\x00", b"\xff", b"\n", b"\r", b'"', b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\\ud800", b"NaN", b",,", b"9" * 5]
    )
    start = chance.randrange(len(data))
    return data[:start] + what * chance.choice([1, 3, 1_000]) + data[start:]


def _deepen(data: bytes, chance: random.Random) -> bytes:
    places = [index for index in range(len(data) - 1) if data[index : index + 1] in b":[,"] or [0]
    at = chance.choice(places) + 1
    opening, closing = chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
    depth = chance.choice([50, 900, 20_000, 100_000])
    tail = b"1" + closing * depth + b"," if chance.random() < 0.5 else b""
    return data[:at] + opening * depth + tail + data[at:]


def _other_text(data: bytes, chance: random.Random) -> bytes:
    encoding = chance.choice(["utf-16", "utf-16-le", "utf-32", "latin-1"])
    return data.decode("utf-8", "replace").encode(encoding, "replace")


_BYTES: list[tuple[str, Callable[[bytes, random.Random], bytes]]] = [
    ("flip", _flip), ("cut", _cut), ("drop bytes", _drop), ("double", _double), ("insert", _insert),
    ("deepen", _deepen), ("encoding", _other_text),
]  # fmt: skip


# Values


def _values(data: bytes) -> list[Any] | None:
    """The JSON values of a file, one or one a line; None where it is no JSON."""
    try:
        return [json.loads(data)]
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return None


def _written(values: list[Any], data: bytes) -> bytes:
    lines = [json.dumps(value).encode() for value in values]
    return b"\n".join(lines) + (b"\n" if len(lines) > 1 or data.endswith(b"\n") else b"")


def _places(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Each container inside the values with each of its keys, without recursion."""
    waiting: list[Any] = [values]
    while waiting:
        container = waiting.pop()
        for key, inner in list(container.items() if isinstance(container, dict) else enumerate(container)):
            yield container, key
            if isinstance(inner, dict | list):
                waiting.append(inner)


def _changed(times: int, change: Callable[[Any, Any, random.Random], None]) -> Callable[[bytes, random.Random], bytes]:
    def _change(data: bytes, chance: random.Random) -> bytes:
        values = _values(data) or []
        for _ in range(times):
            places = list(_places(values))
            if not places:
                break
            change(*chance.choice(places), chance)
        return _written(values, data)

    return _change


def _swap(container: Any, key: Any, chance: random.Random) -> None:
    container[key] = copy.deepcopy(chance.choice(STRANGE))  # a later change must not change what is strange


def _delete(container: Any, key: Any, _: random.Random) -> None:
    del container[key]


def _rename(container: Any, key: Any, chance: random.Random) -> None:
    if isinstance(container, dict):
        container[chance.choice(["", "id", "x" * 200, f"{key}s", "\x00"])] = container.pop(key)


def _repeat(container: Any, key: Any, chance: random.Random) -> None:
    if isinstance(container, list):
        container.extend([container[key]] * chance.choice([1, 3, 50]))


def _shuffle(container: Any, key: Any, chance: random.Random) -> None:
    if isinstance(container, list):
        chance.shuffle(container)
    else:
        container[key] = [container[key]]


def _graft(container: Any, key: Any, chance: random.Random) -> None:
    """Put a container into a place inside itself, once."""
    container[key] = json.loads(json.dumps(container)) if len(json.dumps(container)) < 20_000 else {}


_VALUES: list[tuple[str, Callable[[bytes, random.Random], bytes]]] = [
    ("swap", _changed(1, _swap)), ("swap 5", _changed(5, _swap)), ("delete", _changed(1, _delete)),
    ("delete 10", _changed(10, _delete)), ("rename", _changed(2, _rename)), ("repeat", _changed(2, _repeat)),
    ("shuffle", _changed(2, _shuffle)), ("graft", _changed(1, _graft)),
]  # fmt: skip


# Archives


def _mutated_archive(data: bytes, chance: random.Random) -> tuple[str, bytes]:
    """The archive packed anew with one member changed, renamed, written twice or left out."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    which = chance.randrange(len(members))
    name, content = members[which]
    how = chance.choice(["member", "member", "member", "rename", "twice", "without"])
    if how == "member" and content:
        inner, content = mutated(Seed(name, content), chance)
        how, members[which] = f"member: {inner}", (name, content)
    elif how == "rename":
        members[which] = (
            chance.choice(["../x.json", "/x", "samples/", "samples/x.json", "samples/a/sample.json"]),
            content,
        )
    elif how == "twice":
        members.append((name, content[: len(content) // 2]))
    else:
        del members[which]
    target = io.BytesIO()
    with zipfile.ZipFile(
        target, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    ) as zipped:
        for member, packed in members:
            with warnings.catch_warnings(action="ignore"):  # a name that is there twice is what is wanted
                zipped.writestr(zipfile.ZipInfo(member), packed)
    return how, target.getvalue()


# Reading


def read(path: Path, chance: random.Random) -> str:
    """Read a file as `inspect` and `convert` do; what came of it. Any error but one of ours goes through."""
    forced = chance.choice(list(FORMATS)) if chance.random() < 0.15 else None
    tally = Tally()
    try:
        stream = stream_rollouts(path, format=forced, strict=chance.random() < 0.1)

        def passed() -> Iterator[Any]:
            for rollout in stream:
                tally.add(rollout)
                yield rollout

        for line in rollout_lines(passed(), path):
            assert line.endswith("\n")
        json.dumps(tally.summary(stream))
    except LikewiseError as error:
        return "error of ours" if str(error) else "error without words"
    return "read" if stream.files else "excluded"
