"""Who is told when an agent has become worse: once, when it is confirmed, by every channel that is set."""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio
import anyio.to_thread

from likewise.core.errors import StoreUnavailableError
from likewise.evaluation.trend import FALSE_ALARM
from likewise.report.text import one_line
from likewise.report.words import percent
from likewise.service.alert_channels import Message, SendError, send_mail, send_webhook
from likewise.service.figures import figure_of, shift_words
from likewise.service.page_settings import AlertSettings
from likewise.service.regressions import agent_trends, record_shifts, shift_of
from likewise.service.retention import kept_days
from likewise.store.alerts import Alert

if TYPE_CHECKING:
    from likewise.service.service import Service

__all__ = ["channels_of", "check", "deliver", "message_of", "send_test", "watch"]

_LOG = logging.getLogger("likewise.alerts")
LONGEST_WAIT = timedelta(hours=1)
"""Between two tries of a message that is not taken; they begin a minute apart and double."""


def channels_of(settings: AlertSettings) -> tuple[str, ...]:
    """The channels that are set."""
    webhook = ("webhook",) if settings.webhook_url is not None else ()
    return (*webhook, "mail") if settings.smtp_host is not None else webhook


async def watch(service: Service) -> None:
    """Look for regressions, and tell of them, for as long as the service runs."""
    seen: dict[str, datetime] = {}
    while True:
        try:
            await anyio.to_thread.run_sync(partial(check, service, seen))
            await deliver(service)
        except StoreUnavailableError as problem:
            _LOG.warning("no look for regressions: %s", problem)
        await anyio.sleep(service.settings.alerts.check_seconds)


def check(service: Service, seen: dict[str, datetime] | None = None) -> list[Alert]:
    """Test every agent that has new verdicts, and record what changed.

    Args:
        service: Whose history.
        seen: Agent -> its last verdict at the look before; brought up to date.

    Returns:
        Regressions that are new.

    Raises:
        StoreUnavailableError: The history cannot be read or written.
    """
    seen = {} if seen is None else seen
    found: list[Alert] = []
    for summary in service.store.trends.agents():
        if summary.last is not None and seen.get(summary.agent) == summary.last:
            continue
        trends = agent_trends(service.store, summary.agent, kept_days(service))
        found += record_shifts(service.store, summary.agent, trends)
        if summary.last is not None:
            seen[summary.agent] = summary.last
    return found


async def deliver(service: Service) -> int:
    """Send what is due, each message by one process alone; what is not taken is tried again later.

    Returns:
        How many messages were taken.

    Raises:
        StoreUnavailableError: The history cannot be read or written.
    """
    alerts, worker, taken = service.store.alerts, f"{socket.gethostname()}:{os.getpid()}", 0
    for channel in channels_of(service.settings.alerts):
        for alert in await anyio.to_thread.run_sync(alerts.due, channel):
            if not await anyio.to_thread.run_sync(alerts.claim, alert.id, channel, worker):
                continue
            message = message_of(alert, service.settings.dashboard.public_url)
            try:
                await _send(service.settings.alerts, channel, message)
            except SendError as problem:
                _LOG.warning("an alert was not taken by %s: %s", channel, problem)
                again = datetime.now(UTC) + await anyio.to_thread.run_sync(_wait, service, alert, channel)
                await anyio.to_thread.run_sync(alerts.failed, alert.id, channel, str(problem), again)
            else:
                await anyio.to_thread.run_sync(alerts.sent, alert.id, channel)
                taken += 1
    return taken


def _wait(service: Service, alert: Alert, channel: str) -> timedelta:
    attempts = next((d.attempts for d in service.store.alerts.deliveries(alert.id) if d.channel == channel), 1)
    return min(timedelta(minutes=2 ** min(attempts - 1, 10)), LONGEST_WAIT)


async def _send(settings: AlertSettings, channel: str, message: Message) -> None:
    if channel == "webhook":
        await send_webhook(settings, message, time.time())
    else:
        await send_mail(settings, message)


async def send_test(service: Service) -> list[str]:
    """Send a message that is marked as a test by every channel.

    Returns:
        What failed, one sentence a channel; empty where all was taken.
    """
    channels = channels_of(service.settings.alerts)
    words = "This is a test: the alerts of likewise reach you."
    message = Message("test", "likewise: test of alerts", words, {"type": "test", "text": words})
    failures = [] if channels else ["no channel is set: see the settings [alerts]"]
    for channel in channels:
        try:
            await _send(service.settings.alerts, channel, message)
        except SendError as problem:
            failures.append(f"{channel}: {problem}")
    return failures


def message_of(alert: Alert, public_url: str | None = None) -> Message:
    """An alert in words: what changed, since when, how sure that is, and where to look."""
    figure, shift = figure_of(alert.metric), shift_of(alert)
    agent = one_line(alert.agent, 100)
    what = f"{alert.metric} changed" if figure is None or shift is None else shift_words(figure, shift)
    link = None if public_url is None else f"{public_url}/agent?name={quote(alert.agent, safe='')}"
    lines = [f"{agent}: {what}."]
    if shift is not None:
        lines.append(f"Confirmed by the verdict of {shift.confirmed:%Y-%m-%d %H:%M} UTC.")
    lines.append(
        "This is no single bad day: an agent that does not change is called worse with a probability of at most "
        f"{percent(FALSE_ALARM)} in its whole life."
    )
    data: Mapping[str, object] = {
        "type": "regression",
        "id": alert.id,
        "agent": alert.agent,
        "version": alert.version,
        "metric": alert.metric,
        "since": alert.since.isoformat(),
        "text": lines[0],
        "url": link,
        **{name: alert.details[name] for name in ("confirmed", "before", "after") if name in alert.details},
    }
    return Message(
        str(alert.id), f"likewise: {agent}: {what}", "\n\n".join([*lines, *([link] if link else [])]) + "\n", data
    )
