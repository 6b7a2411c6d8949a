"""The twin network as int8 ONNX, on the CPU, offline: NLI both ways, and the relation of two texts as actions.

Each text is read once, however many pairs it is in; one comparison then answers everything (tools/nli/twin.py has
the network). Texts beyond the window are compared sentence by sentence.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int64

from likewise.backends.onnx_session import file_digest, load_session, load_tokenizer, side_by_side, usable_cores
from likewise.backends.sentences import LongText, aggregate
from likewise.core.errors import BackendError
from likewise.core.labels import Entailment, Judgement
from likewise.core.protocols import ProgressTask

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["Comparison", "OnnxNli", "embedded_nli"]

CHUNK = 32
"""Pairs settled together for each core: no core waits long for another at the end of so many."""
CHUNK_CHARACTERS = 100_000
"""Characters of the texts of a chunk, each text once: what bounds its memory where texts are long."""
TOKENISED = 2048
"""Texts whose tokens are kept: whether a text fits the window is asked before it is read."""
STATE_BYTES = 256 * 2**20
"""Memory for read texts; older ones are read again when needed."""
CLASSES = {"entailment": Entailment.ENTAILS, "neutral": Entailment.NEUTRAL, "contradiction": Entailment.CONTRADICTS}

States = Float32[np.ndarray, "1 tokens hidden"]
Outputs = tuple[Float32[np.ndarray, "2 3"], Float32[np.ndarray, "3"]]
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the network says of two texts.

    Attributes:
        forward: Probabilities of (entails, neutral, contradicts) with the first as premise.
        backward: The same with the second as premise.
        relation: Probabilities of (equivalent, neutral, contradictory), of the texts as actions. Of texts that had to
            be split it is made of the two directions, since the parts of an action are no actions.
    """

    forward: Triple
    backward: Triple
    relation: Triple

    @classmethod
    def of_parts(cls, forward: Triple, backward: Triple) -> Comparison:
        """Of two texts compared part by part: equivalent is both ways entailed, contradictory either way denied."""
        contradictory = max(forward[Entailment.CONTRADICTS], backward[Entailment.CONTRADICTS])
        equivalent = min(forward[Entailment.ENTAILS], backward[Entailment.ENTAILS], 1.0 - contradictory)
        return cls(forward, backward, (equivalent, 1.0 - contradictory - equivalent, contradictory))


class OnnxNli:
    """The network in a folder that tools/nli/export.py wrote; as a judge, by its NLI alone."""

    def __init__(self, folder: Path, workers: int | None = None) -> None:
        """Load tokenizer and label order.

        Args:
            folder: The weights.
            workers: Cores to use; all usable ones where None. Answers do not depend on it.

        Raises:
            BackendError: A file is missing, broken, or its labels cannot be mapped.
        """
        try:
            config = json.loads((folder / "config.json").read_text())
            self._order = [list(config["labels"]).index(name) for name in CLASSES]
            self._window = int(config["window"])
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise BackendError(f"{folder / 'config.json'}: not the config of an NLI judge ({problem!r})") from problem
        self._folder, self._workers = folder, workers or usable_cores()
        self._tokenizer = load_tokenizer(folder / "tokenizer.json")
        self._tokens = lru_cache(maxsize=TOKENISED)(lambda text: np.array(self._ids(text), dtype=np.int64))
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
        """`nli-` and a digest of graphs and config."""
        names = ("read.onnx", "compare.onnx", "config.json", "tokenizer.json")
        return f"nli-{file_digest(*(self._folder / name for name in names))}"

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order, by Def. 1 from both directions; see core.protocols.Judge."""
        for comparison in self.compare(pairs):
            yield Judgement.from_nli(comparison.forward, comparison.backward)
            if progress is not None:
                progress.advance()

    def compare(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Comparison]:
        """What the network says of each pair, in order; it does not depend on the pairs beside it."""
        _ = self._read, self._compare  # loaded here once, not by whichever thread comes first
        for chunk in _chunks(pairs, CHUNK * self._workers):
            texts = dict.fromkeys(text for pair in chunk for text in pair)
            split = {text: LongText(text, self._tokens, self._window) for text in texts}
            parts = [split[first].comparisons(split[second]) for first, second in chunk]
            needed = dict.fromkeys(part for comparisons in parts for part in comparisons)
            self._read_all([text for part in needed for text in part])
            answers = zip(needed, side_by_side(self._probabilities, needed, self._workers), strict=True)
            known: dict[tuple[str, str], Outputs] = {}
            for (first, second), comparisons in zip(chunk, parts, strict=True):
                while not all(part in known for part in comparisons):
                    part, outputs = next(answers)
                    known[part] = outputs
                yield _comparison(split[first], split[second], {part: known[part] for part in comparisons})
            self._forget()

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def _read_all(self, texts: Sequence[str]) -> None:
        for text in texts:
            if text in self._states:
                self._states.move_to_end(text)
        # Longest first: what is left for the end of the chunk is then short, and no core waits long.
        missing = sorted((t for t in dict.fromkeys(texts) if t not in self._states), key=len, reverse=True)
        ids: list[Int64[np.ndarray, "1 tokens"]] = [self._tokens(text)[np.newaxis] for text in missing]
        for text, states in zip(missing, side_by_side(self._read_one, ids, self._workers), strict=True):
            self._states[text] = states
            self._state_bytes += states.nbytes

    def _read_one(self, ids: Int64[np.ndarray, "1 tokens"]) -> States:
        (states,) = self._read.run(None, {"ids": ids})
        return np.asarray(states, dtype=np.float32)

    def _probabilities(self, pair: tuple[str, str]) -> Outputs:
        nli, relation = self._compare.run(None, {"a": self._states[pair[0]], "b": self._states[pair[1]]})
        return np.asarray(nli, dtype=np.float32)[:, self._order], np.asarray(relation, dtype=np.float32)

    def _forget(self) -> None:
        while self._state_bytes > STATE_BYTES:
            _, states = self._states.popitem(last=False)
            self._state_bytes -= states.nbytes


def _comparison(first: LongText, second: LongText, known: dict[tuple[str, str], Outputs]) -> Comparison:
    directions = aggregate(first, second, {part: nli for part, (nli, _) in known.items()})
    whole = (first.units[0], second.units[0])
    if len(first.units) == len(second.units) == 1 and whole in known:
        equivalent, neutral, contradictory = known[whole][1].tolist()
        return Comparison(*directions, (equivalent, neutral, contradictory))
    return Comparison.of_parts(*directions)


def _chunks(pairs: Sequence[tuple[str, str]], most: int) -> Iterator[Sequence[tuple[str, str]]]:
    """Parts of at most `most` pairs and, if of more than one, about CHUNK_CHARACTERS of text."""
    start, texts, characters = 0, set[str](), 0
    for i, pair in enumerate(pairs):
        more = sum(len(text) for text in {*pair} - texts)
        if i > start and (i - start >= most or characters + more > CHUNK_CHARACTERS):
            yield pairs[start:i]
            start, texts, characters = i, set(), 0
            more = sum(map(len, {*pair}))
        texts.update(pair)
        characters += more
    if start < len(pairs):
        yield pairs[start:]


def embedded_nli(workers: int | None = None) -> OnnxNli:
    """The network that ships inside the package; `workers` as in `OnnxNli`."""
    with as_file(files("likewise.models") / "nli") as folder:
        return OnnxNli(folder, workers)
