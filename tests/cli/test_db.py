"""`likewise db`."""

from __future__ import annotations

import asyncio
import json

import pytest
from typer.testing import CliRunner

from likewise.cli.main import app
from likewise.formats.registry import read_rollouts
from likewise.service.security.login import Logins, Role, WrongLoginError
from likewise.store.store import Store
from verdicts_factory import NO, YES, record_of


@pytest.fixture
def url(tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path / 'history.sqlite'}"
    monkeypatch.setenv("LIKEWISE_DATABASE_URL", address)
    return address


def test_a_database_is_brought_up_to_date_and_back(invoke, url):
    first = invoke("db", "upgrade")
    assert first.exit_code == 0, first.output
    assert "brought up to date (layout 0001)" in first.stderr
    assert "is up to date" in invoke("db", "upgrade").stderr
    assert invoke("db", "current").stdout == "0001 (this version: 0001)\n"
    down = invoke("db", "downgrade", "base", "--yes")
    assert down.exit_code == 0, down.output
    assert "layout none: it is empty" in down.stderr
    current = invoke("db", "current")
    assert (current.exit_code, current.stdout) == (1, "empty (this version: 0001)\n")


def test_going_back_is_asked_about(invoke, url):
    invoke("db", "upgrade")
    result = CliRunner().invoke(app, ["db", "downgrade", "base"], input="n\n")
    assert result.exit_code != 0
    assert invoke("db", "current").exit_code == 0


def enter(url, name, password):
    with Store.open(url) as store:
        return asyncio.run(Logins(store, https=True).enter(name, password, "::1"))


def test_a_user_may_log_in_with_the_password_of_standard_input(invoke, url):
    made = CliRunner().invoke(app, ["db", "user", "joe", "--admin"], input="correct horse battery\n")
    assert made.exit_code == 0, made.output
    assert enter(url, "joe", "correct horse battery").role is Role.ADMIN
    assert invoke("db", "user", "joe", "--disable").exit_code == 0
    with pytest.raises(WrongLoginError):
        enter(url, "joe", "correct horse battery")
    assert invoke("db", "user", "nobody", "--disable").exit_code == 3


def test_a_weak_password_is_refused(url):
    result = CliRunner().invoke(app, ["db", "user", "joe"], input="short\n")
    assert result.exit_code == 2
    assert "12 to 200 characters" in " ".join(result.output.split())


@pytest.fixture
def filled(url):
    with Store.open(url) as store:
        store.write(
            [record_of(YES, NO, id="a", task="t"), record_of(YES, YES, id="b", task="t", hours=30, version="2")]
        )
    return url


def test_runs_and_verdicts_are_written_to_files(invoke, filled, tmp_path):
    runs, verdicts = tmp_path / "runs.jsonl", tmp_path / "verdicts.jsonl"
    result = invoke("db", "export", "--rollouts", "--agent", "bot", "-o", runs)
    assert result.exit_code == 0, result.output
    assert "wrote 4 run(s)" in result.stderr
    assert len(read_rollouts([runs])) == 4
    assert invoke("db", "export", "--since", "2026-03-11", "-o", verdicts).exit_code == 0
    assert [json.loads(line)["id"] for line in verdicts.read_text().splitlines()] == ["b"]
    nobody = invoke("db", "export", "--rollouts", "-o", runs)
    assert nobody.exit_code == 2
    assert "runs of several" in " ".join(nobody.output.split())


def test_what_is_old_is_deleted_and_the_act_noted(invoke, filled):
    result = invoke("db", "retain", "1")
    assert result.exit_code == 0, result.output
    assert "2 verdict(s) deleted" in result.stderr
    with Store.open(filled) as store:
        assert store.verdicts.page().items == ()
        assert store.audit.page().items[0].details == {"days": 1.0, "verdicts": 2}


@pytest.mark.parametrize("days", ["0", "0.5"])
def test_deleting_what_is_of_today_is_asked_about(invoke, filled, days):
    refused = CliRunner().invoke(app, ["db", "retain", days], input="n\n")
    assert refused.exit_code != 0
    assert "are deleted. Go on?" in refused.output
    with Store.open(filled) as store:
        assert len(store.verdicts.page().items) == 2
    done = invoke("db", "retain", days, "--yes")
    assert (done.exit_code, done.stderr) == (0, "likewise: 2 verdict(s) deleted\n")


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        ("mysql://joe:hunter2@host/db", 2, "no database of the kind 'mysql'"),
        ("postgresql://joe:hunter2@127.0.0.1:1/db", 4, "see that the server runs"),
        ("sqlite:////proc/no/such.sqlite", 4, "make the folder writable"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_without_its_password(invoke, url, address, code, words):
    result = invoke("db", "upgrade", "--database", address)
    assert result.exit_code == code
    assert words in " ".join(result.output.split())
    assert "hunter2" not in result.output


@pytest.mark.parametrize(("name", "flags"), [("runs.csv", ["--rollouts", "--agent", "bot"]), ("verdicts.csv", [])])
def test_an_export_in_a_format_that_there_is_not_is_refused(invoke, tmp_path, name, flags):
    result = invoke("db", "export", *flags, "-o", tmp_path / name)
    assert result.exit_code == 2
    assert f"{name}: name a file that ends in .jsonl" in " ".join(result.stderr.split()).replace(" │", "")
    assert not (tmp_path / name).exists()
