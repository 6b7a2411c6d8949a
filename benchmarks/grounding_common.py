"""What the two benchmarks of grounding share: witnesses that read each pair once, and how they are scored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files

import numpy as np

from likewise.backends.action_judge import ActionJudge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.onnx_nli import Comparison, OnnxNli, embedded_nli
from likewise.core.labels import Judgement
from likewise.metrics.resampling import wilson_interval


class _Network:
    """The network, asked for each pair once: items of one source share most of their sentences."""

    def __init__(self, network: OnnxNli) -> None:
        self.network, self.known = network, dict[tuple[str, str], Comparison]()

    @property
    def judge_id(self) -> str:
        return self.network.judge_id

    def compare(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Comparison]:
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        self.known.update(zip(missing, self.network.compare(missing), strict=True))
        return iter([self.known[pair] for pair in pairs])

    def judge(self, pairs: Sequence[tuple[str, str]], progress: object = None) -> Iterator[Judgement]:
        for comparison in self.compare(pairs):
            yield Judgement.from_nli(comparison.forward, comparison.backward)


class _Encoder:
    def __init__(self) -> None:
        self.encoder, self.known = embedded_encoder(), dict[str, np.ndarray]()
        self.encoder_id = self.encoder.encoder_id

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        missing = [text for text in dict.fromkeys(texts) if text not in self.known]
        if missing:
            self.known.update(zip(missing, self.encoder.encode(missing), strict=True))
        return np.stack([self.known[text] for text in texts])


class Kept:
    """The embedded network, encoder and action judge; each text pair is compared once for all of them."""

    def __init__(self) -> None:
        """Load them."""
        self.network, self.encoder = _Network(embedded_nli()), _Encoder()
        with as_file(files("likewise.models") / "nli") as folder:
            self.action = ActionJudge(self.network, self.encoder, folder / "action_head.json")


def directed(kept: Kept) -> _Network:
    """The judge that reads (passage, sentence) as premise and hypothesis."""
    return kept.network


def balanced(truth: Sequence[bool], said: Sequence[bool]) -> dict[str, float]:
    """Balanced accuracy of `said`, with a 95% interval: Wilson on each class, half widths combined."""
    rates, halves = [], []
    for label in (True, False):
        hits = [s == label for t, s in zip(truth, said, strict=True) if t == label]
        low, high = wilson_interval(sum(hits), len(hits))
        rates.append(float(np.mean(hits)))
        halves.append((high - low) / 2)
    value, half = float(np.mean(rates)), float(np.hypot(*halves)) / 2
    return {"value": round(value, 3), "low": round(max(value - half, 0), 3), "high": round(min(value + half, 1), 3)}


def overlap(answer: str, source: str) -> float:
    """Share of the answer's words that the source holds."""
    words, known = (set(re.findall(r"\w+", text.casefold())) for text in (answer, source))
    return len(words & known) / (len(words) or 1)
