"""A training that was stopped goes on where it was: its arrays, its random generator, its looks, on disk.

Kept in a folder of its own inside the model's, and removed when the model is there. What belongs to other tasks or
options is not taken up.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from likewise.core.errors import CheckpointError
from likewise.learned.checkpoint import read_arrays, read_json, replace_file, write_arrays
from likewise.learned.forward import weight_shapes
from likewise.learned.options import FitOptions
from likewise.learned.train import Look, Snapshot

__all__ = ["TrainingFolder"]

FORMAT = "likewise.training/1"
NAME = "training.json"


class TrainingFolder:
    """Where one training keeps what it needs to go on."""

    def __init__(self, model: Path, data: str, encoder: str, options: FitOptions) -> None:
        """Name the training: what it learns from, with which encoder, and how.

        Args:
            model: Folder of the model to be.
            data: Fingerprint of tasks and distances.
            encoder: Id of the encoder.
            options: How it is trained.
        """
        self.folder = model / "training"
        self._key = {"data": data, "encoder": encoder, "options": json.loads(json.dumps(options.as_json()))}
        self._heads = options.heads

    def save(self, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of the one before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        digest, name = write_arrays(snapshot.arrays, self.folder)
        facts = {
            "format": FORMAT,
            **self._key,
            "step": snapshot.step,
            "best_step": snapshot.best_step,
            "best": snapshot.best,
            "generator": snapshot.generator,
            "looks": [asdict(look) for look in snapshot.looks],
            "weights": {"file": name, "blake2b": digest},
        }
        replace_file(self.folder / NAME, json.dumps(facts).encode())
        for other in self.folder.glob("weights-*.safetensors"):
            if other.name != name:
                other.unlink(missing_ok=True)

    def load(self) -> Snapshot | None:
        """The snapshot of this very training; None where there is none, or one of another.

        Raises:
            CheckpointError: There is one of this training, and it is broken; names the field.
        """
        path = self.folder / NAME
        if not path.is_file():
            return None
        facts = read_json(path)
        if facts.get("format") != FORMAT or any(facts.get(name) != value for name, value in self._key.items()):
            return None
        arrays = read_arrays(self.folder, facts.get("weights"), str(path))
        self._check(arrays, path)
        try:
            generator = facts["generator"]
            np.random.default_rng().bit_generator.state = generator
            return Snapshot(
                arrays,
                int(facts["step"]),
                int(facts["best_step"]),
                None if facts["best"] is None else float(facts["best"]),
                generator,
                [Look(**look) for look in facts["looks"]],
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise CheckpointError(str(path), "file", "a snapshot of training", f"{problem!r}"[:100]) from None

    def _check(self, arrays: dict[str, Any], path: Path) -> None:
        width = arrays["online/first.weight"].shape[-1] if "online/first.weight" in arrays else 0
        shapes = {
            f"{part}/{name}": shape
            for part in ("online", "target", "best", "mean", "square")
            for name, shape in weight_shapes(width, self._heads).items()
        }
        for name, shape in shapes.items():
            found = arrays[name].shape if name in arrays else None
            if found != shape:
                raise CheckpointError(str(path), f"weights.{name}", f"shape {shape}", str(found))

    def remove(self) -> None:
        """Forget the snapshot."""
        shutil.rmtree(self.folder, ignore_errors=True)
