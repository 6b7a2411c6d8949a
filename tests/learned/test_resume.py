from __future__ import annotations

import json

import numpy as np
import pytest

from learned.samples import WIDTH
from likewise.core.errors import CheckpointError
from likewise.learned.network import start_weights
from likewise.learned.options import FitOptions
from likewise.learned.resume import NAME, TrainingFolder
from likewise.learned.train import Look, Snapshot


def snapshot(step=20, seed=0):
    start = start_weights(WIDTH, 1, seed)
    parts = ("online", "target", "best", "mean", "square")
    arrays = {f"{part}/{name}": array for part in parts for name, array in start.items()}
    generator = dict(np.random.default_rng(7).bit_generator.state)
    return Snapshot(arrays, step, 10, 0.25, generator, [Look(10, 0.5, 0.25), Look(20, 0.4, 0.3)])


def training(tmp_path, **changes):
    given = {"model": tmp_path, "data": "d", "encoder": "e", "options": FitOptions()} | changes
    return TrainingFolder(**given)


def test_a_snapshot_survives_the_way_to_disk_and_replaces_the_one_before(tmp_path):
    training(tmp_path).save(snapshot(10, seed=1))
    training(tmp_path).save(snapshot())
    found, kept = training(tmp_path).load(), snapshot()
    assert found is not None
    assert (found.step, found.best_step, found.best, found.looks) == (20, 10, 0.25, kept.looks)
    assert found.generator == kept.generator
    assert all(np.array_equal(found.arrays[name], array) for name, array in kept.arrays.items())
    assert len(list((tmp_path / "training").iterdir())) == 2


@pytest.mark.parametrize("changes", [{"data": "other"}, {"encoder": "other"}, {"options": FitOptions(n=4)}], ids=str)
def test_the_snapshot_of_another_training_is_not_taken_up(tmp_path, changes):
    training(tmp_path).save(snapshot())
    assert training(tmp_path, **changes).load() is None


def test_there_may_be_none_and_it_may_be_removed(tmp_path):
    assert training(tmp_path).load() is None
    training(tmp_path).save(snapshot())
    training(tmp_path).remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"generator": {"bit_generator": "MT"}}, "file"),
        ({"looks": [3]}, "file"),
        ({"step": None}, "file"),
        ({"weights": None}, "weights.file"),
    ],
)
def test_a_broken_snapshot_is_refused_by_name(tmp_path, changes, field):
    training(tmp_path).save(snapshot())
    path = tmp_path / "training" / NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(CheckpointError) as caught:
        training(tmp_path).load()
    assert caught.value.field == field


def test_a_snapshot_that_lacks_an_array_is_refused_by_name(tmp_path):
    part = snapshot()
    del part.arrays["square/norm.bias"]
    training(tmp_path).save(part)
    with pytest.raises(CheckpointError, match=r"weights\.square/norm\.bias"):
        training(tmp_path).load()
