from __future__ import annotations

from dataclasses import dataclass

import pytest

from likewise.service.security.csrf import ForgedFormError, check_csrf, check_token, csrf_token, new_visitor


@dataclass
class Held:
    token: str


SESSION = Held(new_visitor())
FIELD = csrf_token(SESSION.token)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://history.example.com", "history.example.com"),
        ("http://localhost:8700", "localhost:8700"),
        (None, "any"),
    ],
)
def test_a_form_of_our_own_page_goes_through(origin, host):
    check_csrf(SESSION, FIELD, origin, host)


@pytest.mark.parametrize(
    "sent",
    [None, "", "x", FIELD[:-1], FIELD + "0", csrf_token("another"), "é", "\ud83d"],
    ids=["none", "empty", "short", "cut", "longer", "another visitor's", "not ASCII", "surrogate"],
)
def test_another_token_is_refused(sent):
    with pytest.raises(ForgedFormError, match="open the page again"):
        check_csrf(SESSION, sent, None, "host")


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("https://evil.example", "history.example.com"),
        ("https://history.example.com.evil.example", "history.example.com"),
        ("https://history.example.com:8443", "history.example.com"),
        ("null", "null"),
        ("https://history.example.com", None),
        ("", "history.example.com"),
    ],
)
def test_a_form_of_another_site_is_refused_even_with_the_right_token(origin, host):
    with pytest.raises(ForgedFormError):
        check_csrf(SESSION, FIELD, origin, host)


def test_a_field_does_not_give_the_cookie_away_and_belongs_to_it_alone():
    first, second = new_visitor(), new_visitor()
    assert first != second
    assert first not in csrf_token(first)
    check_token(first, csrf_token(first))
    with pytest.raises(ForgedFormError):
        check_token(second, csrf_token(first))
    for missing in (None, ""):
        with pytest.raises(ForgedFormError):
            check_token(missing, csrf_token(""))
