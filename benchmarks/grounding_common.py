"""What the two benchmarks of grounding share: witnesses that read each pair once, and how they are scored.

What the network said is kept in build/grounding.sqlite, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from likewise.backends.action_judge import ActionJudge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.onnx_nli import Comparison, OnnxNli, embedded_nli
from likewise.core.labels import Judgement
from likewise.metrics.resampling import jackknife_estimate

KEPT = Path(__file__).parent.parent / "build" / "grounding.sqlite"
AT_ONCE = 64
"""Pairs after which answers are written down."""


class _Network:
    """The network, asked for each pair once: items of one source share most of their sentences."""

    def __init__(self, network: OnnxNli) -> None:
        self.network, self.known = network, dict[tuple[str, str], Comparison]()
        KEPT.parent.mkdir(exist_ok=True)
        self._file = sqlite3.connect(KEPT, timeout=60)
        self._file.execute("CREATE TABLE IF NOT EXISTS said (judge, a, b, answer, PRIMARY KEY (judge, a, b))")
        rows = self._file.execute("SELECT a, b, answer FROM said WHERE judge = ?", (self.judge_id,))
        self.known.update(((a, b), Comparison(*map(tuple, json.loads(answer)))) for a, b, answer in rows)

    @property
    def judge_id(self) -> str:
        return self.network.judge_id

    def compare(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Comparison]:
        missing = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            fresh = list(zip(part, self.network.compare(part), strict=True))
            self.known.update(fresh)
            rows = [(self.judge_id, *pair, json.dumps(astuple(said))) for pair, said in fresh]
            with self._file:
                self._file.executemany("INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?)", rows)
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


def balanced(
    truth: Sequence[bool], said: Sequence[bool], units: Sequence[object], other: Sequence[bool] | None = None
) -> dict[str, float | None]:
    """Balanced accuracy of `said`, with a 95% interval: jackknife over units, whose items are not independent.

    Args:
        truth: Whether each item is so.
        said: What was said of it.
        units: The source, or the task, that each item is of; of one alone there is no interval.
        other: What another says of the same items; given, it is by how much `said` is more accurate.
    """
    kept, group = np.array(truth), np.array([hash(unit) for unit in units])
    right = (np.array(said) == kept).astype(float)
    if other is not None:
        right -= np.array(other) == kept

    def value(among: np.ndarray) -> float:
        return float(np.mean([right[among & (kept == label)].mean() for label in (True, False)]))

    everything = np.ones(len(kept), dtype=bool)
    if len(np.unique(group)) < 2:
        return {"value": round(value(everything), 3), "low": None, "high": None}
    without_each = np.array([value(group != unit) for unit in np.unique(group)])
    found = jackknife_estimate(value(everything), without_each, (0.0 if other is None else -1.0, 1.0))
    return {
        name: None if number is None else round(number, 3)
        for name, number in (("value", found.value), ("low", found.low), ("high", found.high))
    }


def overlap(answer: str, source: str) -> float:
    """Share of the answer's words that the source holds."""
    words, known = (set(re.findall(r"\w+", text.casefold())) for text in (answer, source))
    return len(words & known) / (len(words) or 1)
