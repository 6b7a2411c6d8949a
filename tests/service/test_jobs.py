"""The worker of background reports where something goes wrong beside it."""

from __future__ import annotations

import threading
import time

from judges import TableJudge
from likewise.service.jobs import KIND
from likewise.store.store import Store
from service_process import running, saying


class HeldJudge(TableJudge):
    def __init__(self):
        super().__init__()
        self.asked, self.may_go_on = threading.Event(), threading.Event()

    def judge(self, pairs, progress=None):
        if len(pairs) > 1 or "service" not in pairs[0][0]:
            self.asked.set()
            self.may_go_on.wait(30)
        return super().judge(pairs, progress)


def job_of(store, file):
    return store.jobs.add(KIND, {"name": file.name}, payload=file.read_bytes())


def ended(store, id, seconds=30):
    ends = time.monotonic() + seconds
    while (found := store.jobs.get(id)).finished is None:
        assert time.monotonic() < ends, found
        time.sleep(0.05)
    return found


def test_a_report_under_way_at_shutdown_is_put_back_and_made_by_the_next_process(tmp_path, runs_file):
    file = runs_file({"a": {"1": ["Take the bus home."], "2": ["Walk along the river."]}})
    judge = HeldJudge()
    with running(tmp_path, judge=judge) as first:
        job = job_of(first.service.store, file)
        assert judge.asked.wait(20)
    judge.may_go_on.set()
    with Store.open(f"sqlite:///{tmp_path / 'history.sqlite'}") as store:
        assert (store.jobs.get(job.id).state, store.jobs.get(job.id).tries) == ("queued", 0)
    with running(tmp_path) as second:
        done = ended(second.service.store, job.id)
    assert done.state == "done"
    assert done.done == done.total > 0  # the last count, which no sign of life may have told


def test_a_report_whose_process_died_is_taken_over_when_its_lease_ends(tmp_path, runs_file):
    file = runs_file({"a": {"1": ["Take the bus home."], "2": ["Walk along the river."]}})
    with Store.open(f"sqlite:///{tmp_path / 'history.sqlite'}") as store:
        job = job_of(store, file)
        assert store.jobs.claim("a process that dies", kind=KIND, lease=1.0).id == job.id
    with running(tmp_path) as service:
        assert ended(service.service.store, job.id).state == "done"


def test_a_judge_that_breaks_fails_its_report_and_no_other(start, runs_file):
    class Breaking(TableJudge):
        def judge(self, pairs, progress=None):
            if any("bad" in text for pair in pairs for text in pair):
                raise RuntimeError("a fault with sk-abcdefghijklmnopqrstuvwxyz in it")
            return super().judge(pairs, progress)

    service, _ = start(saying(""), judge=Breaking())
    store = service.service.store
    bad = job_of(store, runs_file({"a": {"1": ["bad 1"], "2": ["bad two"]}}, "bad.jsonl"))
    good = job_of(store, runs_file({"a": {"1": ["Take the bus home."], "2": ["Walk along the river."]}}, "good.jsonl"))
    failed = ended(store, bad.id)
    assert (failed.state, failed.error) == ("failed", "an error of the service itself; its log says more")
    assert ended(store, good.id).state == "done"
    assert 'likewise_jobs_total{state="failed"} 1.0' in service.service.metrics.text().decode()


def test_a_service_that_makes_no_reports_leaves_them_to_others(tmp_path, runs_file):
    with running(tmp_path, jobs=False) as service:
        job = job_of(service.service.store, runs_file({"a": {"1": ["x"], "2": ["y"]}}))
        time.sleep(1.0)
        assert service.service.store.jobs.get(job.id).state == "queued"
