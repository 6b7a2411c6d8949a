from __future__ import annotations

import json

import pytest

from likewise.core.errors import BackendError
from likewise.training.environments.driving import drive


def run(python, settings=None, limit=None):
    drive("bench", [python, "driver.py"], settings or {"model": "tiny"}, key_variable="MY_KEY", limit=limit)


def test_settings_go_in_by_standard_input_and_the_key_apart_from_them(fake_python, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-1")
    monkeypatch.setenv("OTHER_SECRET", "secret-2")
    python, told = fake_python("sys.exit(0)")
    run(python, {"model": "tiny", "tasks": ["a"]})
    noted = json.loads(told.read_text(encoding="utf-8"))
    assert noted["settings"] == {"model": "tiny", "tasks": ["a"]}
    assert noted["arguments"] == ["driver.py"]
    assert noted["environment"]["OPENAI_API_KEY"] == "secret-1"
    assert "secret-2" not in json.dumps(noted)


def test_an_endpoint_without_a_key_gets_a_word_that_is_none(fake_python, monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    python, told = fake_python("sys.exit(0)")
    run(python)
    assert json.loads(told.read_text(encoding="utf-8"))["environment"]["OPENAI_API_KEY"] == "none"


def test_a_failure_is_told_in_the_drivers_words_without_the_key(fake_python, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-1")
    python, _ = fake_python("sys.stderr.write('noise\\nlikewise: ValueError: bad secret-1\\nnoise\\n'); sys.exit(3)")
    with pytest.raises(BackendError, match=r"^bench failed: ValueError: bad \*\*\*$"):
        run(python)


def test_a_crash_is_told_by_its_end(fake_python):
    python, _ = fake_python("raise RuntimeError('it broke')")
    with pytest.raises(BackendError, match="it broke"):
        run(python)


def test_what_takes_too_long_is_stopped(fake_python):
    python, _ = fake_python("import time; time.sleep(60)")
    with pytest.raises(BackendError, match="bench took longer than 1 s; call again to go on"):
        run(python, limit=1)


def test_an_interpreter_that_is_not_there_is_told():
    with pytest.raises(BackendError, match="the Python of bench cannot be started"):
        run("/nowhere/python")
