from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.service.security.keys import create_key
from likewise.store.redaction import MARK, Redactor
from likewise.store.store import Store

SECRETS = {
    "ours": "lw_abcdefghijkm_" + "A1b2-" * 8 + "xyz",
    "openai": "sk-proj-" + "Ab1_" * 10,
    "anthropic": "sk-ant-api03-" + "xY9-" * 12,
    "groq": "gsk_" + "a1B2" * 8,
    "hugging face": "hf_" + "AbCd1234" * 4,
    "google": "AIza" + "Sy1-_" * 7,
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "github": "ghp_" + "a1B2c3" * 6,
    "github fine": "github_pat_" + "a1B2c3_" * 6,
    "gitlab": "glpat-" + "a1B2c3d4e5" * 2,
    "slack": "xoxb-123456789012-abcdefghij",
    "stripe": "sk_live_" + "a1B2c3d4" * 3,
    "webhook": "whsec_" + "a1B2c3d4" * 4,
    "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----",
    "private key, cut": "-----BEGIN PRIVATE KEY-----\nMIIEow",
}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('"it is zebra-quo..." / "zebra-..."', f'"it is {MARK}..." / "{MARK}..."'),
        ("zebra-quokka...", f"{MARK}..."),
        ("zebra... and zebr...", "zebra... and zebr..."),  # fewer than six characters of it are a word
        ("zebra-quo", "zebra-quo"),  # not an excerpt
    ],
)
def test_a_known_secret_that_an_excerpt_cuts_off_is_taken_out(text, clean):
    assert Redactor(known=["zebra-quokka"]).text(text) == clean


def test_a_redactor_with_further_secrets_keeps_its_own_and_its_hook():
    first = Redactor(str.upper, known=["the-first"])
    assert first.also(["the-second"]).text("the-first, the-second") == f"{MARK}, {MARK}".upper()
    assert first.text("the-second") == "THE-SECOND"


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize(
    "frame", ["{}", "the key is {}, keep it", '"{}"', "({})", "a={}", "x\n{}\ny" + " and more" * 80]
)
def test_keys_of_known_shapes_are_taken_out_wherever_they_stand(secret, frame):
    found = Redactor().text(frame.format(secret))
    assert MARK in found
    assert secret not in found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abcdef", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ('{"Authorization": "Token abcdef12"}', '{"Authorization": "Token [redacted]"}'),
        (r"{\"authorization\": \"Bearer xyz12345\"}", r"{\"authorization\": \"Bearer [redacted]\"}"),
        ("use bearer abc123def456ghi", "use bearer [redacted]"),
        ("api_key=hunter2hunter2&x=1", "api_key=[redacted]&x=1"),
        ('{"apiKey": "hunter2hunter2"}', '{"apiKey": "[redacted]"}'),
        ("password: hunter2!!", "password: [redacted]"),
        ("postgres://joe:hunter2@db/x", "postgres://[redacted]@db/x"),
        ("see https://u:p@example.com/a", "see https://[redacted]@example.com/a"),
    ],
)
def test_what_stands_behind_a_telling_name_is_taken_out(text, left):
    assert Redactor().text(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "The bearer of bad news has responsibilities.",
        "Basic understanding of tokens is a key skill; the password is short.",
        "https://example.com:8080/path?q=1#x",
        "sk-learn is a library, and so is sk-image",
        "We used 1,200 tokens: 800 in, 400 out.",
        "eyJ is how many tokens begin",
        "",
    ],
)
def test_ordinary_words_stay(text):
    assert Redactor().text(text) == text


def test_fields_whose_name_says_so_lose_their_value_and_others_do_not():
    value = {
        "Authorization": "anything",
        "headers": {"X-Api-Key": "a", "Accept": "text"},
        "password": ["one", "two"],
        "token": "t",
        "tokens": 12,
        "usage": {"input_tokens": 3},
        "secret": {"inner": "kept, for it is no text"},
        "api_key": "",
        "list": [{"cookie": "c"}, None, True, 1.5],
    }
    assert Redactor().value(value) == {
        "Authorization": MARK,
        "headers": {"X-Api-Key": MARK, "Accept": "text"},
        "password": [MARK, MARK],
        "token": MARK,
        "tokens": 12,
        "usage": {"input_tokens": 3},
        "secret": {"inner": "kept, for it is no text"},
        "api_key": "",
        "list": [{"cookie": MARK}, None, True, 1.5],
    }


def test_secrets_known_by_value_are_taken_out_the_longest_first_and_short_ones_are_left():
    redactor = Redactor(known=["opensesame", "opensesame-and-more", "abc"])
    assert redactor.text("opensesame-and-more, opensesame, abc") == f"{MARK}, {MARK}, abc"


def test_the_callers_hook_sees_every_text_after_the_rules():
    redactor = Redactor(lambda text: text.replace("Joe Bloggs", "somebody"))
    assert redactor.value({"Joe Bloggs": ["Joe Bloggs, sk-" + "a1" * 12]}) == {"somebody": [f"somebody, {MARK}"]}


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_key_is_found_between_any_two_texts(before, after):
    secret = SECRETS["openai"]
    assert secret not in Redactor().text(f"{before} {secret} {after}")


@pytest.mark.parametrize(
    "unit",
    ["a.", "://", "eyJa.", "password", "sk-", "authorization: ", "-----BEGIN PRIVATE KEY-----", "a:b@", "bearer "],
)
def test_no_text_takes_long(unit):
    text = (unit * 100_000)[:200_000]
    began = time.perf_counter()
    Redactor().text(text)
    assert time.perf_counter() - began < 5  # a quadratic search would take minutes


def test_a_key_of_ours_that_is_made_has_the_shape_that_is_taken_out(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'h.sqlite'}") as store:
        secret = create_key(store, "mine", ["read"], actor="test").secret
    assert Redactor().text(f"<{secret}>") == f"<{MARK}>"
