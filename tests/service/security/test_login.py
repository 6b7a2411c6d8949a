from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from argon2 import PasswordHasher

from likewise.service.security.csrf import ForgedFormError, csrf_token
from likewise.service.security.login import (
    FREE_TRIES,
    Logins,
    Role,
    TooManyAttemptsError,
    WrongLoginError,
    create_user,
)
from likewise.store.models import LoginFailureRow

PASSWORD = "correct horse battery"


@pytest.fixture
def logins(store):
    create_user(store, "joe", PASSWORD, "admin", actor="test")
    return Logins(store, https=True)


def enter(logins, name="joe", password=PASSWORD, address="::1", old=None):
    return asyncio.run(logins.enter(name, password, address, old))


def resume(logins, token):
    return asyncio.run(logins.resume(token))


def test_who_knows_the_password_gets_a_session(logins, store):
    session = enter(logins)
    assert (session.user, session.role, session.administers) == ("joe", Role.ADMIN, True)
    found = resume(logins, session.token)
    assert (found.user, found.role) == ("joe", Role.ADMIN)
    assert found.csrf == session.csrf == csrf_token(session.token)
    assert store.audit.page().items[0].action == "logged in"


@pytest.mark.parametrize(("name", "password"), [("joe", "wrong password"), ("ann", PASSWORD), ("", ""), ("joe", "")])
def test_who_does_not_is_told_nothing_of_what_is_wrong(logins, name, password):
    with pytest.raises(WrongLoginError, match="name and password do not fit"):
        enter(logins, name, password)


def test_every_login_has_a_new_token_and_ends_the_session_before(logins):
    first = enter(logins)
    second = enter(logins, old=first.token)
    assert first.token != second.token
    assert resume(logins, first.token) is None
    assert resume(logins, second.token) is not None


def test_a_session_ends_with_logout_with_time_and_unused(logins, store):
    session = enter(logins)
    asyncio.run(logins.leave(session.token))
    asyncio.run(logins.leave(None))
    assert resume(logins, session.token) is None
    short = Logins(store, https=True, idle=timedelta(0))
    assert resume(short, enter(short).token) is None
    brief = Logins(store, https=True, lifetime=timedelta(0))
    assert resume(brief, enter(brief).token) is None


@pytest.mark.parametrize("token", [None, "", "x", "x" * 500, "é", "\ud83d"])
def test_what_is_no_token_is_no_session(logins, token):
    assert resume(logins, token) is None


def test_of_a_token_only_a_hash_is_kept(logins, store, tmp_path):
    session = enter(logins)
    assert session.token not in repr(session)
    store.close()
    for file in tmp_path.glob("history.sqlite*"):
        content = file.read_bytes()
        assert session.token.encode() not in content
        assert PASSWORD.encode() not in content


def test_the_cookie_is_for_the_browser_alone(logins, store):
    session = enter(logins)
    cookie = logins.cookie(session)
    assert cookie["key"] == "__Host-likewise"
    assert cookie["value"] == session.token
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"], cookie["path"]) == (True, True, "lax", "/")
    assert 0 < cookie["max_age"] <= 8 * 3600
    plain = Logins(store, https=False)
    assert (plain.cookie_name, plain.cookie(session)["secure"]) == ("likewise", False)
    assert logins.forget_cookie() == {name: cookie[name] for name in ("key", "path", "httponly", "secure", "samesite")}


def test_the_login_form_is_held_to_the_browser_that_asked_for_it(logins):
    cookie, field = logins.login_csrf()
    logins.check_login_csrf(cookie, field)
    for other in (None, "", logins.login_csrf()[0]):
        with pytest.raises(ForgedFormError):
            logins.check_login_csrf(other, field)


def test_wrong_passwords_cost_waiting_by_name_from_wherever_and_the_right_one_must_wait_too(logins):
    for i in range(FREE_TRIES):
        with pytest.raises(WrongLoginError):
            enter(logins, "joe" if i % 2 else "JOE", "wrong password", f"10.0.0.{i}")
    with pytest.raises(TooManyAttemptsError) as refused:
        enter(logins, address="10.9.9.9")
    assert 1 <= refused.value.retry_after <= 2


def test_wrong_passwords_cost_waiting_by_address_for_any_name(logins):
    for i in range(FREE_TRIES):
        with pytest.raises(WrongLoginError):
            enter(logins, f"somebody {i}", "wrong password", "10.0.0.1")
    with pytest.raises(TooManyAttemptsError):
        enter(logins, address="10.0.0.1")
    assert enter(logins, address="10.0.0.2").user == "joe"


def later(store, seconds):
    """Let so much time have passed since the last failed login."""
    from sqlalchemy import update

    with store.database.writing() as connection:
        moment = datetime.now(UTC) - timedelta(seconds=seconds)
        connection.execute(update(LoginFailureRow).values(last=moment))


def test_waiting_doubles_up_to_a_quarter_of_an_hour_and_success_ends_it(logins, store):
    waits = []
    for _ in range(16):
        try:
            enter(logins, "joe", "wrong password")
        except TooManyAttemptsError as problem:
            waits.append(problem.retry_after)
            later(store, 901)
            with pytest.raises(WrongLoginError):
                enter(logins, "joe", "wrong password")
        except WrongLoginError:
            continue
    assert waits == sorted(waits)
    assert waits[0] == 2
    assert waits[-1] == 900
    later(store, 901)
    assert enter(logins).user == "joe"
    with pytest.raises(WrongLoginError):
        enter(logins, "ann", "wrong password")
    with pytest.raises(TooManyAttemptsError):  # the address is not forgiven with the name
        enter(logins, "eve", "wrong password")


def test_many_tries_at_once_are_as_many_tries(logins):
    async def main():
        tries = (logins.enter("joe", "wrong password", f"10.0.0.{i}") for i in range(20))
        return [type(each) for each in await asyncio.gather(*tries, return_exceptions=True)]

    results = asyncio.run(main())
    assert results.count(WrongLoginError) <= FREE_TRIES + 1  # two are looked at side by side
    assert results.count(TooManyAttemptsError) >= 20 - FREE_TRIES - 1


def test_a_user_who_is_shut_out_cannot_enter(logins, store):
    store.users.disable("joe", actor="test")
    with pytest.raises(WrongLoginError):
        enter(logins)


def test_a_name_that_does_not_exist_takes_as_long_as_one_that_does(logins, monkeypatch):
    from likewise.service.security import login as module

    hashed, verify = [], module.verify_secret
    monkeypatch.setattr(module, "verify_secret", lambda *a: hashed.append(a) or verify(*a))
    for name in ("joe", "nobody"):
        with pytest.raises(WrongLoginError):
            enter(logins, name, "wrong password")
    assert len(hashed) == 2
    assert all(each[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$") for each in hashed)


def test_a_hash_of_former_settings_is_renewed_at_login(logins, store):
    old = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    store.users.put("joe", old, "viewer", actor="test")
    assert enter(logins).role is Role.VIEWER
    assert "m=19456" in store.users.get("joe").hash
    assert enter(logins).user == "joe"


def test_letters_composed_in_another_way_are_the_same_password(logins, store):
    create_user(store, "zoë", "pässword für uns", actor="test")
    assert enter(logins, "zoe\u0308", "pa\u0308ssword fu\u0308r uns").user == "zoë"


@pytest.mark.parametrize(
    ("name", "password", "problem"),
    [
        ("", PASSWORD, "a user needs a name"),
        ("x" * 201, PASSWORD, "a user needs a name"),
        ("two\nlines", PASSWORD, "a user needs a name"),
        ("ann", "too short", "12 to 200 characters"),
        ("ann", "x" * 201, "12 to 200 characters"),
        ("ann", "aaaaabbbbbbbbb", "more than four different"),
        ("ann-of-the-north", "Ann-of-the-North", "is not the name"),
    ],
)
def test_a_user_or_password_that_cannot_be_is_refused(store, name, password, problem):
    with pytest.raises(ValueError, match=problem):
        create_user(store, name, password, actor="test")


def test_a_role_is_one_of_two(store):
    with pytest.raises(ValueError, match="'king'"):
        create_user(store, "ann", PASSWORD, "king", actor="test")
