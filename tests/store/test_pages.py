from __future__ import annotations

from datetime import UTC, datetime

import pytest

from likewise.store.pages import MOST, cursor_of, decode_cursor, within

NOW = datetime(2026, 3, 10, 12, 30, 0, 123456, tzinfo=UTC)


def test_a_cursor_stands_for_the_place_that_it_was_made_of():
    assert decode_cursor(cursor_of(NOW, "id"), (datetime, str)) == [NOW, "id"]
    assert decode_cursor(cursor_of(0.1 + 0.2, "t"), (float, str)) == [0.1 + 0.2, "t"]
    assert decode_cursor(cursor_of(7), (int,)) == [7]


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "x", "???", "=" * 9, "W10", "a" * 5000, "é"),
        *(
            cursor_of("2026-03-10T12:00:00", "id"),
            cursor_of(NOW),
            cursor_of(1, "id"),
            cursor_of(None, "id"),
            cursor_of(NOW, 1),
        ),
        cursor_of("no date", "id"),
    ],
)
def test_anything_else_is_no_cursor(cursor):
    with pytest.raises(ValueError, match="not a cursor of this list"):
        decode_cursor(cursor, (datetime, str))


def test_a_page_has_a_size():
    assert within(MOST) == MOST
    for limit in (0, -1, MOST + 1):
        with pytest.raises(ValueError, match="1 to 500"):
            within(limit)
