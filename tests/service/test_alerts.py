"""From verdicts to a message: once, when it is confirmed, and again where it was not taken."""

import email
import email.policy
import json
import logging
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import anyio
import pytest

from likewise.core.errors import StoreUnavailableError
from likewise.service.alerts import channels_of, check, deliver, message_of, send_test, watch
from likewise.service.page_settings import AlertSettings, DashboardSettings
from likewise.store.store import Store
from service.test_alert_channels import SECRET, mail, mail_server, receiver
from service_history import ATTACK, lives, write


@pytest.fixture
def store(tmp_path):
    with Store.open(f"sqlite:///{tmp_path / 'history.sqlite'}") as opened:
        yield opened


def service(store, alerts=None, **dashboard):
    """What alerts need of the service."""
    settings = SimpleNamespace(
        alerts=alerts or AlertSettings(), dashboard=DashboardSettings(**dashboard), retention_days=None
    )
    return SimpleNamespace(store=store, settings=settings)


def test_a_confirmed_regression_is_told_once_by_every_channel(regressed):
    with receiver() as (url, got), mail_server() as (port, box):
        alerts = mail(port, webhook_url=url, webhook_secret=SECRET)
        ours = service(regressed, alerts, public_url="https://likewise.example.com")
        assert len(check(ours)) == 3
        assert anyio.run(deliver, ours) == 6
        assert check(ours) == []
        assert anyio.run(deliver, ours) == 0
    assert (len(got), len(box.mails)) == (3, 3)
    (told,) = [json.loads(body) for _, _, body in got if json.loads(body)["metric"] == "reliability"]
    assert told["agent"] == "support"
    assert told["version"] == "2"
    assert told["url"] == "https://likewise.example.com/agent?name=support"
    assert told["before"]["value"] > told["after"]["value"]
    assert "support: Reliability is worse since" in told["text"]
    words = email.message_from_string(box.mails[0][2], policy=email.policy.default).get_content()
    assert "is called worse with a probability of at most 5%" in words


def test_noise_is_told_to_nobody(store):
    write(store, lives(good=0.9, bad=0.9))
    with receiver() as (url, got):
        ours = service(store, AlertSettings(webhook_url=url, webhook_secret=SECRET))
        assert check(ours) == []
        assert anyio.run(deliver, ours) == 0
    assert got == []


def test_what_was_not_taken_is_tried_again_later_and_the_failure_is_recorded(regressed):
    with receiver(503) as (url, got):
        ours = service(regressed, AlertSettings(webhook_url=url, webhook_secret=SECRET))
        check(ours)
        assert anyio.run(deliver, ours) == 0
        assert anyio.run(deliver, ours) == 0  # not yet again
        assert len(got) == 3
    alert = regressed.alerts.list()[0]
    (delivery,) = regressed.alerts.deliveries(alert.id)
    assert (str(delivery.state), delivery.attempts) == ("failed", 1)
    assert delivery.error == "the webhook answered with status 503"
    assert timedelta(seconds=30) < delivery.retry_at - datetime.now(UTC) <= timedelta(minutes=1)
    assert len(regressed.alerts.due("webhook", datetime.now(UTC) + timedelta(minutes=2))) == 3


def test_an_agent_without_new_verdicts_is_not_tested_again(store):
    write(store, lives(turn=4, per_day=3, bad=0.95))
    seen = {}
    check(service(store), seen)
    last = seen["support"]
    write(store, lives(turn=4, per_day=3, bad=0.95, agent="other"))
    check(service(store), seen)
    assert seen["support"] == last
    assert set(seen) == {"support", "other"}


def test_the_watch_tells_by_itself_and_goes_on_when_the_history_is_gone_for_a_while(regressed, caplog):

    async def watched(ours, got):
        with anyio.move_on_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch, ours)
                while len(got) < 3:
                    await anyio.sleep(0.05)
                tasks.cancel_scope.cancel()

    with receiver() as (url, got), caplog.at_level(logging.WARNING, "likewise.alerts"):
        ours = service(regressed, AlertSettings(webhook_url=url, webhook_secret=SECRET, check_seconds=1))
        ours.store = Recovering(regressed, failures=1)
        anyio.run(watched, ours, got)
    assert len(got) == 3
    assert [record.message for record in caplog.records] == [
        "no look for regressions: history: the history is unavailable (gone)"
    ]


class Recovering:
    """A store that cannot be reached at first."""

    def __init__(self, store, failures):
        self._store, self._left = store, failures

    def __getattr__(self, name):
        if name == "trends" and self._left:
            self._left -= 1
            raise StoreUnavailableError("history", "gone")
        return getattr(self._store, name)


def test_a_name_that_attacks_stays_text_in_the_message(store):
    write(store, lives(agent=f"a {ATTACK}"[:200]))
    check(service(store))
    message = message_of(store.alerts.list()[0], "https://likewise.example.com")
    assert "\n" not in message.subject
    assert "<script>" not in message.data["url"]


def test_a_test_message_tells_which_channel_failed():
    with receiver() as (url, got):
        both = SimpleNamespace(settings=SimpleNamespace(alerts=mail(9, webhook_url=url, webhook_secret=SECRET)))
        (failure,) = anyio.run(send_test, both)
    assert failure.startswith("mail: the mail server cannot be reached")
    assert json.loads(got[0][2])["type"] == "test"
    none = SimpleNamespace(settings=SimpleNamespace(alerts=AlertSettings()))
    assert anyio.run(send_test, none) == ["no channel is set: see the settings [alerts]"]
    assert channels_of(AlertSettings()) == ()
