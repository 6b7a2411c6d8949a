"""The commands in this process: as a user types them, with the models loaded once."""

from functools import cache

import pytest
from typer.testing import CliRunner

from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.cli.main import app

judge, encoder = cache(embedded_judge), cache(embedded_encoder)


@pytest.fixture
def invoke(monkeypatch, tmp_path):
    """Invoke a command; the result has exit_code, stdout and stderr. Nothing of the user's is touched."""
    monkeypatch.setenv("LIKEWISE_LABEL_STORE", str(tmp_path / "store" / "labels.sqlite"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("likewise.backends.judges.embedded_judge", judge)
    monkeypatch.setattr("likewise.evaluation.evaluate.embedded_judge", judge)
    monkeypatch.setattr("likewise.evaluation.evaluate.embedded_encoder", encoder)

    def _invoke(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return _invoke
