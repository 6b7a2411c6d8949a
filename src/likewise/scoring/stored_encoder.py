"""An encoder that reads no text twice: its vectors are read from the label store, and written there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from likewise.backends.label_store import LabelStore
from likewise.backends.vector_table import VectorTable
from likewise.core.protocols import Encoder

__all__ = ["StoredEncoder"]


@dataclass(frozen=True, slots=True)
class StoredEncoder:
    """An encoder and its store; gives what the encoder alone would give, to the last bit.

    Attributes:
        encoder: Asked where the store has no vector.
        store: Remembers between processes; None for no memory.
    """

    encoder: Encoder
    store: LabelStore | None = None

    @property
    def encoder_id(self) -> str:
        """That of the encoder."""
        return self.encoder.encoder_id

    def encode(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dimensions"]:
        """One unit vector a text; see core.protocols.Encoder."""
        if self.store is None:
            return self.encoder.encode(texts)
        table, distinct = VectorTable(self.store), list(dict.fromkeys(texts))
        known = table.get_many(self.encoder_id, distinct)
        missing = [text for text in distinct if text not in known]
        if missing:
            made = dict(zip(missing, self.encoder.encode(missing), strict=True))
            table.put_many(self.encoder_id, made)
            known |= made
        return np.stack([known[text] for text in texts])
