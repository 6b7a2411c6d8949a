from __future__ import annotations

import json

from likewise.core.group import LengthPolicy
from likewise.core.signature import Signature

SIGNATURE = Signature(version="0.1.0", judge="nli-1", rules="rules-1", encoder="enc-1", state_text=1)
TEXT = (
    "likewise:0.1.0|judge:nli-1|rules:rules-1|encoder:enc-1|state_text:1|distance:hard|gamma:0.8"
    "|length_policy:absorb|interval:95%|resamples:2000|seed:0"
)


def test_a_signature_is_one_line_that_names_everything_that_moves_a_number():
    assert str(SIGNATURE) == TEXT


def test_every_field_changes_the_text():
    changes = {
        "version": "0.2.0",
        "judge": "other",
        "rules": "other",
        "encoder": "other",
        "state_text": 2,
        "distance": "soft",
        "gamma": 0.9,
        "length_policy": LengthPolicy.TRUNCATE,
        "interval": "90%",
        "resamples": 10,
        "seed": 1,
    }
    fields = {key: value for key, value in SIGNATURE.as_json().items() if key != "text"}
    assert changes.keys() == fields.keys()
    texts = {str(Signature(**(fields | {key: value}))) for key, value in changes.items()}
    assert len(texts | {TEXT}) == len(changes) + 1


def test_a_signature_is_plain_json_with_its_line():
    written = json.loads(json.dumps(SIGNATURE.as_json()))
    assert written["text"] == TEXT
    assert written["length_policy"] == "absorb"
