"""The forward pass of a tiny Qwen2 in NumPy, with a cache of keys and values that grows row by row.

A network this small spends its time in the library around it, not in its sums: a token costs a tenth of what it costs
through the library's modules. A test compares every logit with theirs.

Rows have lengths of their own: new tokens are one flat list with the row and the place of each, so nothing is padded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

__all__ = ["TinyForward"]

_GROWS = 64
"""Places that the cache gets more of at a time."""


class TinyForward:
    """Rows of conversations under way, and the logits after the last token of each."""

    def __init__(self, model: Any, rows: int) -> None:  # noqa: ANN401 - a model
        """Take the weights of a Qwen2 as they are now (shared, not copied), and so many empty rows."""
        config = model.config
        self._w = {name: value.detach().numpy() for name, value in model.state_dict().items()}
        self._layers, self._epsilon = config.num_hidden_layers, config.rms_norm_eps
        self._kv = config.num_key_value_heads
        self._shared = config.num_attention_heads // self._kv
        self._head = self._w["model.layers.0.self_attn.q_proj.weight"].shape[0] // config.num_attention_heads
        theta = config.rope_parameters["rope_theta"]
        self._frequency = theta ** (-np.arange(0, self._head, 2, dtype=np.float32) / self._head)
        self._length = np.zeros(rows, dtype=np.int64)
        shape = (self._layers, 2, rows, _GROWS, self._kv, self._head)
        self._cache: Float32[np.ndarray, "layers two rows places heads head"] = np.zeros(shape, dtype=np.float32)

    def feed(self, rows: Sequence[int], new: Sequence[Sequence[int]]) -> Float32[np.ndarray, "rows vocabulary"]:
        """Append tokens to rows, at least one to each; the logits after the last of each."""
        counts = np.array([len(tokens) for tokens in new], dtype=np.int64)
        row = np.repeat(np.array(rows, dtype=np.int64), counts)
        ends = counts.cumsum()
        within = np.arange(len(row)) - np.repeat(ends - counts, counts)
        place = self._length[row] + within
        self._length[rows] += counts
        self._grow(int(place.max()) + 1)
        ids = np.array([token for tokens in new for token in tokens], dtype=np.int64)
        x = self._w["model.embed_tokens.weight"][ids]
        turns = place[:, None].astype(np.float32) * self._frequency
        cosine, sine = np.cos(turns)[:, None], np.sin(turns)[:, None]
        for layer in range(self._layers):
            x = self._layer(layer, x, row, place, cosine, sine)
        last = self._norm(x[ends - 1], "model.norm.weight")
        head = self._w.get("lm_head.weight", self._w["model.embed_tokens.weight"])
        return np.asarray(last @ head.T, dtype=np.float32)

    def _grow(self, places: int) -> None:
        missing = places - self._cache.shape[3]
        if missing > 0:
            more = -(-missing // _GROWS) * _GROWS
            self._cache = np.pad(self._cache, [(0, 0)] * 3 + [(0, more)] + [(0, 0)] * 2)

    def _norm(self, x: Float32[np.ndarray, "tokens hidden"], name: str) -> Float32[np.ndarray, "tokens hidden"]:
        scale = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self._epsilon)
        return np.asarray(x / scale * self._w[name], dtype=np.float32)

    def _layer(
        self,
        layer: int,
        x: Float32[np.ndarray, "tokens hidden"],
        row: Int64[np.ndarray, " tokens"],
        place: Int64[np.ndarray, " tokens"],
        cosine: Float32[np.ndarray, "tokens 1 half"],
        sine: Float32[np.ndarray, "tokens 1 half"],
    ) -> Float32[np.ndarray, "tokens hidden"]:
        name = f"model.layers.{layer}."
        y = self._norm(x, name + "input_layernorm.weight")
        q, k, v = (self._project(y, f"{name}self_attn.{part}_proj") for part in "qkv")
        keys, values = self._cache[layer]
        keys[row, place], values[row, place] = _rotate(k, cosine, sine), v
        x = (
            x
            + self._attend(_rotate(q, cosine, sine), keys, values, row, place)
            @ self._w[name + "self_attn.o_proj.weight"].T
        )
        y = self._norm(x, name + "post_attention_layernorm.weight")
        gate, up = y @ self._w[name + "mlp.gate_proj.weight"].T, y @ self._w[name + "mlp.up_proj.weight"].T
        return np.asarray(x + (gate / (1 + np.exp(-gate)) * up) @ self._w[name + "mlp.down_proj.weight"].T)

    def _project(self, y: Float32[np.ndarray, "tokens hidden"], name: str) -> Float32[np.ndarray, "tokens heads head"]:
        flat = y @ self._w[name + ".weight"].T + self._w[name + ".bias"]
        return np.asarray(flat.reshape(len(y), -1, self._head))

    def _attend(
        self,
        q: Float32[np.ndarray, "tokens heads head"],
        keys: Float32[np.ndarray, "rows places kv head"],
        values: Float32[np.ndarray, "rows places kv head"],
        row: Int64[np.ndarray, " tokens"],
        place: Int64[np.ndarray, " tokens"],
    ) -> Float32[np.ndarray, "tokens hidden"]:
        """Causal attention of each token over its row; each key serves several heads."""
        seen = int(place.max()) + 1
        mine = keys[row, :seen].transpose(0, 2, 3, 1)
        grouped = q.reshape(len(q), self._kv, self._shared, self._head)
        scores = grouped @ mine / np.float32(np.sqrt(self._head))
        ahead = np.arange(seen) > place[:, None]
        scores = np.where(ahead[:, None, None], np.float32(-np.inf), scores)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = weights @ values[row, :seen].transpose(0, 2, 1, 3)
        return np.asarray(mixed.reshape(len(q), -1))


def _rotate(
    x: Float32[np.ndarray, "tokens heads head"],
    cosine: Float32[np.ndarray, "tokens 1 half"],
    sine: Float32[np.ndarray, "tokens 1 half"],
) -> Float32[np.ndarray, "tokens heads head"]:
    """Rotary positions: the two halves of a head are the coordinates of its planes."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
