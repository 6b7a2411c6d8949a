import platform
import re

from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.core.errors import BackendError
from likewise.core.version import VERSION


def test_the_version_is_one_line_with_python_and_the_models(invoke):
    result = invoke("--version")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)
    judge, encoder = embedded_judge().judge_id, embedded_encoder().encoder_id
    wanted = f"likewise {VERSION} (Python {platform.python_version()}, judge {judge}, encoder {encoder})"
    assert result.stdout.strip() == wanted
    assert re.search(r"judge embedded-\w{8}", wanted)


def test_the_version_is_told_where_the_models_are_broken(invoke, monkeypatch):
    def broken():
        raise BackendError("read.onnx: no such file")

    monkeypatch.setattr("likewise.backends.judges.embedded_judge", broken)
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"likewise {VERSION} ")
    assert "`likewise doctor` says why" in result.stdout
