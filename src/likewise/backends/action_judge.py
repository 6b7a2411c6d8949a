"""The embedded judge: the relation of two texts as actions, weighed from what three witnesses say.

The twin network gives NLI both ways and a relation of its own (backends/onnx_nli.py), the sentence encoder a cosine,
the surface shared words, values and speech acts (backends/action_features.py). A multinomial logistic regression,
fitted by tools/nli/fit_head.py and shipped as JSON, makes one relation and its probability of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64

from likewise.backends.action_features import FEATURES, action_features
from likewise.backends.onnx_encoder import OnnxEncoder, embedded_encoder
from likewise.backends.onnx_nli import Comparison, OnnxNli, embedded_nli
from likewise.backends.onnx_session import file_digest
from likewise.core.errors import BackendError
from likewise.core.labels import Entailment, Judgement, Relation
from likewise.core.protocols import Judge, ProgressTask

__all__ = ["WITNESSES", "ActionJudge", "are_other_names", "embedded_judge", "witness_features"]

CHUNK = 128
"""Pairs whose texts are encoded together."""
VECTORS = 20_000
"""Vectors kept, of about 1.5 kB each; a text stands in many pairs."""
LEAST = 1e-4
"""Probabilities below this are not told apart: beyond it their logarithms say more than the network knows."""

NAME_WORDS = 3
"""Words of an answer that may be nothing but a name ("Paris", "Ada Lovelace"): the network knows sentences."""
_WORD = re.compile(r"\w+")
_ASSENT = frozenset(("yes", "yeah", "sure", "ok", "okay", "right", "correct", "certainly", "absolutely", "done"))

WITNESSES = (
    *(f"network-{relation.name.lower()}" for relation in Relation),
    *(f"{side}-{label.name.lower()}" for label in Entailment for side in ("least", "most")),
    "cosine",
    *FEATURES,
)
"""Names of everything the head weighs, in order."""


def witness_features(comparison: Comparison, cosine: float, a: str, b: str) -> Float64[np.ndarray, " witnesses"]:
    """What the head weighs for one pair; the same whichever text comes first.

    Args:
        comparison: What the network says.
        cosine: Of the two texts' vectors.
        a: One text.
        b: The other.

    Returns:
        One number for each of WITNESSES; probabilities as natural logarithms.
    """
    directions = np.array([comparison.forward, comparison.backward])
    sides = np.stack([directions.min(axis=0), directions.max(axis=0)], axis=1).ravel()
    logs = np.log(np.maximum([*comparison.relation, *sides], LEAST))
    return np.concatenate([logs, [cosine], action_features(a, b)])


def are_other_names(a: str, b: str) -> bool:
    """Whether two texts are of so few words that they may be names, and share none: then nothing makes them alike."""
    first, second = (set(_WORD.findall(text[:200].casefold())) for text in (a, b))
    few = 0 < len(first) <= NAME_WORDS and 0 < len(second) <= NAME_WORDS and max(len(a), len(b)) <= 200
    return few and not first & second and not (first | second) & _ASSENT


class _Head:
    """The regression: standardised features -> probabilities of the three relations.

    Its logits are divided by a temperature that held-out labels gave (Guo et al. 2017, arXiv:1706.04599, section 4.2):
    that moves no relation, only how sure the head is.
    """

    def __init__(self, path: Path) -> None:
        try:
            raw = json.loads(path.read_text())
            names = tuple(raw["features"])
            self._mean, self._scale, self._bias = (np.array(raw[k], dtype=float) for k in ("mean", "scale", "bias"))
            self._weights, self._temperature = np.array(raw["weights"], dtype=float), float(raw["temperature"])
            shapes = [part.shape for part in (self._weights, self._bias, self._mean, self._scale)]
            if shapes != [(len(Relation), len(names)), (len(Relation),), (len(names),), (len(names),)]:
                raise ValueError("weights, bias, mean or scale of the wrong shape")
            if not (np.isfinite(self._weights).all() and np.isfinite(self._bias).all() and (self._scale > 0).all()):
                raise ValueError("weights or bias not finite, or a scale not above 0")
            if not 0 < self._temperature < float("inf"):
                raise ValueError("a temperature not above 0")
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise BackendError(f"{path}: not the head of an action judge ({problem!r})") from problem
        if names != WITNESSES:
            unlike = sorted(set(names) ^ set(WITNESSES)) or ["their order"]
            raise BackendError(f"{path}: fitted on other features than this version has: {', '.join(unlike)}")

    def probabilities(self, features: Float64[np.ndarray, " witnesses"]) -> tuple[float, float, float]:
        """Of equivalent, neutral, contradictory."""
        logits = (self._weights @ ((features - self._mean) / self._scale) + self._bias) / self._temperature
        shares = np.exp(logits - logits.max())
        equivalent, neutral, contradictory = (shares / shares.sum()).tolist()
        return (equivalent, neutral, contradictory)


class ActionJudge:
    """A judge of the relation of two actions' texts; symmetric."""

    def __init__(self, network: OnnxNli, encoder: OnnxEncoder, head: Path) -> None:
        """Take the witnesses and the file that weighs them.

        Raises:
            BackendError: The head's file is missing, broken, or fitted on other features.
        """
        self._network, self._encoder, self._path = network, encoder, head
        self._head = _Head(head)
        self._vectors: dict[str, Float32[np.ndarray, " dimensions"]] = {}

    @cached_property
    def judge_id(self) -> str:
        """`embedded-`, a digest of network, encoder and head, and the version of the rule for names."""
        network, encoder = self._network.judge_id.removeprefix("nli-"), self._encoder.encoder_id.rpartition("-")[2]
        return f"embedded-{network}-{encoder}-{file_digest(self._path)}-2"

    @property
    def directed(self) -> Judge:
        """The network's NLI alone, for what has a direction: a passage supports a sentence that says less."""
        return self._network

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order; see core.protocols.Judge. Both directions carry the relation's probabilities."""
        for start in range(0, len(pairs), CHUNK):
            chunk = pairs[start : start + CHUNK]
            for pair, comparison in zip(chunk, self._network.compare(chunk), strict=True):
                shares = self._head.probabilities(witness_features(comparison, self._cosine(pair, chunk), *pair))
                if are_other_names(*pair):
                    shares = (
                        0.0,
                        shares[Relation.EQUIVALENT] + shares[Relation.NEUTRAL],
                        shares[Relation.CONTRADICTORY],
                    )
                yield Judgement(Relation(int(np.argmax(shares))), shares, shares, "nli")
                if progress is not None:
                    progress.advance()

    def _cosine(self, pair: tuple[str, str], chunk: Sequence[tuple[str, str]]) -> float:
        """Of the vectors of a pair; what its chunk lacks is encoded in one go, on all cores."""
        if any(text not in self._vectors for text in pair):
            if len(self._vectors) > VECTORS:
                self._vectors.clear()
            missing = [text for text in dict.fromkeys(chain.from_iterable(chunk)) if text not in self._vectors]
            self._vectors.update(zip(missing, self._encoder.encode(missing), strict=True))
        return float(self._vectors[pair[0]] @ self._vectors[pair[1]])


def embedded_judge(workers: int | None = None) -> ActionJudge:
    """The judge that ships inside the package; `workers` as in `OnnxNli`."""
    with as_file(files("likewise.models") / "nli") as folder:
        return ActionJudge(embedded_nli(workers), embedded_encoder(workers), folder / "action_head.json")
