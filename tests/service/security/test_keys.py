from __future__ import annotations

import asyncio
import re
import time

import pytest

from likewise.service.security import keys as module
from likewise.service.security.attempts import Attempts
from likewise.service.security.keys import (
    KeyRing,
    Scope,
    TooManyAttemptsError,
    UnknownKeyError,
    create_key,
    looks_like_key,
)


@pytest.fixture
def created(store):
    return create_key(store, "app", ["proxy", Scope.READ], per_minute=30, burst=7, actor="test")


@pytest.fixture
def slow_hashes(monkeypatch):
    """How often the slow hash is computed."""
    calls = []
    verify = module.verify_secret

    def counted(*arguments):
        calls.append(arguments)
        return verify(*arguments)

    monkeypatch.setattr(module, "verify_secret", counted)
    return calls


def test_a_key_says_who_holds_it_and_what_it_may_do(store, created):
    principal = asyncio.run(KeyRing(store).check(created.secret))
    assert (principal.prefix, principal.name) == (created.key.prefix, "app")
    assert (principal.per_minute, principal.burst) == (30, 7)
    assert principal.allows(Scope.PROXY)
    assert not principal.allows(Scope.ANALYZE)
    assert store.keys.get(created.key.prefix).last_used is not None


def test_an_administrators_key_allows_everything(store):
    secret = create_key(store, "root", ["admin"], actor="test").secret
    principal = asyncio.run(KeyRing(store).check(secret))
    assert all(principal.allows(scope) for scope in Scope)


def test_a_key_has_its_shape_and_only_its_hash_is_kept(store, created, tmp_path):
    assert re.fullmatch(r"lw_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}", created.secret)
    assert created.secret not in repr(created)
    assert created.key.hash.startswith("$argon2id$")
    store.close()
    secret = created.secret.split("_", 2)[2].encode()
    assert not any(secret in file.read_bytes() for file in tmp_path.glob("history.sqlite*"))


@pytest.mark.parametrize(
    "change",
    [
        lambda key: None,
        lambda key: "",
        lambda key: "lw_",
        lambda key: key[:-1],
        lambda key: key + "x",
        lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
        lambda key: key.replace("lw_", "lw-", 1),
        lambda key: key + "\n",
        lambda key: " " + key,
        lambda key: "lw_" + "z" * 12 + key[15:],
        lambda key: "é" * 59,
        lambda key: key.upper(),
    ],
)
def test_anything_else_is_refused_in_the_same_words(store, created, change):
    with pytest.raises(UnknownKeyError, match="the API key is missing, unknown or revoked"):
        asyncio.run(KeyRing(store).check(change(created.secret)))


def test_the_slow_hash_is_computed_once_for_each_key(store, created, slow_hashes):
    async def main():
        ring = KeyRing(store, fresh=0)  # ask the database each time
        for _ in range(5):
            await ring.check(created.secret)

    asyncio.run(main())
    assert len(slow_hashes) == 1


def test_a_fresh_key_costs_no_look_at_the_database(store, created):
    async def main():
        ring = KeyRing(store)
        await ring.check(created.secret)
        store.close()
        (store.database.where, store.keys._database) = ("", None)
        return await ring.check(created.secret)

    assert asyncio.run(main()).name == "app"


def test_a_revoked_key_is_refused_at_once_where_it_is_forgotten_and_soon_elsewhere(store, created):
    async def main():
        here, elsewhere = KeyRing(store), KeyRing(store, fresh=0.2)
        await here.check(created.secret)
        await elsewhere.check(created.secret)
        store.keys.revoke(created.key.prefix, "test")
        here.forget(created.key.prefix)
        with pytest.raises(UnknownKeyError):
            await here.check(created.secret)
        time.sleep(0.25)
        with pytest.raises(UnknownKeyError):
            await elsewhere.check(created.secret)

    asyncio.run(main())


def test_an_address_that_tries_many_wrong_keys_is_refused_unread_and_known_keys_go_on(store, created, slow_hashes):
    wrong = created.secret[:-4] + "AAAA"

    async def main():
        ring = KeyRing(store, attempts=Attempts(most=3, within=60))
        await ring.check(created.secret, "10.0.0.9")
        for _ in range(3):
            with pytest.raises(UnknownKeyError):
                await ring.check(wrong, "10.0.0.9")
        hashed = len(slow_hashes)
        with pytest.raises(TooManyAttemptsError) as refused:
            await ring.check(wrong, "10.0.0.9")
        assert 1 <= refused.value.retry_after <= 60
        assert len(slow_hashes) == hashed
        assert (await ring.check(created.secret, "10.0.0.9")).name == "app"
        with pytest.raises(UnknownKeyError):
            await ring.check(wrong, "10.0.0.10")

    asyncio.run(main())


def test_memory_is_bounded(store, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 2)
    secrets = [create_key(store, "app", ["read"], actor="test").secret for _ in range(4)]

    async def main():
        ring = KeyRing(store)
        for secret in secrets:
            await ring.check(secret)
        assert len(ring._verified) == 2

    asyncio.run(main())


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"scopes": []}, "a key needs a scope; there are analyze, score, proxy, read, admin"),
        ({"scopes": ["everything"]}, "no scope 'everything'"),
        ({"name": " "}, "name of 1 to 200"),
        ({"name": "x" * 201}, "name of 1 to 200"),
        ({"per_minute": 0}, "between 1 and"),
        ({"burst": 10**7}, "between 1 and"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(store, arguments, problem):
    with pytest.raises(ValueError, match=problem):
        create_key(store, **{"name": "app", "scopes": ["read"], "actor": "test"} | arguments)
    assert store.keys.list() == []


def test_our_keys_are_told_from_those_of_others():
    assert looks_like_key("lw_abc")
    assert KeyRing.looks_like_key("lw_")
    assert not looks_like_key("sk-abc")
