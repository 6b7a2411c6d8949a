from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy.dialects import postgresql, sqlite

from likewise.store.columns import Json, PlainText, UtcTime, plain
from verdicts_factory import record_of

ODD = "nul \x00, lone \ud83d, pair \ud83d\ude00, é, \u2028"


def test_a_moment_comes_back_as_the_same_moment_in_utc():
    there = datetime(2026, 3, 10, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    for dialect in (sqlite.dialect(), postgresql.dialect()):
        kept = UtcTime().process_bind_param(there, dialect)
        back = UtcTime().process_result_value(kept, dialect)
        assert back == there
        assert back.tzinfo is UTC
        assert back.day == 9


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="needs a time zone"):
        UtcTime().process_bind_param(datetime(2026, 3, 10), sqlite.dialect())


def test_plain_text_loses_only_what_a_database_refuses():
    assert plain("a\x00b\ud83dc") == "a\N{REPLACEMENT CHARACTER}b?c"
    assert plain("é ☃ 😀") == "é ☃ 😀"
    assert PlainText().process_bind_param(None, sqlite.dialect()) is None


def test_json_keeps_everything_and_refuses_what_is_none():
    kept = Json().process_bind_param({"text": ODD}, sqlite.dialect())
    assert kept.isascii()
    assert Json().process_result_value(kept, sqlite.dialect()) == {"text": ODD.replace("\ud83d\ude00", "😀")}
    with pytest.raises(ValueError, match="JSON"):
        Json().process_bind_param(float("nan"), sqlite.dialect())


def test_texts_that_a_database_refuses_come_back_whole(store):
    store.write([record_of(ODD, ODD, query=ODD, id="odd")])
    found = store.verdicts.get("odd")
    assert found.body["audit_trail"][0]["text"] == ODD.replace("\ud83d\ude00", "😀")
    assert "\x00" not in found.summary.query
