from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from safetensors.numpy import save

from learned.samples import WIDTH, checkpoint
from likewise.core.errors import CheckpointError
from likewise.learned.checkpoint import JSON_NAME, LARGEST_NUMBER, read_checkpoint, write_arrays, write_checkpoint
from likewise.learned.forward import forward, self_distance


@pytest.fixture
def folder(tmp_path):
    write_checkpoint(checkpoint(), tmp_path / "model")
    return tmp_path / "model"


def change(folder, **facts):
    path = folder / JSON_NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def refused(folder, field):
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(folder)
    assert caught.value.field == field
    return str(caught.value)


def put_arrays(folder, **changes):
    """Weights of another kind, honestly named and digested."""
    whole = checkpoint()
    arrays = {**whole.weights, "references": whole.references, **changes}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    digest, name = write_arrays(arrays, folder)
    change(folder, weights={"file": name, "blake2b": digest})


def test_what_is_written_is_read_back(folder):
    whole, written = read_checkpoint(folder), checkpoint()
    assert {k: v for k, v in whole.facts.items() if k not in ("format", "weights")} == dict(written.facts)
    assert all(np.array_equal(whole.weights[name], array) for name, array in written.weights.items())
    assert np.array_equal(whole.references, written.references)


def test_writing_anew_replaces_the_whole(folder):
    write_checkpoint(checkpoint(seed=1), folder)
    assert len(list(folder.iterdir())) == 2
    assert np.array_equal(read_checkpoint(folder).weights["first.bias"], checkpoint(seed=1).weights["first.bias"])


def test_a_writing_that_fails_leaves_the_old_model(folder):
    before = read_checkpoint(folder).weights["first.bias"]
    with pytest.raises(CheckpointError, match="gamma"):
        write_checkpoint(checkpoint(seed=1, gamma=2.0), folder)
    assert np.array_equal(read_checkpoint(folder).weights["first.bias"], before)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "likewise.rsd_model/0"),
        ("format", None),
        ("state_encoding", 99),
        ("state_text", 7),
        ("gamma", 1.5),
        ("gamma", "0.8"),
        ("heads", True),
        ("width", -1),
        ("alpha", 0),
        ("beta", None),
        ("distance", "cosine"),
        ("length_policy", "guess"),
        ("seen_tasks", "all"),
        ("calibration", 3),
        ("encoder", ""),
        ("judge", 5),
        ("judge", "a\ud800"),
        ("demo", "\x1b[2Jall is well"),
        ("surprise", 1),
    ],
)
def test_facts_that_do_not_fit_are_refused_by_name(folder, field, value):
    change(folder, **{field: value})
    said = refused(folder, field)
    assert str(folder) in said
    assert "expected" in said


def test_a_missing_fact_is_refused_by_name(folder):
    facts = json.loads((folder / JSON_NAME).read_text())
    del facts["n"]
    (folder / JSON_NAME).write_text(json.dumps(facts))
    assert "found nothing" in refused(folder, "n")


@pytest.mark.parametrize(
    "name",
    [
        "../secret.safetensors",
        "/etc/passwd",
        "weights-0.safetensors",
        "model.pkl",
        7,
        "weights-" + "0" * 16 + ".safetensors",
    ],
)
def test_weights_outside_the_folder_or_missing_are_refused(folder, name):
    change(folder, weights={"file": name, "blake2b": "0"})
    refused(folder, "weights.file")


def test_a_changed_byte_is_noticed(folder):
    (path,) = folder.glob("weights-*")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    refused(folder, "weights.blake2b")


def test_a_link_is_not_followed(folder, tmp_path):
    (path,) = folder.glob("weights-*")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    refused(folder, "weights.file")


class Hostile:
    def __reduce__(self):
        raise AssertionError("unpickled")


@pytest.mark.parametrize("content", [b"", b"\xff" * 20, pickle.dumps([1]), b"\xff\xff\xff\xff\xff\xff\xff\x7f{}"])
def test_a_file_that_is_no_safetensors_is_refused_even_with_a_right_digest(folder, content):
    from hashlib import blake2b

    digest = blake2b(content, digest_size=32).hexdigest()
    name = f"weights-{digest[:16]}.safetensors"
    (folder / name).write_bytes(content)
    change(folder, weights={"file": name, "blake2b": digest})
    refused(folder, "weights.file")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"first.bias": np.zeros(5, dtype=np.float32)}, "weights.first.bias"),
        ({"first.bias": np.zeros(512, dtype=np.float64)}, "weights.first.bias"),
        ({"first.bias": np.full(512, np.nan, dtype=np.float32)}, "weights.first.bias"),
        ({"first.bias": np.full(512, 3e38, dtype=np.float32)}, "weights.first.bias"),
        ({"first.bias": None}, "weights.first.bias"),
        ({"extra": np.zeros(1, dtype=np.float32)}, "weights.extra"),
        ({"references": None}, "weights.references"),
        ({"references": np.zeros((1, 3), dtype=np.float32)}, "weights.references"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(folder, changes, field):
    put_arrays(folder, **changes)
    refused(folder, field)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"gamma": NaN}', "[" * 100_000, "\x00", '"a"', '{"gamma": 0.8, "gamma": 0.9}']
)
def test_json_that_is_none_is_refused(folder, text):
    (folder / JSON_NAME).write_text(text)
    refused(folder, "file")


def test_the_largest_numbers_that_are_read_still_give_a_number():
    """One layer's output is squared in 32 bits, and 512 and 256 of them are summed: 1e6 leaves room, 1e30 would not."""
    whole = checkpoint()
    weights = {name: np.full(array.shape, LARGEST_NUMBER, dtype=np.float32) for name, array in whole.weights.items()}
    weights["first.weight"][::2] *= -1  # else the norm of the first layer makes all of it zero
    with np.errstate(all="raise", under="ignore"):
        found = self_distance(forward(weights, np.ones((1, WIDTH), dtype=np.float32)), 0.5)
    assert np.isfinite(found).all()
    assert found.max() > 1e30


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    assert "no such file" in refused(tmp_path, "file")


def test_nothing_here_knows_how_to_unpickle():
    from pathlib import Path

    import likewise.learned

    for path in Path(likewise.learned.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert "import pickle" not in text
        assert "torch.load" not in text
        assert "allow_pickle" not in text


def test_arrays_are_named_by_their_digest(tmp_path):
    digest, name = write_arrays({"a": np.ones(2, dtype=np.float32)}, tmp_path)
    assert name == f"weights-{digest[:16]}.safetensors"
    assert (tmp_path / name).read_bytes() == save({"a": np.ones(2, dtype=np.float32)})
