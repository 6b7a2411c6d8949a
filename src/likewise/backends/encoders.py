"""The encoders there are, by name."""

from __future__ import annotations

from likewise.backends.onnx_encoder import embedded_encoder
from likewise.core.protocols import Encoder

__all__ = ["FORMS", "encoder_from_name"]

FORMS = {
    "embedded": "the sentence encoder in the package: offline, English",
    "hf:FOLDER": "a sentence-transformers model: a local folder, or organisation/model of the Hugging Face hub",
    "openai:MODEL": "an OpenAI-compatible embeddings endpoint: agents' texts are sent there",
    "cohere:MODEL": "Cohere's embeddings endpoint: agents' texts are sent there",
}


def encoder_from_name(name: str, url: str | None = None) -> Encoder:
    """The encoder that a name means.

    Args:
        name: One of the forms in `FORMS`.
        url: Base URL of an endpoint; its own where None.

    Raises:
        ValueError: No encoder has such a name.
        BackendError: The encoder cannot be loaded.
        MissingExtraError: A library that it needs is not installed.
    """
    kind, colon, rest = name.strip().partition(":")
    if url is not None and kind not in ("openai", "cohere"):
        raise ValueError(f"{name!r} has no endpoint; --encoder-url goes with openai:MODEL or cohere:MODEL")
    if kind == "embedded" and not colon:
        return embedded_encoder()
    if kind == "hf" and rest:
        from likewise.backends.hf_encoder import HfEncoder

        return HfEncoder(rest)
    if kind in ("openai", "cohere") and rest:
        from likewise.backends.http_encoder import HttpEncoder

        return HttpEncoder(kind, rest, url)
    raise ValueError(f"no encoder {name!r}; there are {', '.join(FORMS)}")
