"""The embedded sentence encoder: all-MiniLM-L6-v2 as int8 ONNX, on the CPU, offline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int64

from likewise.backends.onnx_session import file_digest, load_session, load_tokenizer, side_by_side
from likewise.core.errors import BackendError

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer

__all__ = ["OnnxEncoder", "embedded_encoder"]

WINDOW = 256
"""Tokens read at once; the vector of a longer text is the mean over its windows, weighted by tokens."""


class OnnxEncoder:
    """An encoder over a folder that tools/nli/export_encoder.py wrote."""

    def __init__(self, folder: Path, workers: int | None = None) -> None:
        """Look for graph and tokenizer; they load with the first text.

        Args:
            folder: The weights.
            workers: Cores to use; all usable ones where None. Vectors do not depend on it.

        Raises:
            BackendError: A file is missing.
        """
        self._folder, self._workers = folder, workers
        for path in (folder / "tokenizer.json", folder / "encoder.onnx"):
            if not path.is_file():
                raise BackendError(f"{path}: no such file; name a folder that holds an exported encoder")

    # A run whose texts the label store knows needs neither.
    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_tokenizer(self._folder / "tokenizer.json")

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        return load_session(self._folder / "encoder.onnx")

    @cached_property
    def encoder_id(self) -> str:
        """`all-MiniLM-L6-v2-` and a digest of graph and tokenizer."""
        digest = file_digest(self._folder / "encoder.onnx", self._folder / "tokenizer.json")
        return f"all-MiniLM-L6-v2-{digest}"

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dimensions"]:
        """One unit vector a text; see core.protocols.Encoder.

        Raises:
            BackendError: Graph or tokenizer is broken.
        """
        _ = self._session  # loaded here once, not by whichever thread comes first
        distinct = list(dict.fromkeys(texts))
        ids = [self._tokenizer.encode(text).ids for text in distinct]
        vectors = dict(zip(distinct, side_by_side(self._encode_one, ids, self._workers), strict=True))
        return np.stack([vectors[text] for text in texts])

    def _encode_one(self, ids: list[int]) -> Float32[np.ndarray, " dimensions"]:
        inner = ids[1:-1]
        windows = [inner[i : i + WINDOW - 2] for i in range(0, max(len(inner), 1), WINDOW - 2)]
        total = np.zeros(0, dtype=np.float32)
        for window in windows:
            row: Int64[np.ndarray, "1 tokens"] = np.array([[ids[0], *window, ids[-1]]], dtype=np.int64)
            (sentence,) = self._session.run(None, {"ids": row})
            total = sentence[0] * row.size + (total if total.size else 0.0)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def embedded_encoder(workers: int | None = None) -> OnnxEncoder:
    """The encoder that ships inside the package; `workers` as in `OnnxEncoder`."""
    with as_file(files("likewise.models") / "encoder") as folder:
        return OnnxEncoder(folder, workers)
