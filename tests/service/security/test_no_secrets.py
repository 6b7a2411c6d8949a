"""No key, password or token is in any row, in any file of the database, or in any log."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, date, datetime

import pytest

from likewise.reliability.fields import AnswerFields
from likewise.reliability.runs import Failure, FailureKind, RunRecord
from likewise.service.security.keys import KeyRing, UnknownKeyError, create_key
from likewise.service.security.login import Logins, WrongLoginError, create_user
from likewise.store.models import Base
from likewise.store.records import Origin, VerdictRecord
from likewise.store.store import Store
from likewise.store.writer import VerdictWriter
from verdicts_factory import YES, verdict_of

UPSTREAM = "sk-proj-" + "a1B2c3D4" * 4
KNOWN = "an-upstream-key-of-no-known-shape"
PASSWORD = "correct horse battery"
SECRETS = [UPSTREAM, KNOWN, PASSWORD, "hunter2hunter2"]


def records():
    """Verdicts and a failure in which secrets stand wherever somebody could have put one."""
    said = f"I used {UPSTREAM} and {KNOWN}; password: hunter2hunter2."
    run = RunRecord(
        0,
        said,
        AnswerFields(said, (said,), None, (f"https://joe:{KNOWN}@example.com",)),
        meta={"headers": {"Authorization": f"Bearer {KNOWN}"}, UPSTREAM: [UPSTREAM]},
    )
    origin = Origin(f"bot {UPSTREAM}", KNOWN, UPSTREAM, f"task {KNOWN}", "/v1/analyze", "prefix")
    yield VerdictRecord.of(verdict_of(run, YES, said, query=f"use {UPSTREAM} or {KNOWN}"), origin)
    lost = RunRecord(0, failure=Failure(FailureKind.EXCEPTION, f"401 for {UPSTREAM}", f"key {KNOWN}"))
    yield VerdictRecord.of_failure(f"with {KNOWN}", f"all failed: {UPSTREAM}", [lost], origin)


async def use(store):
    """Everything that writes, and everything that fails with a secret in hand; gives the secrets that were made."""
    async with VerdictWriter(store) as writer:
        for record in records():
            await writer.put(record)
    key = create_key(store, f"app {UPSTREAM}", ["admin"], actor=KNOWN).secret
    ring = KeyRing(store)
    await ring.check(key, "::1")
    with pytest.raises(UnknownKeyError):
        await ring.check(key[:-3] + "AAA", "::1")
    create_user(store, "joe", PASSWORD, actor="test")
    logins = Logins(store, https=True)
    session = await logins.enter("joe", PASSWORD, "::1")
    with pytest.raises(WrongLoginError):
        await logins.enter("joe", PASSWORD + "!", "::1")
    job = store.jobs.add("report", {"api_key": KNOWN, "note": UPSTREAM}, owner="k")
    store.jobs.claim("w")
    store.jobs.fail(job.id, "w", f"refused {UPSTREAM}")
    alert = store.alerts.open(
        f"bot {KNOWN}", "v1", "reliability", date(2026, 3, 10), {"url": f"https://x:{KNOWN}@example.com"}
    )
    store.alerts.claim(alert.id, "mail", "w")
    store.alerts.failed(alert.id, "mail", f"password {KNOWN}", datetime.now(UTC))
    store.settings.set("alerts", {"secret": KNOWN, "text": UPSTREAM}, actor="joe")
    store.audit.add(f"joe {UPSTREAM}", f"did {KNOWN}", UPSTREAM, {"token": KNOWN})
    return [key, key.split("_", 2)[2], session.token]


def test_no_secret_is_in_any_row_file_or_log(tmp_path, template, caplog):
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "history.sqlite"
    path.write_bytes(template.read_bytes())
    with Store.open(f"sqlite:///{path}", upgrade=False, secrets=[KNOWN]) as store:
        made = asyncio.run(use(store))
        with store.database.reading() as connection:
            rows = [repr(tuple(row)) for t in Base.metadata.sorted_tables for row in connection.execute(t.select())]
        files = {file.name: file.read_bytes() for file in tmp_path.glob("history.sqlite*")}
    assert len(rows) >= 20
    assert "history.sqlite-wal" in files
    for secret in [*SECRETS, *made]:
        assert [row[:200] for row in rows if secret in row] == []
        assert [name for name, content in files.items() if secret.encode() in content] == []
        assert secret not in caplog.text


def test_the_search_can_fail(tmp_path, template):
    path = tmp_path / "history.sqlite"
    path.write_bytes(template.read_bytes())
    with Store.open(f"sqlite:///{path}", upgrade=False) as store:  # KNOWN is not known here, and has no known shape
        store.write(list(records()))
        assert any(KNOWN.encode() in file.read_bytes() for file in tmp_path.glob("history.sqlite*"))
