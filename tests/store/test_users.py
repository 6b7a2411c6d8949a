from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from likewise.store.users import Failures

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def entered(store, token="t1", name="joe", instead_of=None):
    store.users.enter(token, name, datetime.now(UTC) + DAY, instead_of=instead_of, address="::1")


def session(store, token="t1", now=None):
    now = now or datetime.now(UTC)
    return store.users.session(token, now - DAY, now)


def test_users_are_made_changed_and_listed(store):
    assert not store.users.any()
    store.users.put("joe", "hash", "viewer", actor="cli")
    store.users.put("ann", "hash", "admin", actor="cli")
    store.users.put("joe", "other", "admin", actor="cli")
    assert [(user.name, user.hash, user.role) for user in store.users.list()] == [
        ("ann", "hash", "admin"),
        ("joe", "other", "admin"),
    ]
    assert store.users.any()
    assert store.users.get("nobody") is None
    assert [act.action for act in store.audit.page().items] == ["user changed", "user created", "user created"]


def test_a_session_is_found_by_its_token_until_it_ends(store):
    store.users.put("joe", "hash", "viewer", actor="cli")
    entered(store)
    found = session(store)
    assert (found.user, found.role) == ("joe", "viewer")
    assert session(store, "another") is None
    assert session(store, now=datetime.now(UTC) + 2 * DAY) is None  # expired
    assert store.users.session("t1", datetime.now(UTC) + DAY / 2, datetime.now(UTC)) is None  # not seen for too long
    store.users.leave("t1")
    store.users.leave("t1")
    assert session(store) is None


def test_a_new_login_ends_the_session_whose_place_it_takes(store):
    store.users.put("joe", "hash", "viewer", actor="cli")
    entered(store, "old")
    entered(store, "new", instead_of="old")
    assert session(store, "old") is None
    assert session(store, "new") is not None


def test_another_password_and_a_disabled_user_end_all_sessions(store):
    store.users.put("joe", "hash", "viewer", actor="cli")
    entered(store)
    store.users.put("joe", "other", "viewer", actor="cli")
    assert session(store) is None
    entered(store)
    assert store.users.disable("joe", actor="cli")
    assert not store.users.disable("joe", actor="cli")
    assert session(store) is None
    assert not store.users.any()
    entered(store, "t2")
    assert session(store, "t2") is None  # a session of somebody who is shut out holds nothing
    store.users.put("joe", "third", "viewer", actor="cli")
    assert store.users.get("joe").disabled is None


def test_a_hash_is_renewed_unless_the_password_was_changed_in_between(store):
    store.users.put("joe", "old", "viewer", actor="cli")
    store.users.rehash("joe", "old", "new")
    store.users.rehash("joe", "old", "late")
    assert store.users.get("joe").hash == "new"


def test_failed_logins_are_counted_by_all_together_and_forgotten_in_time(store):
    assert store.users.failures("s") == Failures()
    threads = [threading.Thread(target=store.users.failed, args=("s", NOW, NOW - DAY)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.users.failures("s") == Failures(8, NOW)
    store.users.failed("s", NOW + 2 * DAY, NOW + DAY)
    assert store.users.failures("s").count == 1
    store.users.forgive("s")
    assert store.users.failures("s") == Failures()


def test_what_has_ended_is_swept_away(store):
    store.users.put("joe", "hash", "viewer", actor="cli")
    entered(store, "one")
    entered(store, "two")
    store.users.failed("s", NOW, NOW)
    now = datetime.now(UTC)
    assert store.users.sweep(now, NOW) == 0
    assert store.users.failures("s").count == 1
    assert store.users.sweep(now + 2 * DAY, NOW + DAY) == 2
    assert store.users.failures("s") == Failures()
    assert session(store, "one") is None
