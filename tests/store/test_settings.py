from __future__ import annotations

import pytest


def test_a_setting_is_kept_changed_and_noted(store):
    assert store.settings.get("retention_days", 90) == 90
    store.settings.set("retention_days", 30, actor="joe")
    store.settings.set("retention_days", None, actor="ann")
    store.settings.set("alerts", {"mail": ["a@example.com"], "on": True}, actor="ann")
    assert store.settings.get("retention_days", 90) is None
    assert store.settings.all() == {"retention_days": None, "alerts": {"mail": ["a@example.com"], "on": True}}
    acts = store.audit.page().items
    assert [(act.actor, act.target) for act in acts] == [
        ("ann", "alerts"),
        ("ann", "retention_days"),
        ("joe", "retention_days"),
    ]


def test_secrets_are_not_kept_as_settings(store):
    store.settings.set("alerts", {"password": "hunter2hunter2", "url": "https://u:p@example.com"}, actor="joe")
    assert store.settings.get("alerts") == {"password": "[redacted]", "url": "https://[redacted]@example.com"}


@pytest.mark.parametrize(("name", "value"), [("", 1), ("x" * 101, 1), ("x", "y" * 100_001)])
def test_what_is_far_too_long_is_refused(store, name, value):
    with pytest.raises(ValueError, match="1 to 100 characters"):
        store.settings.set(name, value, actor="joe")
