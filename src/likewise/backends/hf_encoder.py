"""An encoder made of any sentence-transformers model: a local folder, or a model of the Hugging Face hub."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from likewise.core.errors import BackendError, MissingExtraError

__all__ = ["HfEncoder"]


class HfEncoder:
    """An encoder over sentence-transformers; loads safetensors only, and no code of the model's own."""

    def __init__(self, name: str) -> None:
        """Load the model.

        Args:
            name: Folder, or organisation/model of the hub.

        Raises:
            MissingExtraError: sentence-transformers is not installed.
            BackendError: There is no such model, or it cannot be loaded.
        """
        try:
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found, unused-ignore]
        except ImportError as problem:
            raise MissingExtraError("a Hugging Face encoder", "hf") from problem
        try:
            self._model = SentenceTransformer(
                name, device="cpu", trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
        except Exception as problem:  # the library and the hub raise many classes
            raise BackendError(f"hf:{name}: cannot be loaded as an encoder ({str(problem)[:300]})") from problem
        self._name = name

    @cached_property
    def encoder_id(self) -> str:
        """`hf-`, the model's name, and a digest of its weights."""
        digest = blake2b(digest_size=4)
        for key, tensor in sorted(self._model.state_dict().items()):
            digest.update(key.encode() + np.ascontiguousarray(tensor.detach().cpu().float().numpy()).tobytes())
        return f"hf-{re.sub(r'[^A-Za-z0-9._@-]', '-', Path(self._name).name)}-{digest.hexdigest()}"

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dimensions"]:
        """One unit vector a text; texts go one at a time, so that none moves another's vector by its padding."""
        rows = [
            self._model.encode([text], normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True)[0]
            for text in texts
        ]
        return np.asarray(rows, dtype=np.float32)
