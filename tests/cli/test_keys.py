"""`likewise keys`."""

from __future__ import annotations

import asyncio
import json

import pytest

from likewise.service.security.keys import KeyRing, Scope, UnknownKeyError
from likewise.store.store import Store


@pytest.fixture
def url(tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path / 'history.sqlite'}"
    monkeypatch.setenv("LIKEWISE_DATABASE_URL", address)
    return address


def check(url, secret):
    with Store.open(url) as store:
        return asyncio.run(KeyRing(store).check(secret))


def test_a_key_is_made_listed_and_revoked(invoke, url):
    made = invoke(
        "keys", "create", "my app", "--scope", "proxy", "--scope", "read", "--per-minute", "90", "--burst", "9"
    )
    assert made.exit_code == 0, made.output
    secret = made.stdout.strip()
    principal = check(url, secret)
    assert (principal.name, principal.scopes, principal.per_minute, principal.burst) == (
        "my app",
        {Scope.PROXY, Scope.READ},
        90,
        9,
    )
    listed = invoke("keys", "list")
    assert f"{principal.prefix} valid proxy read 90 a minute, 9 at once" in listed.stdout
    assert secret.split("_", 2)[2] not in listed.output
    listed = json.loads(invoke("keys", "list", "--json").stdout)
    assert listed["schema"] == "likewise.keys/1"
    (entry,) = listed["keys"]
    assert (entry["prefix"], entry["revoked"], entry["scopes"]) == (principal.prefix, None, ["proxy", "read"])
    assert "hash" not in entry
    assert invoke("keys", "revoke", principal.prefix).exit_code == 0
    with pytest.raises(UnknownKeyError):
        check(url, secret)
    assert "revoked 20" in invoke("keys", "list").stdout
    again = invoke("keys", "revoke", principal.prefix)
    assert again.exit_code == 3
    assert "no valid key" in again.stderr


@pytest.mark.parametrize(("options", "words"), [([], "a key needs a scope"), (["--scope", "all"], "no scope 'all'")])
def test_a_key_without_a_scope_that_is_one_is_a_usage_error(invoke, url, options, words):
    result = invoke("keys", "create", "app", *options)
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())


def test_where_there_are_none_it_says_how_to_make_one(invoke, url):
    result = invoke("keys", "list")
    assert result.exit_code == 0
    assert "likewise keys create NAME --scope proxy" in result.stderr


def test_who_made_a_key_is_noted(invoke, url):
    invoke("keys", "create", "app", "--scope", "read")
    with Store.open(url) as store:
        (act,) = store.audit.page().items
    assert act.actor.startswith("cli")
    assert act.action == "key created"
