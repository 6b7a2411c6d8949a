"""A judge made of any Hugging Face NLI cross-encoder: a local folder, or a model of the hub.

Both directions of each pair are asked, as true text pairs. Label order comes from the model's config, and six canned
pairs are put to it at load (backends.nli_check).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32

from likewise.backends.hf_network import Row, load_network, weight_files
from likewise.backends.nli_check import check_answers, label_order
from likewise.backends.onnx_session import file_digest, load_tokenizer, side_by_side
from likewise.backends.sentences import LongText, aggregate
from likewise.core.errors import BackendError, MissingExtraError
from likewise.core.labels import Judgement
from likewise.core.protocols import ProgressTask

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["HfNli", "hf_judge"]

CHUNK = 256
"""Pairs settled between two progress steps."""
TOKEN_BUDGET = 4_096
"""Tokens of one batch, padding included; a batch holds rows of nearly one length."""
LONGEST_WINDOW = 512
"""Tokens of a pair read at once, whatever more a model claims: NLI models are trained on short texts."""
WHOLE = 10**9

_OFFSET_POSITIONS = ("roberta", "mpnet", "camembert", "longformer")  # positions count from pad_token_id + 1
_HUB_NAME = re.compile(r"[\w][\w.-]*(?:/[\w][\w.-]*)?(?:@[\w./-]+)?")
_HUB_TEXT = ["config.json", "tokenizer*", "special_tokens_map.json", "vocab*", "merges.txt", "*.model"]


class HfNli:
    """A judge over a folder with config.json, a tokenizer and weights (safetensors or an ONNX graph)."""

    def __init__(self, folder: Path, name: str | None = None, *, check: bool = True) -> None:
        """Load the model and put the canned pairs to it.

        Args:
            folder: As `save_pretrained` or an ONNX export writes it.
            name: What to call it; the folder's name where None.
            check: Whether to refuse a model that fails the canned pairs; without, only its pace can be believed.

        Raises:
            BackendError: A file is missing or broken, the classes cannot be mapped, or the self-test fails.
            MissingExtraError: PyTorch or transformers are needed and not installed.
        """
        config = _read_json(folder / "config.json")
        self._folder, self._name = folder, name or folder.resolve().name
        self._order = list(label_order(config.get("id2label"), str(folder / "config.json")))
        weight_files(folder)
        self._tokenizer = _tokenizer(folder)
        self._special = self._tokenizer.num_special_tokens_to_add(True)
        self._window = _window(config, folder)
        self._network = load_network(folder, config)
        if check:
            check_answers(f"hf:{self._name}", self._classify)

    @cached_property
    def judge_id(self) -> str:
        """`hf-`, the model's name, and a digest of weights, config and tokenizer."""
        others = [path for name in ("config.json", "tokenizer.json") if (path := self._folder / name).exists()]
        return f"hf-{re.sub(r'[^A-Za-z0-9._@-]', '-', self._name)}-{file_digest(*weight_files(self._folder), *others)}"

    def judge(self, pairs: Sequence[tuple[str, str]], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order, both directions; see core.protocols.Judge."""
        for start in range(0, len(pairs), CHUNK):
            chunk = pairs[start : start + CHUNK]
            lengths = {text: self._length(text) for text in dict.fromkeys(text for pair in chunk for text in pair)}
            split = [self._split(first, second, lengths) for first, second in chunk]
            needed = dict.fromkeys(part for first, second in split for part in first.comparisons(second))
            ordered = dict.fromkeys(row for a, b in needed for row in ((a, b), (b, a)))
            rows = dict(zip(ordered, self._classify(list(ordered)), strict=True))
            parts = {(a, b): np.stack([rows[a, b], rows[b, a]]) for a, b in needed}
            for first, second in split:
                yield Judgement.from_nli(*aggregate(first, second, parts))
                if progress is not None:
                    progress.advance()

    def _length(self, text: str) -> int:
        return len(self._ids(text))

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(_clean(text), add_special_tokens=False).ids
        return ids

    def _split(self, first: str, second: str, lengths: dict[str, int]) -> tuple[LongText, LongText]:
        """Both texts whole where they fit the window together, else each in units of at most half of it."""
        fits = lengths[first] + lengths[second] + self._special <= self._window
        unit = WHOLE if fits else (self._window - self._special) // 2
        return LongText(first, self._ids, unit), LongText(second, self._ids, unit)

    def _classify(self, pairs: Sequence[tuple[str, str]]) -> Float32[np.ndarray, "pairs 3"]:
        """Probabilities (entails, neutral, contradicts) of ordered pairs, batched by length."""
        encoded = self._tokenizer.encode_batch([(_clean(first), _clean(second)) for first, second in pairs])
        rows: list[Row] = [(one.ids, one.type_ids) for one in encoded]
        batches = list(_batches([len(ids) for ids, _ in rows], 0 if self._network.alone else TOKEN_BUDGET))
        asked = ([rows[i] for i in batch] for batch in batches)
        run = side_by_side if self._network.side_by_side else map
        probabilities = np.zeros((len(rows), 3), dtype=np.float32)
        for batch, scores in zip(batches, run(self._network.score, asked), strict=True):
            powers = np.exp(np.float64(scores - scores.max(axis=1, keepdims=True)))
            probabilities[batch] = (powers / powers.sum(axis=1, keepdims=True))[:, self._order]
        return probabilities


def hf_judge(name: str) -> HfNli:
    """The judge of a local folder, or of a model of the hub (`organisation/model`, with `@revision` if wanted).

    Raises:
        BackendError: There is no such folder, the hub does not give the model, or the model is refused.
        MissingExtraError: A library is not installed.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return HfNli(folder)
    if folder.exists():
        raise BackendError(f"{name}: is a file; name the folder that holds config.json and the weights")
    if not _HUB_NAME.fullmatch(name):
        raise BackendError(f"{name}: no such folder, and no name of a model on the hub (organisation/model)")
    return HfNli(_from_hub(name), name)


def _from_hub(name: str) -> Path:
    """The folder of a model of the hub, downloaded where it is not yet; an ONNX graph is preferred."""
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as problem:
        raise MissingExtraError("models of the Hugging Face hub", "hf") from problem
    model, _, revision = name.partition("@")
    try:
        files = HfApi().list_repo_files(model, revision=revision or None)
        graph = next((path for path in ("model.onnx", "onnx/model.onnx") if path in files), None)
        weights = [f"{graph}*"] if graph else ["*.safetensors", "*.safetensors.index.json"]
        return Path(snapshot_download(model, revision=revision or None, allow_patterns=[*_HUB_TEXT, *weights]))
    except Exception as problem:  # every class of network and hub failure
        try:  # what was fetched before serves without the hub
            return Path(snapshot_download(model, revision=revision or None, local_files_only=True))
        except Exception:
            lines = str(problem).strip().splitlines() or [""]
        raise BackendError(
            f"hf:{name}: no such folder, and the hub does not give it ({type(problem).__name__}: {lines[0]}); "
            "check the name, or download the model and name its folder"
        ) from problem


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise BackendError(f"{path}: not the config of a model ({problem})") from problem
    if not isinstance(content, dict):
        raise BackendError(f"{path}: not the config of a model (no object)")
    return content


def _tokenizer(folder: Path) -> Tokenizer:
    if (folder / "tokenizer.json").is_file():
        return load_tokenizer(folder / "tokenizer.json")
    try:
        from transformers import AutoTokenizer
    except ImportError as problem:
        raise MissingExtraError(f"{folder} without tokenizer.json", "hf") from problem
    try:
        tokenizer: Tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_fast=True
        ).backend_tokenizer
    except Exception as problem:  # whatever a tokenizer's files can set off
        raise BackendError(
            f"{folder}: no tokenizer that can be loaded ({type(problem).__name__}: {problem})"
        ) from problem
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _window(config: dict[str, Any], folder: Path) -> int:
    """Tokens of a pair that the model can read at once."""
    sizes = [LONGEST_WINDOW]
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and positions > 0:
        offset = any(name in str(config.get("model_type", "")) for name in _OFFSET_POSITIONS)
        sizes.append(positions - (int(config.get("pad_token_id") or 0) + 1 if offset else 0))
    path = folder / "tokenizer_config.json"
    if path.is_file():
        longest = _read_json(path).get("model_max_length")
        if isinstance(longest, int | float) and longest > 0:
            sizes.append(int(min(longest, LONGEST_WINDOW)))
    if min(sizes) < 16:
        raise BackendError(f"{folder}: a window of {min(sizes)} tokens is too short for pairs of texts")
    return min(sizes)


def _clean(text: str) -> str:
    """Tokenizers read UTF-8, which has no place for halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Rows by length, in batches of at most `budget` tokens with their padding; at least one row each."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if batch and (len(batch) + 1) * lengths[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
