"""A learned metric on disk: one JSON file that says all about it, and one safetensors file with its arrays.

The JSON names the weights file and its digest and is replaced last: a reader sees the old model or the new one, never a
mixture. Everything is checked before it is used, and refused by the name of the field: a checkpoint may come from
anywhere. Nothing in it is code, and nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from likewise.core.errors import CheckpointError
from likewise.core.state_text import STATE_TEXT_VERSION
from likewise.learned.fields import check_fields
from likewise.learned.forward import weight_shapes
from likewise.learned.state_encoding import STATE_ENCODING_VERSION

__all__ = [
    "FORMAT",
    "JSON_NAME",
    "Checkpoint",
    "read_arrays",
    "read_checkpoint",
    "read_json",
    "replace_file",
    "write_arrays",
    "write_checkpoint",
]

FORMAT = "likewise.rsd_model/1"
JSON_NAME = "model.json"
LARGEST_JSON = 4_000_000
LARGEST_ARRAYS = 1_000_000_000
"""Bytes of the two files; a model of 4,096-dimensional embeddings with 5 heads and 512 references has 60 MB."""
LARGEST_NUMBER = 1e6
"""Of an array; up to here no layer of the network can overflow, so every score is a number."""
REFERENCES = "references"
_FILE_NAME = re.compile(r"weights-[0-9a-f]{16}\.safetensors")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A learned metric as it is stored.

    Attributes:
        facts: Everything about it by name; see `fields.FIELDS`.
        weights: Arrays of the network.
        references: States of the training tasks, which later states are compared with.
        path: Folder it was read from; "" for a new one.
    """

    facts: Mapping[str, Any]
    weights: Mapping[str, np.ndarray]
    references: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    path: str = ""


def write_checkpoint(checkpoint: Checkpoint, folder: str | Path) -> None:
    """Write a model into a folder, made if need be; one that is there is replaced as a whole.

    Raises:
        CheckpointError: A fact is missing or wrong.
        OSError: It cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    digest, name = write_arrays({**checkpoint.weights, REFERENCES: checkpoint.references}, folder)
    facts = {**checkpoint.facts, "format": FORMAT, "weights": {"file": name, "blake2b": digest}}
    check_fields(facts, str(folder / JSON_NAME))
    replace_file(folder / JSON_NAME, (json.dumps(facts, indent=2, allow_nan=False) + "\n").encode())
    for other in folder.glob("weights-*.safetensors"):
        if other.name != name and _FILE_NAME.fullmatch(other.name):
            other.unlink(missing_ok=True)


def read_checkpoint(folder: str | Path) -> Checkpoint:
    """Read a model and check all of it.

    Raises:
        CheckpointError: It is missing, broken, of another kind or version, or does not fit itself; names the field.
    """
    folder = Path(folder)
    path = folder / JSON_NAME
    facts = read_json(path)
    _expect(path, "format", FORMAT, facts.get("format"))
    check_fields(facts, str(path))
    _expect(path, "state_encoding", STATE_ENCODING_VERSION, facts["state_encoding"])
    _expect(path, "state_text", STATE_TEXT_VERSION, facts["state_text"])
    arrays = read_arrays(folder, facts["weights"], str(path))
    references = arrays.pop(REFERENCES, None)
    shapes = weight_shapes(facts["width"], facts["heads"])
    _check_arrays(arrays, shapes, path)
    if references is None or references.ndim != 2 or references.shape[1] != facts["width"] or not len(references):
        found = "nothing" if references is None else f"shape {references.shape}"
        raise CheckpointError(str(path), f"weights.{REFERENCES}", f"rows of {facts['width']} numbers", found)
    return Checkpoint(facts, arrays, references, str(folder))


def _expect(path: Path, name: str, expected: object, found: object) -> None:
    if found != expected:
        raise CheckpointError(str(path), name, repr(expected), repr(found)[:200])


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file that may be anything.

    Raises:
        CheckpointError: It is missing, too large, or no JSON object.
    """
    if not path.is_file():
        raise CheckpointError(str(path), "file", "a model folder with model.json in it", "no such file")
    if path.stat().st_size > LARGEST_JSON:
        raise CheckpointError(str(path), "file", f"at most {LARGEST_JSON:,} bytes", f"{path.stat().st_size:,}")
    try:
        facts = json.loads(path.read_bytes(), parse_constant=_no_constant, object_pairs_hook=_no_double)
    except (ValueError, RecursionError) as problem:
        raise CheckpointError(str(path), "file", "JSON", f"{type(problem).__name__}: {problem}"[:200]) from None
    if not isinstance(facts, dict):
        raise CheckpointError(str(path), "file", "a JSON object", type(facts).__name__)
    return facts


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _no_double(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two equal names they take; ours takes neither."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def write_arrays(arrays: Mapping[str, np.ndarray], folder: Path) -> tuple[str, str]:
    """Write arrays under a name made of their digest; the digest and the name."""
    from safetensors.numpy import save

    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    digest = blake2b(content, digest_size=32).hexdigest()
    name = f"weights-{digest[:16]}.safetensors"
    if not (folder / name).exists():
        replace_file(folder / name, content)
    return digest, name


def read_arrays(folder: Path, entry: Any, where: str) -> dict[str, np.ndarray]:  # noqa: ANN401 - anything from JSON
    """The arrays that a `weights` entry names, once their digest is right.

    Raises:
        CheckpointError: Names the part that is wrong.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    name = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name):
        raise CheckpointError(where, "weights.file", "weights-<16 hex digits>.safetensors", repr(name)[:100])
    path = folder / name
    if not path.is_file() or path.is_symlink():
        raise CheckpointError(where, "weights.file", f"the file {name} beside it", "none, or a link")
    if path.stat().st_size > LARGEST_ARRAYS:
        raise CheckpointError(where, "weights.file", f"at most {LARGEST_ARRAYS:,} bytes", f"{path.stat().st_size:,}")
    content = path.read_bytes()
    digest = blake2b(content, digest_size=32).hexdigest()
    if entry.get("blake2b") != digest:
        raise CheckpointError(where, "weights.blake2b", digest, repr(entry.get("blake2b"))[:80])
    try:
        arrays: dict[str, np.ndarray] = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as problem:
        raise CheckpointError(where, "weights.file", "a safetensors file", str(problem)[:200]) from None
    for key, array in arrays.items():
        if array.dtype != np.float32:
            raise CheckpointError(where, f"weights.{key[:60]}", "numbers of 32 bits (F32)", str(array.dtype))
        if not np.isfinite(array).all():
            raise CheckpointError(where, f"weights.{key[:60]}", "finite numbers", "NaN or infinity")
        if array.size and np.abs(array).max() > LARGEST_NUMBER:
            expected = f"numbers of at most {LARGEST_NUMBER:g} in size"
            raise CheckpointError(where, f"weights.{key[:60]}", expected, f"{np.abs(array).max():g}")
    return arrays


def _check_arrays(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]], path: Path) -> None:
    for name in sorted(shapes.keys() | arrays.keys()):
        expected = f"shape {shapes[name]}" if name in shapes else "no such array"
        found = f"shape {arrays[name].shape}" if name in arrays else "none"
        if name not in shapes or name not in arrays or arrays[name].shape != shapes[name]:
            raise CheckpointError(str(path), f"weights.{name[:60]}", expected, found)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: temporary file beside it, fsync, rename."""
    temporary = path.with_name(f".likewise-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
