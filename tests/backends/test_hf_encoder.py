from __future__ import annotations

import subprocess
import sys

MISSING = """
import sys
sys.modules["sentence_transformers"] = None
from likewise.backends.hf_encoder import HfEncoder
from likewise.core.errors import MissingExtraError
try:
    HfEncoder("some/model")
except MissingExtraError as problem:
    print(problem)
"""


def test_without_the_library_the_line_to_type_is_given():
    answer = subprocess.run([sys.executable, "-c", MISSING], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "a Hugging Face encoder needs an extra: pip install 'likewise[hf]'"


WITH_A_LIBRARY = """
import sys, types
import numpy as np
class SentenceTransformer:
    def __init__(self, name, **options):
        assert options["trust_remote_code"] is False
        assert options["model_kwargs"] == {"use_safetensors": True}
        if name == "missing":
            raise OSError("no such model")
    def state_dict(self):
        return {}
    def encode(self, texts, **options):
        assert options["normalize_embeddings"] and len(texts) == 1
        return np.array([[1.0, 0.0]])
sys.modules["sentence_transformers"] = types.SimpleNamespace(SentenceTransformer=SentenceTransformer)
from likewise.backends.hf_encoder import HfEncoder
from likewise.core.errors import BackendError
encoder = HfEncoder("org/model name")
print(encoder.encoder_id, encoder.encode(["a", "b"]).shape)
try:
    HfEncoder("missing")
except BackendError as problem:
    print(problem)
"""


def test_it_asks_for_safetensors_and_no_code_and_names_what_cannot_be_loaded():
    answer = subprocess.run(
        [sys.executable, "-c", WITH_A_LIBRARY], capture_output=True, text=True, check=True, timeout=60
    )
    first, second = answer.stdout.splitlines()
    assert first.startswith("hf-model-name-")
    assert first.endswith("(2, 2)")
    assert second == "hf:missing: cannot be loaded as an encoder (no such model)"
