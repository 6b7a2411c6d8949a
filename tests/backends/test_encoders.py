from __future__ import annotations

import pytest

from likewise.backends.encoders import encoder_from_name
from likewise.core.errors import BackendError


@pytest.mark.parametrize("name", ["", "embedded:x", "hf:", "openai:", "word2vec", "llm:x"])
def test_refuses_a_name_that_means_nothing(name):
    with pytest.raises(ValueError, match="no encoder"):
        encoder_from_name(name)


def test_an_address_goes_with_an_endpoint_only():
    with pytest.raises(ValueError, match="has no endpoint"):
        encoder_from_name("embedded", "http://localhost:1")


def test_a_provider_without_a_key_says_which(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(BackendError, match="set OPENAI_API_KEY"):
        encoder_from_name("openai:text-embedding-3-small")


@pytest.mark.model
def test_the_embedded_encoder_gives_unit_vectors():
    encoder = encoder_from_name("embedded")
    assert (encoder.encode(["a"]) ** 2).sum() == pytest.approx(1.0, abs=1e-5)
