"""The twin network: two texts read apart, then compared; NLI both ways and the relation of two actions in one pass.

A cross-encoder reads every ordered pair anew: K answers cost K(K-1) full passes. Here the lower layers read
each text alone (once per text, however many pairs it is in), and only the upper layers see both texts. The
upper layers treat the two texts alike, so one pass answers "does a entail b" and "does b entail a".

Source of the split: Cao et al. 2020, "DeFormer" (arXiv:2005.00697). The symmetric head is ours.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

LABELS = ("entailment", "neutral", "contradiction")
RELATIONS = ("equivalent", "neutral", "contradictory")


@dataclass(frozen=True)
class TwinConfig:
    """Shape of the network; `layers` of a 12-layer MPNet are kept, the first `apart` of them read a text alone."""

    apart: int = 4
    layers: tuple[int, ...] = (0, 1, 2, 3, 5, 7, 9, 11)
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    vocabulary: int = 30527
    positions: int = 514
    buckets: int = 32
    layer_norm_eps: float = 1e-5

    @property
    def together(self) -> int:
        """Layers that see both texts."""
        return len(self.layers) - self.apart


class Layer(nn.Module):
    """One post-norm transformer layer with MPNet's additive attention bias."""

    def __init__(self, config: TwinConfig) -> None:
        """Unfilled weights."""
        super().__init__()
        self.heads = config.heads
        self.q = nn.Linear(config.hidden, config.hidden)
        self.k = nn.Linear(config.hidden, config.hidden)
        self.v = nn.Linear(config.hidden, config.hidden)
        self.o = nn.Linear(config.hidden, config.hidden)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_eps)
        self.up = nn.Linear(config.hidden, config.intermediate)
        self.down = nn.Linear(config.intermediate, config.hidden)
        self.output_norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_eps)

    def forward(self, query: Tensor, context: Tensor, bias: Tensor) -> Tensor:
        """Attend from `query` *(batch, q, hidden)* to `context` *(batch, c, hidden)*; `bias` *(batch, heads, q, c)*."""

        def split(x: Tensor) -> Tensor:
            return x.view(x.shape[0], -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

        q, k, v = split(self.q(query)), split(self.k(context)), split(self.v(context))
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias, dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(query.shape)
        x = self.attention_norm(self.o(mixed) + query)
        return self.output_norm(self.down(nn.functional.gelu(self.up(x))) + x)


class Twin(nn.Module):
    """Reads two texts apart, compares them together, and answers in both directions."""

    def __init__(self, config: TwinConfig) -> None:
        """Unfilled weights; see `from_mpnet` and `load`."""
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.vocabulary, config.hidden)
        self.places = nn.Embedding(config.positions, config.hidden)
        self.embedding_norm = nn.LayerNorm(config.hidden, eps=config.layer_norm_eps)
        self.distance_bias = nn.Embedding(config.buckets, config.heads)
        self.across_bias = nn.Parameter(torch.zeros(config.together, config.heads))
        self.apart = nn.ModuleList(Layer(config) for _ in range(config.apart))
        self.together = nn.ModuleList(Layer(config) for _ in range(config.together))
        self.temperature = 1.0
        self.head, self.action_head = (
            nn.Sequential(nn.Linear(2 * config.hidden, config.hidden), nn.GELU(), nn.Linear(config.hidden, 3))
            for _ in range(2)
        )

    def _distance_bias(self, place: Tensor) -> Tensor:
        """Bias by signed distance between places: *(n,)* -> *(heads, n, n)*, MPNet's 32 buckets."""
        distance = place[:, None] - place[None, :]
        half = self.config.buckets // 2
        side = (distance < 0).long() * half
        distance = distance.abs()
        exact = half // 2
        far = exact + (torch.log(distance.clamp(min=1).float() / exact) / math.log(128 / exact) * (half - exact)).long()
        bucket = side + torch.where(distance < exact, distance, far.clamp(max=half - 1))
        return self.distance_bias(bucket).permute(2, 0, 1)

    def read(self, ids: Tensor, mask: Tensor) -> Tensor:
        """States of each text on its own: ids and mask *(batch, n)* -> *(batch, n, hidden)*."""
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.embedding_norm(self.words(ids) + self.places(place + 2))  # 0 and 1 are not positions in MPNet
        bias = self._distance_bias(place)[None] + (1.0 - mask[:, None, None, :].float()) * -1e4
        for layer in self.apart:
            x = layer(x, x, bias)
        return x

    def compare(self, a: Tensor, mask_a: Tensor, b: Tensor, mask_b: Tensor) -> tuple[Tensor, Tensor]:
        """NLI logits *(batch, 2, 3)*, row 0 with a as premise and row 1 with b; action logits *(batch, 3)*."""
        n_a, n_b = a.shape[1], b.shape[1]
        x = torch.cat([a, b], dim=1)
        hidden = (1.0 - torch.cat([mask_a, mask_b], dim=1)[:, None, None, :].float()) * -1e4
        within_a = self._distance_bias(torch.arange(n_a, device=a.device))
        within_b = self._distance_bias(torch.arange(n_b, device=a.device))
        for i, layer in enumerate(self.together):
            across = self.across_bias[i][:, None, None]
            upper = torch.cat([within_a, across.expand(-1, n_a, n_b)], dim=2)
            lower = torch.cat([across.expand(-1, n_b, n_a), within_b], dim=2)
            bias = torch.cat([upper, lower], dim=1)[None] + hidden
            if i + 1 < len(self.together):
                x = layer(x, x, bias)
            else:  # only the two first tokens are read by the head, so only they are computed
                first = torch.stack([bias[:, :, 0], bias[:, :, n_a]], dim=2)
                x = layer(torch.stack([x[:, 0], x[:, n_a]], dim=1), x, first)
        both = torch.stack([x.flatten(1), x.flip(1).flatten(1)], dim=1)
        return self.head(both), self.action_head(both).mean(dim=1)  # the mean knows no first and second

    def forward(self, ids_a: Tensor, mask_a: Tensor, ids_b: Tensor, mask_b: Tensor) -> tuple[Tensor, Tensor]:
        """Both readings and their comparison; see `compare`."""
        return self.compare(self.read(ids_a, mask_a), mask_a, self.read(ids_b, mask_b), mask_b)

    @classmethod
    def from_mpnet(cls, folder: Path, config: TwinConfig) -> Twin:
        """Take embeddings and the chosen layers of an MPNet checkpoint; the heads start from noise."""
        source = load_file(folder / "model.safetensors")
        source = {name.removeprefix("mpnet."): tensor for name, tensor in source.items()}
        names = {
            "words.weight": "embeddings.word_embeddings.weight",
            "places.weight": "embeddings.position_embeddings.weight",
            "embedding_norm.weight": "embeddings.LayerNorm.weight",
            "embedding_norm.bias": "embeddings.LayerNorm.bias",
            "distance_bias.weight": "encoder.relative_attention_bias.weight",
        }
        parts = {
            "q": "attention.attn.q",
            "k": "attention.attn.k",
            "v": "attention.attn.v",
            "o": "attention.attn.o",
            "attention_norm": "attention.LayerNorm",
            "up": "intermediate.dense",
            "down": "output.dense",
            "output_norm": "output.LayerNorm",
        }
        for place, i in enumerate(config.layers):
            home = f"apart.{place}" if place < config.apart else f"together.{place - config.apart}"
            for ours, theirs in parts.items():
                for leaf in ("weight", "bias"):
                    names[f"{home}.{ours}.{leaf}"] = f"encoder.layer.{i}.{theirs}.{leaf}"
        model = cls(config)
        missing, unexpected = model.load_state_dict(
            {ours: source[theirs] for ours, theirs in names.items()}, strict=False
        )
        if unexpected or any(not name.startswith(("head.", "action_head.", "across_bias")) for name in missing):
            raise ValueError(f"{folder} is not an MPNet checkpoint: missing {missing}, unexpected {unexpected}")
        half = config.buckets // 2
        with torch.no_grad():  # the other text starts as words of the same text stand that are a sentence away
            away = model.distance_bias.weight[[*range(half * 5 // 8, half), *range(half + half * 5 // 8, 2 * half)]]
            model.across_bias.copy_(away.mean(dim=0).expand_as(model.across_bias))
        return model

    def save(self, folder: Path) -> None:
        """Write `model.safetensors` and `config.json` (label order included)."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.state_dict(), folder / "model.safetensors")
        labels = {"id2label": dict(enumerate(LABELS)), "id2relation": dict(enumerate(RELATIONS))}
        config = {"architecture": "twin-nli", **labels, **asdict(self.config)}
        (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Twin:
        """Read what `save` wrote."""
        raw = json.loads((folder / "config.json").read_text())
        known = TwinConfig.__dataclass_fields__
        raw["layers"] = tuple(raw["layers"])
        model = cls(TwinConfig(**{key: value for key, value in raw.items() if key in known}))
        model.load_state_dict(load_file(folder / "model.safetensors"))
        return model
