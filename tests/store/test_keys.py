from __future__ import annotations

import pytest
from sqlalchemy.exc import IntegrityError


def added(store, prefix="abc", name="app"):
    return store.keys.add(prefix, name, "argon hash", {"proxy", "analyze"}, per_minute=60, burst=5, actor="cli:joe")


def test_a_key_comes_back_as_it_was_kept(store):
    key = added(store)
    assert store.keys.get("abc") == key
    assert (key.scopes, key.per_minute, key.burst, key.created_by) == ({"analyze", "proxy"}, 60, 5, "cli:joe")
    assert key.revoked is key.last_used is None
    assert store.keys.get("nothing") is None


def test_keys_are_listed_the_oldest_first_revoked_ones_too(store):
    added(store, "one")
    added(store, "two")
    assert store.keys.revoke("one", "cli:ann")
    assert not store.keys.revoke("one", "cli:ann")
    assert not store.keys.revoke("nothing", "cli:ann")
    assert [(key.prefix, key.revoked is None) for key in store.keys.list()] == [("one", False), ("two", True)]


def test_who_made_and_who_revoked_a_key_is_noted(store):
    added(store)
    store.keys.revoke("abc", "cli:ann")
    revoked, created = store.audit.page().items
    assert (revoked.actor, revoked.action, revoked.target) == ("cli:ann", "key revoked", "abc")
    assert created.details == {"name": "app", "scopes": ["analyze", "proxy"], "per_minute": 60, "burst": 5}


def test_a_use_is_noted_to_the_minute(store):
    added(store)
    store.keys.used("abc")
    assert store.keys.get("abc").last_used.second == 0


def test_a_prefix_is_there_once_and_what_fails_leaves_no_note(store):
    added(store)
    with pytest.raises(IntegrityError):
        added(store, name="another")
    assert len(store.audit.page().items) == 1
