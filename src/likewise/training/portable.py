"""Judges, encoders and models that a reward holds: given by name or as objects, loaded on use, sent as what they were.

A reward travels to workers pickled. An ONNX session cannot; the name of what it was made from can.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likewise.core.protocols import Encoder, Judge
from likewise.learned.checkpoint import Checkpoint
from likewise.learned.model import RSDModel

__all__ = ["JudgeSource", "ModelSource"]


class JudgeSource:
    """A judge by name, or one that is there."""

    def __init__(self, given: str | Judge) -> None:
        """Load nothing yet.

        Args:
            given: A name as `--judge` takes it, or a judge; a judge given as an object travels as an object.

        Raises:
            ValueError: A name that no judge has.
        """
        if isinstance(given, str):
            _check_name(given)
        self._given = given
        self._judge: Judge | None = None

    @property
    def judge(self) -> Judge:
        """The judge.

        Raises:
            BackendError: It cannot be loaded.
            MissingExtraError: A library that it needs is not installed.
        """
        if self._judge is None:
            if isinstance(self._given, str):
                from likewise.backends.judges import judge_from_name

                self._judge = judge_from_name(self._given)
            else:
                self._judge = self._given
        return self._judge

    def __getstate__(self) -> dict[str, Any]:
        """What it was made from, without what was loaded."""
        return {"_given": self._given, "_judge": None}


def _check_name(name: str) -> None:
    """Refuse a name that no judge has before anything is trained; a judge that there is, is loaded on use."""
    from likewise.backends.judges import EMBEDDED, FORMS, judge_from_name

    kind, _, rest = name.strip().partition(":")
    kinds = {form.partition(":")[0] for form in FORMS}
    inner = rest.partition(":")[0] if kind == "cascade" else kind
    if kind not in kinds or inner not in kinds or (kind == EMBEDDED) == bool(rest):
        judge_from_name(name)  # says what there is


class ModelSource:
    """A learned metric by its folder, or one that is there, with the encoder of its states."""

    def __init__(self, given: str | Path | RSDModel, encoder: Encoder | None = None) -> None:
        """Load nothing yet.

        Args:
            given: Folder of a model, or a model.
            encoder: The encoder it was trained with; the embedded one where None. A model brings its own.

        Raises:
            ValueError: A model and an encoder beside it.
        """
        if isinstance(given, RSDModel) and encoder is not None:
            raise ValueError("a model brings its own encoder; give one only beside a folder")
        self._folder = None if isinstance(given, RSDModel) else str(given)
        self._model = given if isinstance(given, RSDModel) else None
        self._encoder = encoder

    @property
    def model(self) -> RSDModel:
        """The model.

        Raises:
            CheckpointError: It is missing, broken, foreign, or does not fit; names the field.
        """
        if self._model is None:
            self._model = RSDModel.load(str(self._folder), self._encoder)
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        """The folder, or the weights themselves; the encoder as the object it is, the embedded one by name."""
        if self._folder is not None:
            return {"folder": self._folder, "encoder": _portable(self._encoder)}
        model = self.model
        stored = None if model.calibration is None else model.calibration.as_json()
        checkpoint = Checkpoint({**model.facts, "calibration": stored}, dict(model.weights), model.references)
        return {"checkpoint": checkpoint, "encoder": _portable(model.states.encoder)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Put it together again."""
        self._folder, self._encoder = state.get("folder"), state["encoder"]
        checkpoint = state.get("checkpoint")
        self._model = None if checkpoint is None else RSDModel(checkpoint, self._encoder)


def _portable(encoder: Encoder | None) -> Encoder | None:
    from likewise.backends.onnx_encoder import OnnxEncoder, embedded_encoder

    # Its session cannot be pickled; None stands for it, and is checked against the model's facts when it is loaded.
    embedded = isinstance(encoder, OnnxEncoder) and encoder.encoder_id == embedded_encoder().encoder_id
    return None if embedded else encoder
