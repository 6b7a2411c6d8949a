"""The command as a whole: what it prints, and the code it ends with."""

import json

import pytest

from likewise.cli.doctor import SCHEMA


@pytest.fixture
def doctor(invoke, monkeypatch, tmp_path):
    """`likewise doctor` where nothing is set up beside what the test sets up."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "LIKEWISE_LLM", "LIKEWISE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LIKEWISE_DATABASE_URL", f"sqlite:///{tmp_path}/history.sqlite")
    monkeypatch.setattr("likewise.backends.onnx_encoder.embedded_encoder", _encoder())
    return lambda *arguments: invoke("doctor", *arguments)


def _encoder():
    from functools import cache

    from likewise.backends.onnx_encoder import embedded_encoder

    return cache(embedded_encoder)


@pytest.mark.model
def test_where_all_is_well_each_part_has_a_line_and_the_code_is_0(doctor, tmp_path):
    result = doctor()
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line.split(": ")[1] for line in lines[:6]] == [
        "judge",
        "encoder",
        "label store",
        "settings",
        "history",
        "endpoint",
    ]
    assert lines[-1] == "all that is set up here works"
    assert not (tmp_path / "history.sqlite").exists()


@pytest.mark.model
def test_a_broken_store_has_its_mend_below_it_and_code_4(doctor, tmp_path):
    (tmp_path / "bad.sqlite").write_text("no database " * 99)
    result = doctor("--store", tmp_path / "bad.sqlite")
    assert result.exit_code == 4
    lines = result.stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("broken: label store: "))
    assert lines[place + 1].startswith("    to mend it: likewise report --store FILE")
    assert lines[-1] == "1 part(s) broken: label store"


@pytest.mark.model
def test_settings_that_cannot_be_used_alone_have_code_2(doctor, tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("[tool]\n")
    assert doctor("--config", path).exit_code == 2
    (tmp_path / "bad.sqlite").write_text("no database " * 99)
    assert doctor("--config", path, "--store", tmp_path / "bad.sqlite").exit_code == 4


@pytest.mark.model
def test_json_has_every_check_and_nothing_else_on_standard_output(doctor, tmp_path):
    result = doctor("--json", "--endpoint", "localhost:8000")
    assert result.exit_code == 4
    facts = json.loads(result.stdout)
    assert (facts["schema"], facts["fine"]) == (SCHEMA, False)
    assert facts.keys() == {"schema", "likewise", "python", "platform", "fine", "checks"}
    checks = {check["name"]: check for check in facts["checks"]}
    assert checks["endpoint"]["state"] == "broken"
    assert checks["endpoint"]["fix"]
    assert {"extra llm", "extra serve"} <= checks.keys()
    assert all(check.keys() == {"name", "state", "detail", "fix"} for check in checks.values())
