"""The embedded judge: a twin NLI network as int8 ONNX, on the CPU, offline.

Each text is read once, however many pairs it is in; one comparison then answers both directions
(tools/nli/twin.py has the network). Texts beyond the window are compared sentence by sentence.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int64

from likewise.backends.onnx_session import file_digest, load_session, load_tokenizer, side_by_side
from likewise.backends.sentences import LongText, aggregate
from likewise.core.errors import BackendError
from likewise.core.labels import Entailment, Judgement
from likewise.core.protocols import ProgressTask

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["OnnxNli", "embedded_judge"]

CHUNK = 16
"""Pairs settled between two progress steps."""
STATE_BYTES = 256 * 2**20
"""Memory for read texts; older ones are read again when needed."""
CLASSES = {"entailment": Entailment.ENTAILS, "neutral": Entailment.NEUTRAL, "contradiction": Entailment.CONTRADICTS}

States = Float32[np.ndarray, "1 tokens hidden"]


class OnnxNli:
    """A judge over a folder that tools/nli/export.py wrote."""

    def __init__(self, folder: Path) -> None:
        """Load tokenizer and label order.

        Raises:
            BackendError: A file is missing, broken, or its labels cannot be mapped.
        """
        try:
            config = json.loads((folder / "config.json").read_text())
            self._order = [list(config["labels"]).index(name) for name in CLASSES]
            self._window = int(config["window"])
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise BackendError(f"{folder / 'config.json'}: not the config of an NLI judge ({problem!r})") from problem
        self._folder = folder
        self._tokenizer = load_tokenizer(folder / "tokenizer.json")
        self._states: OrderedDict[str, States] = OrderedDict()
        self._state_bytes = 0

    # The graphs load when the first pair is judged: a run that the label store answers needs neither.
    @cached_property
    def _read(self) -> onnxruntime.InferenceSession:
        return load_session(self._folder / "read.onnx")

    @cached_property
    def _compare(self) -> onnxruntime.InferenceSession:
        return load_session(self._folder / "compare.onnx")

    @cached_property
    def judge_id(self) -> str:
        """`embedded-` and a digest of graphs and config."""
        names = ("read.onnx", "compare.onnx", "config.json", "tokenizer.json")
        return f"embedded-{file_digest(*(self._folder / name for name in names))}"

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order, both directions; see core.protocols.Judge."""
        _ = self._read, self._compare  # loaded here once, not by whichever thread comes first
        for start in range(0, len(pairs), CHUNK):
            chunk = pairs[start : start + CHUNK]
            split = {text: LongText(text, self._ids, self._window) for pair in chunk for text in pair}
            needed: dict[tuple[str, str], None] = {}
            for first, second in chunk:
                for part in split[first].comparisons(split[second]):
                    needed[part] = None
            self._read_all([text for part in needed for text in part])
            parts = dict(zip(needed, side_by_side(self._probabilities, needed), strict=True))
            self._forget()
            for first, second in chunk:
                yield Judgement.from_nli(*aggregate(split[first], split[second], parts))
                if progress is not None:
                    progress.advance()

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def _read_all(self, texts: Sequence[str]) -> None:
        for text in texts:
            if text in self._states:
                self._states.move_to_end(text)
        missing = [text for text in dict.fromkeys(texts) if text not in self._states]
        ids: list[Int64[np.ndarray, "1 tokens"]] = [np.array([self._ids(text)], dtype=np.int64) for text in missing]
        for text, states in zip(missing, side_by_side(self._read_one, ids), strict=True):
            self._states[text] = states
            self._state_bytes += states.nbytes

    def _read_one(self, ids: Int64[np.ndarray, "1 tokens"]) -> States:
        (states,) = self._read.run(None, {"ids": ids})
        return np.asarray(states, dtype=np.float32)

    def _probabilities(self, pair: tuple[str, str]) -> Float32[np.ndarray, "2 3"]:
        (raw,) = self._compare.run(None, {"a": self._states[pair[0]], "b": self._states[pair[1]]})
        return np.asarray(raw, dtype=np.float32)[:, self._order]

    def _forget(self) -> None:
        while self._state_bytes > STATE_BYTES:
            _, states = self._states.popitem(last=False)
            self._state_bytes -= states.nbytes


def embedded_judge() -> OnnxNli:
    """The judge that ships inside the package."""
    with as_file(files("likewise.models") / "nli") as folder:
        return OnnxNli(folder)
