from __future__ import annotations

import pytest


def test_acts_are_listed_the_latest_first_in_pages(store):
    for i in range(5):
        store.audit.add("joe", "looked", f"page {i}", {"i": i})
    first = store.audit.page(limit=2)
    second = store.audit.page(after=first.next, limit=2)
    third = store.audit.page(after=second.next, limit=2)
    assert [[act.target for act in page.items] for page in (first, second, third)] == [
        ["page 4", "page 3"],
        ["page 2", "page 1"],
        ["page 0"],
    ]
    assert third.next is None
    assert first.items[0].details == {"i": 4}
    assert first.items[0].at.tzinfo is not None


def test_an_act_holds_no_secret(store):
    key = "sk-" + "a1B2" * 6
    store.audit.add(key, f"used {key}", key, {"key": key})
    (act,) = store.audit.page().items
    assert key not in repr(act)


def test_a_cursor_of_another_list_is_refused(store):
    with pytest.raises(ValueError, match="not a cursor"):
        store.audit.page(after="WyJhIiwgImIiXQ")
