from __future__ import annotations

import threading
from datetime import UTC, date, datetime, timedelta

from likewise.store.alerts import AlertState, DeliveryState

DAY = date(2026, 3, 10)


def opened(store, agent="bot", metric="reliability", since=DAY):
    return store.alerts.open(agent, "v2", metric, since, {"drop": 0.2})


def at_once(function, times=6):
    """Results of a function called from several threads at once."""
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append(function(i))) for i in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_a_regression_has_one_alert_however_often_it_is_seen(store):
    first = opened(store)
    assert first.state is AlertState.OPEN
    assert first.details == {"drop": 0.2}
    assert {alert.id for alert in at_once(lambda _: opened(store))} == {first.id}
    assert opened(store, metric="contradictions").id != first.id
    assert len(store.alerts.list()) == 2


def test_an_alert_is_confirmed_by_exactly_one(store):
    alert = opened(store)
    assert sorted(at_once(lambda _: store.alerts.confirm(alert.id, {"p": 0.001}))) == [False] * 5 + [True]
    confirmed = store.alerts.get(alert.id)
    assert (confirmed.state, confirmed.details) == (AlertState.CONFIRMED, {"p": 0.001})
    assert confirmed.confirmed is not None


def test_only_confirmed_alerts_are_sent_and_each_by_one_worker(store):
    alert = opened(store)
    assert store.alerts.due("webhook") == []
    store.alerts.confirm(alert.id)
    assert [each.id for each in store.alerts.due("webhook")] == [alert.id]
    assert sorted(at_once(lambda i: store.alerts.claim(alert.id, "webhook", f"w{i}"))) == [False] * 5 + [True]
    assert store.alerts.due("webhook") == []
    assert [each.id for each in store.alerts.due("mail")] == [alert.id]
    store.alerts.sent(alert.id, "webhook")
    assert not store.alerts.claim(alert.id, "webhook", "late")
    (delivery,) = store.alerts.deliveries(alert.id)
    assert (delivery.channel, delivery.state, delivery.attempts) == ("webhook", DeliveryState.SENT, 1)


def test_what_was_not_sent_is_due_again_when_its_time_has_come_and_may_be_given_up(store):
    alert = opened(store)
    store.alerts.confirm(alert.id)
    now = datetime.now(UTC)
    store.alerts.claim(alert.id, "mail", "w")
    store.alerts.failed(alert.id, "mail", "refused; password: hunter2hunter2", now + timedelta(minutes=5))
    assert store.alerts.due("mail", now) == []
    assert not store.alerts.claim(alert.id, "mail", "w", now)
    later = now + timedelta(minutes=6)
    assert [each.id for each in store.alerts.due("mail", later)] == [alert.id]
    assert store.alerts.claim(alert.id, "mail", "w", later)
    (delivery,) = store.alerts.deliveries(alert.id)
    assert (delivery.attempts, delivery.error) == (2, "refused; password: [redacted]")
    store.alerts.failed(alert.id, "mail", "no", None)
    assert store.alerts.due("mail", later + timedelta(days=9)) == []


def test_a_sender_that_died_is_replaced(store):
    alert = opened(store)
    store.alerts.confirm(alert.id)
    store.alerts.claim(alert.id, "mail", "dead")
    later = datetime.now(UTC) + timedelta(minutes=5)
    assert store.alerts.due("mail", later)
    assert store.alerts.claim(alert.id, "mail", "next", later)
    assert not store.alerts.claim(alert.id, "mail", "third", later)


def test_a_closed_alert_is_sent_no_more_and_does_not_open_again(store):
    alert = opened(store)
    store.alerts.confirm(alert.id)
    assert store.alerts.close(alert.id)
    assert not store.alerts.close(alert.id)
    assert store.alerts.due("mail") == []
    assert opened(store).state is AlertState.CLOSED
    assert not store.alerts.confirm(alert.id)


def test_alerts_are_listed_the_newest_first_by_agent_and_state(store):
    first = opened(store)
    second = opened(store, agent="other")
    store.alerts.confirm(first.id)
    assert [each.id for each in store.alerts.list()] == [second.id, first.id]
    assert [each.id for each in store.alerts.list(agent="bot")] == [first.id]
    assert [each.id for each in store.alerts.list(state="open")] == [second.id]
    assert len(store.alerts.list(limit=1)) == 1
    assert store.alerts.get("nothing") is None
