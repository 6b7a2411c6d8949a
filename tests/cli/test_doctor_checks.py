"""Each part is tried for real: broken weights, locked files and old databases are made, not imagined."""

import json
import sqlite3
from importlib.resources import files
from pathlib import Path

import pytest

from likewise.backends.action_judge import ActionJudge
from likewise.backends.label_store import LabelStore
from likewise.backends.onnx_encoder import OnnxEncoder, embedded_encoder
from likewise.backends.onnx_nli import OnnxNli
from likewise.cli.doctor_checks import (
    State,
    check_encoder,
    check_endpoint,
    check_extras,
    check_history,
    check_judge,
    check_service,
    check_settings,
    check_store,
)

MODELS = Path(str(files("likewise.models")))


@pytest.fixture
def weights(tmp_path):
    """A folder of the package's own weights with one file replaced."""

    def _make(kind, name, content):
        folder = tmp_path / kind
        folder.mkdir()
        for path in (MODELS / kind).iterdir():
            (folder / path.name).symlink_to(path)
        (folder / name).unlink()
        (folder / name).write_bytes(content)
        return folder

    return _make


class TestJudge:
    @pytest.mark.model
    def test_the_judge_of_the_package_knows_its_pairs(self):
        check = check_judge()
        assert (check.state, check.fix) == (State.FINE, "")
        assert check.detail.startswith("embedded-")
        assert check.detail.endswith("loads and knows 2 of 2 pairs")

    def test_weights_that_are_cut_are_broken(self, weights, monkeypatch):
        folder = weights("nli", "read.onnx", b"cut")
        broken = ActionJudge(OnnxNli(folder), embedded_encoder(), folder / "action_head.json")
        monkeypatch.setattr("likewise.backends.judges.embedded_judge", lambda: broken)
        check = check_judge()
        assert check.state is State.BROKEN
        assert "read.onnx: cannot be loaded as an ONNX model" in check.detail
        assert check.fix == "pip install --force-reinstall likewise"

    @pytest.mark.model
    def test_a_judge_that_loads_and_errs_is_broken(self, weights, monkeypatch):
        head = json.loads((MODELS / "nli" / "action_head.json").read_text())
        turned = {**head, "weights": head["weights"][::-1], "bias": head["bias"][::-1]}  # equivalent is contradictory
        folder = weights("nli", "action_head.json", json.dumps(turned).encode())
        wrong = ActionJudge(OnnxNli(folder), embedded_encoder(), folder / "action_head.json")
        monkeypatch.setattr("likewise.backends.judges.embedded_judge", lambda: wrong)
        check = check_judge()
        assert check.state is State.BROKEN
        assert "contradictory, not equivalent" in check.detail


class TestEncoder:
    @pytest.mark.model
    def test_the_encoder_of_the_package_finds_like_nearer_than_unlike(self):
        check = check_encoder()
        assert check.state is State.FINE
        assert check.detail.startswith("all-MiniLM-L6-v2-")

    def test_weights_that_are_cut_are_broken(self, weights, monkeypatch):
        broken = OnnxEncoder(weights("encoder", "encoder.onnx", b"cut"))
        monkeypatch.setattr("likewise.backends.onnx_encoder.embedded_encoder", lambda: broken)
        check = check_encoder()
        assert check.state is State.BROKEN
        assert "encoder.onnx: cannot be loaded as an ONNX model" in check.detail


class TestStore:
    def test_a_store_that_takes_a_write_is_fine_and_keeps_nothing_of_it(self, tmp_path):
        path = tmp_path / "new" / "labels.sqlite"
        check = check_store(path)
        assert (check.state, check.detail) == (State.FINE, f"{path}, writable, 0 judgement(s)")
        with sqlite3.connect(path) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.close()
        assert "doctor" not in tables

    def test_the_store_that_the_environment_names_is_looked_at(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LIKEWISE_LABEL_STORE", str(tmp_path / "mine.sqlite"))
        assert check_store(None).detail.startswith(str(tmp_path / "mine.sqlite"))

    def test_a_file_of_another_kind_is_broken(self, tmp_path):
        path = tmp_path / "labels.sqlite"
        path.write_text("no database " * 99)
        check = check_store(path)
        assert check.state is State.BROKEN
        assert "damaged or not a label store" in check.detail
        assert "--store FILE" in check.fix

    def test_a_store_that_another_process_holds_for_good_is_broken(self, tmp_path, monkeypatch):
        monkeypatch.setattr("likewise.backends.label_store._BUSY_SECONDS", 0.1)
        path = tmp_path / "labels.sqlite"
        LabelStore(path).close()
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        try:
            check = check_store(path)
        finally:
            holder.close()
        assert check.state is State.BROKEN
        assert "locked" in check.detail


class TestSettings:
    def test_none_is_off(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert check_settings(None).state is State.OFF

    def test_those_of_this_folder_are_read_with_their_gates(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("likewise.toml").write_text('[gates]\nfail_on = ["rsd > 1"]\n')
        check = check_settings(None)
        assert check.state is State.FINE
        assert check.detail.startswith("likewise.toml, with gates, rules tool-rules-")

    @pytest.mark.parametrize("text", ["[tool]", '[tools]\nbook = "write"', '[gates]\nfail_on = ["rds > 1"]', "["])
    def test_any_section_may_be_what_breaks_them(self, tmp_path, text):
        path = tmp_path / "likewise.toml"
        path.write_text(text)
        check = check_settings(path)
        assert check.state is State.BROKEN
        assert check.detail.startswith(str(path))

    def test_those_of_the_service_are_looked_at_where_they_are_named(self, tmp_path, monkeypatch):
        monkeypatch.delenv("LIKEWISE_CONFIG", raising=False)
        assert check_service() is None
        path = tmp_path / "serve.toml"
        path.write_text("port = 8700\n")
        monkeypatch.setenv("LIKEWISE_CONFIG", str(path))
        assert check_service().state is State.FINE
        path.write_text("prot = 8700\n")
        check = check_service()
        assert check.state is State.BROKEN
        assert "prot" in check.detail


class TestHistory:
    def test_one_that_was_never_made_is_off(self, tmp_path):
        check = check_history(f"sqlite:///{tmp_path}/h.sqlite")
        assert check.state is State.OFF
        assert not (tmp_path / "h.sqlite").exists()

    def test_one_of_this_layout_is_fine(self, tmp_path):
        from likewise.store.engine import Database, parse_url
        from likewise.store.migrate import latest, upgrade

        url = f"sqlite:///{tmp_path}/h.sqlite"
        database = Database(parse_url(url))
        upgrade(database)
        database.close()
        assert check_history(url).detail == f"{url}, layout {latest()}"

    def test_one_that_is_not_migrated_names_the_command(self, tmp_path):
        (tmp_path / "h.sqlite").touch()
        check = check_history(f"sqlite:///{tmp_path}/h.sqlite")
        assert (check.state, check.fix) == (State.BROKEN, "run: likewise db upgrade")

    def test_a_file_of_another_kind_is_broken(self, tmp_path):
        (tmp_path / "h.sqlite").write_text("no database " * 99)
        assert check_history(f"sqlite:///{tmp_path}/h.sqlite").state is State.BROKEN

    def test_a_server_that_does_not_answer_is_broken_and_its_password_not_shown(self):
        check = check_history("postgresql://me:s3cret@127.0.0.1:1/x")
        assert check.state is State.BROKEN
        assert "s3cret" not in check.detail + check.fix
        assert "see that the server runs" in check.fix

    def test_an_address_of_another_database_is_broken(self):
        check = check_history("mysql://localhost/x")
        assert check.state is State.BROKEN
        assert "LIKEWISE_DATABASE_URL" in check.fix


def test_no_endpoint_is_off_and_openai_is_not_asked_without_being_named(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert check_endpoint(None).state is State.OFF
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    check = check_endpoint(None)
    assert (check.state, check.detail) == (State.OFF, "OPENAI_API_KEY is set; OpenAI was not asked")


def test_an_extra_is_fine_off_or_broken(monkeypatch):
    from likewise.cli.installed import Extra

    made = [
        Extra("llm", ("openai 3.0",), (), ()),
        Extra("hf", (), ("torch",), ()),
        Extra("ray", (), (), ("ray 1.0, needs >=2.40",)),
    ]
    monkeypatch.setattr("likewise.cli.installed.extras", lambda: made)
    found = list(check_extras())
    assert [each.state for each in found] == [State.FINE, State.OFF, State.BROKEN]
    assert found[1].fix == "pip install 'likewise[hf]'"
    assert found[2].as_json() == {
        "name": "extra ray",
        "state": "broken",
        "detail": "ray 1.0, needs >=2.40",
        "fix": "pip install 'likewise[ray]' --upgrade",
    }
