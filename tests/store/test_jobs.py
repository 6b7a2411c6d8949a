from __future__ import annotations

import threading
import time

import pytest

from likewise.store.jobs import JobState

PAYLOAD = b"\x00\xff rollouts"


def test_a_job_is_asked_for_done_and_read(store):
    job = store.jobs.add("report", {"html": True}, owner="k1", payload=PAYLOAD)
    assert (job.state, job.owner, job.params, job.tries) == (JobState.QUEUED, "k1", {"html": True}, 0)
    claimed = store.jobs.claim("w1")
    assert (claimed.id, claimed.state, claimed.worker, claimed.tries) == (job.id, JobState.RUNNING, "w1", 1)
    assert store.jobs.payload(job.id) == PAYLOAD
    assert store.jobs.beat(job.id, "w1", done=3, total=10, what="judging")
    seen = store.jobs.get(job.id)
    assert (seen.done, seen.total, seen.what) == (3, 10, "judging")
    assert store.jobs.result(job.id) is None
    assert store.jobs.finish(job.id, "w1", '{"ok": true}', done=5, total=5, what="written")
    assert (store.jobs.get(job.id).done, store.jobs.get(job.id).total, store.jobs.get(job.id).what) == (5, 5, "written")
    done = store.jobs.get(job.id)
    assert (done.state, done.error) == (JobState.DONE, None)
    assert done.finished >= done.started >= done.created
    assert store.jobs.result(job.id) == '{"ok": true}'
    assert store.jobs.payload(job.id) == b""  # nobody needs it any more


def test_the_oldest_is_taken_first_and_each_by_one_worker(store):
    jobs = [store.jobs.add("report", {}, id=f"job{i}").id for i in range(20)]
    assert store.jobs.claim("first").id == "job0"
    taken = []

    def work(name):
        while (job := store.jobs.claim(name)) is not None:
            taken.append(job.id)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(jobs[1:])


def test_a_worker_may_take_one_kind_alone(store):
    store.jobs.add("report", {})
    assert store.jobs.claim("w", kind="export") is None
    assert store.jobs.claim("w", kind="report") is not None


def test_a_job_whose_worker_died_is_taken_over_and_the_dead_one_has_no_say_any_more(store):
    job = store.jobs.add("report", {}, payload=PAYLOAD)
    store.jobs.claim("dead", lease=2)
    assert store.jobs.claim("next") is None
    time.sleep(2.1)
    assert store.jobs.claim("next").id == job.id
    assert store.jobs.payload(job.id) == PAYLOAD
    assert not store.jobs.beat(job.id, "dead")
    assert not store.jobs.finish(job.id, "dead", "late")
    assert store.jobs.finish(job.id, "next", "right")
    assert store.jobs.result(job.id) == "right"


def test_a_sign_of_life_keeps_a_job(store):
    job = store.jobs.add("report", {})
    store.jobs.claim("w", lease=0.05)
    store.jobs.beat(job.id, "w", lease=60)
    time.sleep(0.1)
    assert store.jobs.claim("next") is None


def test_a_job_that_three_workers_died_over_has_failed(store):
    job = store.jobs.add("report", {})
    for _ in range(3):
        assert store.jobs.claim("w", lease=0).id == job.id
        time.sleep(0.01)
    other = store.jobs.add("report", {})
    assert store.jobs.claim("w").id == other.id
    failed = store.jobs.get(job.id)
    assert failed.state is JobState.FAILED
    assert failed.error == "3 workers ended before they were done"


def test_a_worker_that_shuts_down_gives_its_job_back_and_that_is_no_try(store):
    job = store.jobs.add("report", {})
    store.jobs.claim("w")
    assert store.jobs.release(job.id, "w")
    assert not store.jobs.release(job.id, "w")
    assert store.jobs.claim("next").tries == 1


def test_a_job_that_failed_says_why(store):
    job = store.jobs.add("report", {})
    store.jobs.claim("w")
    assert store.jobs.fail(job.id, "w", "the judge is down, key sk-" + "a1" * 12)
    assert store.jobs.get(job.id).error == "the judge is down, key [redacted]"


def test_a_cancelled_job_is_not_done_and_its_worker_is_told(store):
    waiting, running = store.jobs.add("report", {}, id="a"), store.jobs.add("report", {}, id="b")
    assert store.jobs.cancel(waiting.id)
    assert store.jobs.claim("w").id == running.id
    assert store.jobs.cancel(running.id)
    assert not store.jobs.beat(running.id, "w")
    assert not store.jobs.cancel(running.id)
    assert store.jobs.claim("w") is None


def test_jobs_are_listed_the_newest_first_by_owner_and_kind(store):
    for i in range(5):
        store.jobs.add("report" if i % 2 else "export", {}, owner="k1" if i < 3 else "k2", id=f"j{i}")
    page = store.jobs.page(limit=2)
    assert [job.id for job in page.items] == ["j4", "j3"]
    assert [job.id for job in store.jobs.page(after=page.next).items] == ["j2", "j1", "j0"]
    assert [job.id for job in store.jobs.page(owner="k1", kind="export").items] == ["j2", "j0"]


def test_what_is_not_there_is_none(store):
    assert store.jobs.get("x") is store.jobs.payload("x") is store.jobs.result("x") is None
    with pytest.raises(ValueError, match="not a cursor"):
        store.jobs.page(after="x")
