from __future__ import annotations

import asyncio
import threading
import time

import pytest
from sqlalchemy import func, select

from likewise.core.errors import StoreUnavailableError
from likewise.store.models import VerdictRow
from likewise.store.store import Store
from likewise.store.writer import VerdictWriter
from verdicts_factory import NO, YES, record_of


def count(store):
    with store.database.reading() as connection:
        return connection.execute(select(func.count()).select_from(VerdictRow)).scalar()


@pytest.fixture
def held(store):
    """Hold the lock that every write needs, until the block is left."""

    class Held:
        def __enter__(self):
            self._writing = store.database.writing()
            connection = self._writing.__enter__()
            if not store.database.sqlite:
                connection.exec_driver_sql("LOCK TABLE verdicts IN ACCESS EXCLUSIVE MODE")
            return self

        def __exit__(self, *error):
            self._writing.__exit__(None, None, None)

    return Held


def test_what_put_has_returned_from_is_seen_by_others(store):
    async def main():
        async with VerdictWriter(store) as writer:
            for name in ("a", "b"):
                await writer.put(record_of(id=name))
                assert store.verdicts.get(name) is not None
            assert writer.waiting == 0

    asyncio.run(main())


def test_those_that_wait_share_a_transaction(store):
    reports = []

    async def main():
        async with VerdictWriter(store, batch=40, on_batch=reports.append) as writer:
            await asyncio.gather(*(writer.put(record_of(YES, YES)) for _ in range(100)))

    asyncio.run(main())
    assert sum(report.size for report in reports) == count(store) == 100
    assert max(report.size for report in reports) <= 40
    assert len(reports) <= 10
    assert all(report.seconds > 0 and report.error is None for report in reports)
    assert reports[-1].waiting == 0


def test_a_retry_doubles_nothing(store):
    async def main():
        async with VerdictWriter(store) as writer:
            await asyncio.gather(*(writer.put(record_of(id="same")) for _ in range(5)))
            await writer.put(record_of(NO, NO, id="same"))

    asyncio.run(main())
    assert count(store) == 1


def test_close_writes_all_that_waits_and_takes_no_more(store):
    async def main():
        writer = VerdictWriter(store, batch=5)
        writer.start()
        puts = [asyncio.create_task(writer.put(record_of())) for _ in range(30)]
        await asyncio.sleep(0)
        await writer.close()
        await writer.close()
        assert count(store) == 30
        await asyncio.gather(*puts)
        with pytest.raises(StoreUnavailableError, match="shutting down"):
            await writer.put(record_of())

    asyncio.run(main())


def test_a_full_queue_makes_put_wait_and_then_fail_and_goes_on_when_there_is_room(store, held):
    async def main():
        async with VerdictWriter(store, capacity=3, batch=1, linger=0, put_timeout=0.2) as writer:
            with held():
                waiting = [asyncio.create_task(writer.put(record_of(id=f"early{i}"))) for i in range(3)]
                await asyncio.sleep(0.05)
                with pytest.raises(StoreUnavailableError, match="3 verdicts wait to be written"):
                    await writer.put(record_of(id="too many"))
                late = asyncio.create_task(writer.put(record_of(id="late")))
                await asyncio.sleep(0.05)
            await asyncio.gather(*waiting, late)
            assert writer.waiting == 0

    asyncio.run(main())
    assert {each.id for each in store.verdicts.page().items} == {"early0", "early1", "early2", "late"}


def test_the_queue_is_bounded_in_characters_too_and_takes_what_is_larger_than_itself_alone(store, held):
    async def main():
        async with VerdictWriter(store, most_bytes=10_000, put_timeout=0.1) as writer:
            large = record_of("a" * 50_000, "a" * 50_000, id="large")
            assert large.size > 10_000
            with held():
                task = asyncio.create_task(writer.put(large))
                await asyncio.sleep(0.05)
                with pytest.raises(StoreUnavailableError, match="1 verdicts wait"):
                    await writer.put(record_of())
            await task

    asyncio.run(main())
    assert count(store) == 1


def test_a_caller_who_goes_leaves_the_record_to_be_written(store, held):
    async def main():
        async with VerdictWriter(store) as writer:
            with held():
                task = asyncio.create_task(writer.put(record_of(id="left")))
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await writer.put(record_of(id="next"))

    asyncio.run(main())
    assert count(store) == 2


def test_a_hook_that_fails_fails_its_record_alone(url):
    def hook(text):
        if "poison" in text:
            raise RuntimeError("the hook is broken")
        return text

    async def main(store):
        async with VerdictWriter(store, linger=0.05) as writer:
            results = await asyncio.gather(
                writer.put(record_of(id="a")),
                writer.put(record_of(query="poison", id="b")),
                writer.put(record_of(id="c")),
                return_exceptions=True,
            )
            assert [type(each) for each in results] == [type(None), ValueError, type(None)]
            assert "the hook is broken" in str(results[1])

    with Store.open(url, redact=hook) as store:
        asyncio.run(main(store))
        assert count(store) == 2


def test_a_row_that_the_database_refuses_fails_alone_and_its_error_repeats_nothing_of_it(store, monkeypatch):
    from likewise.store import records

    columns = records._columns

    def broken(origin, body):
        row = columns(origin, body)
        return row | {"runs_agreed": None} if "poison" in row["query"] else row

    monkeypatch.setattr(records, "_columns", broken)

    async def main():
        async with VerdictWriter(store, linger=0.05) as writer:
            results = await asyncio.gather(
                *(writer.put(record_of(query=query)) for query in ("a", "b", "poison", "c")), return_exceptions=True
            )
        assert [type(each) for each in results] == [type(None), type(None), ValueError, type(None)]
        assert "poison" not in str(results[2])

    asyncio.run(main())
    assert count(store) == 3


def test_a_hook_for_metrics_that_fails_stops_nothing(store, caplog):
    def hook(report):
        raise RuntimeError("no metrics today")

    async def main():
        async with VerdictWriter(store, on_batch=hook) as writer:
            await writer.put(record_of())
            await writer.put(record_of())

    asyncio.run(main())
    assert count(store) == 2
    assert "the hook of the writer failed" in caplog.text


def test_several_event_loops_may_share_a_writer(store):
    writer = VerdictWriter(store, capacity=2, put_timeout=120)
    writer.start()

    def work():
        async def main():
            await asyncio.gather(*(writer.put(record_of(YES, YES)) for _ in range(10)))

        asyncio.run(main())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(writer.close())
    assert count(store) == 40


def test_a_database_that_is_away_for_a_moment_is_tried_again_and_then_told_at_once(store, tmp_path, backend):
    """The table is taken away and given back: to the writer it is a database that is out of order."""

    def rename(old, new):
        with store.database.writing() as connection:
            connection.exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")

    async def main():
        async with VerdictWriter(store, retry_for=2.0) as writer:
            await writer.put(record_of(id="before"))
            rename("verdicts", "away")
            task = asyncio.create_task(writer.put(record_of(id="during")))
            await asyncio.sleep(0.2)
            await asyncio.to_thread(rename, "away", "verdicts")
            await task  # tried again until it was back
            await asyncio.to_thread(rename, "verdicts", "away")
            with pytest.raises(StoreUnavailableError):
                await writer.put(record_of(id="lost"))
            began = time.monotonic()
            with pytest.raises(StoreUnavailableError):
                await writer.put(record_of(id="lost too"))
            assert time.monotonic() - began < 2.0  # known to be away: it is not tried again for as long as that
            await asyncio.to_thread(rename, "away", "verdicts")
            await writer.put(record_of(id="after"))

    asyncio.run(main())
    assert {each.id for each in store.verdicts.page().items} == {"before", "during", "after"}


def test_a_writer_must_be_started_and_its_sizes_make_sense(store):
    with pytest.raises(RuntimeError, match="not started"):
        asyncio.run(VerdictWriter(store).put(record_of()))
    with pytest.raises(ValueError, match="at least 1"):
        VerdictWriter(store, capacity=0)
