"""/v1/reports: a file in, a report out, with progress in between; over a real service with real workers."""

from __future__ import annotations

import json
import threading
import time

import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.labels import Relation
from likewise.evaluation.evaluate import evaluate
from likewise.formats.registry import read_rollouts
from likewise.report.as_json import evaluation_as_json
from likewise.service.schemas import JobOut
from likewise.service.security.keys import Scope
from service_process import saying

CLASH = {("Take the bus home.", "Walk along the river."): Relation.CONTRADICTORY}


class SlowJudge(TableJudge):
    """Waits before every pair until it may go on."""

    def __init__(self):
        super().__init__(CLASH)
        self.may_go_on = threading.Event()
        self.asked = threading.Event()

    def judge(self, pairs, progress=None):
        if ("The service starts.", "The service has started.") not in pairs:
            self.asked.set()
            self.may_go_on.wait(30)
        return super().judge(pairs, progress)


@pytest.fixture
def file(runs_file):
    return runs_file(
        {
            "a": {"1": ["Take the bus home."], "2": ["Walk along the river."]},
            "b": {"1": ["Take the bus home."], "2": ["Take the bus home."]},
        }
    )


def until_ended(client, job, seconds=30):
    ends = time.monotonic() + seconds
    while True:
        found = client.get(f"/v1/reports/{job}").json()
        if found["finished"] is not None:
            return found
        assert time.monotonic() < ends, found
        time.sleep(0.05)


def test_an_uploaded_file_becomes_the_report_that_the_command_gives(start, file):
    service, _ = start(saying(""), judge=TableJudge(CLASH))
    with service.client() as client:
        added = client.post("/v1/reports", params={"name": file.name}, content=file.read_bytes())
        assert added.status_code == 202
        JobOut.model_validate(added.json())
        job = added.json()["id"]
        assert added.headers["location"] == f"/v1/reports/{job}"
        ended = until_ended(client, job)
        assert (ended["state"], ended["error"]) == ("done", None)
        report = client.get(ended["result_url"]).json()
    expected = evaluation_as_json(evaluate(read_rollouts([file]), judge=TableJudge(CLASH), encoder=LetterEncoder()))
    assert report == json.loads(json.dumps(expected).replace(f"{file.parent}/", ""))
    assert report["tasks"][0]["task_id"] == "a"


def test_each_step_comes_as_an_event_and_the_last_one_ends_the_stream(start, file):
    judge = SlowJudge()
    service, _ = start(saying(""), judge=judge)
    with service.client() as client:
        job = client.post("/v1/reports", content=file.read_bytes()).json()["id"]
        found = []
        with client.stream("GET", f"/v1/reports/{job}/events") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    found.append([line[7:]])
                elif line.startswith("data: "):
                    found[-1].append(json.loads(line[6:]))
                    if found[-1][1]["state"] == "running":
                        judge.may_go_on.set()
    assert [name for name, _ in found][-1] == "done"
    assert {name for name, _ in found[:-1]} == {"progress"}
    assert "running" in [data["state"] for _, data in found]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"hello", "not a rollout file of a known format"), (b'{"schema": "likewise.rollout/9"}\n', "not known to this")],
)
def test_a_file_that_cannot_be_read_is_a_failed_report_that_says_why(start, content, words):
    service, _ = start(saying(""))
    with service.client() as client:
        job = client.post("/v1/reports", params={"name": "runs.jsonl"}, content=content).json()["id"]
        ended = until_ended(client, job)
        result = client.get(f"/v1/reports/{job}/result")
    assert ended["state"] == "failed"
    assert words in ended["error"]
    assert "/tmp" not in ended["error"]
    assert (result.status_code, result.json()["error"]["code"]) == (409, "report_not_done")


def test_a_report_that_nobody_wants_any_more_is_given_up(start, file):
    judge = SlowJudge()
    service, _ = start(saying(""), judge=judge)
    with service.client() as client:
        job = client.post("/v1/reports", content=file.read_bytes()).json()["id"]
        assert judge.asked.wait(20)
        assert client.delete(f"/v1/reports/{job}").json()["state"] == "cancelled"
        judge.may_go_on.set()
        other = client.post("/v1/reports", content=file.read_bytes()).json()["id"]
        assert until_ended(client, other)["state"] == "done"
        assert client.get(f"/v1/reports/{job}").json()["state"] == "cancelled"


def test_a_report_is_its_owners_and_readers(start, file):
    service, _ = start(saying(""), jobs=False)
    owner, other = service.make_key(Scope.SCORE), service.make_key(Scope.SCORE)
    reader = service.make_key(Scope.SCORE, Scope.READ)
    with service.client() as client:
        headers = {"Authorization": f"Bearer {owner}"}
        job = client.post("/v1/reports", content=file.read_bytes(), headers=headers).json()["id"]
        seen = [
            client.get(f"/v1/reports/{job}", headers={"Authorization": f"Bearer {key}"}).status_code
            for key in (owner, reader, other)
        ]
        assert client.get("/v1/reports/none").status_code == 404
    assert seen == [200, 200, 404]


@pytest.mark.parametrize(
    ("params", "content", "status"),
    [
        ({"format": "nonsense"}, b"{}", 400),
        ({"gamma": "1"}, b"{}", 400),
        ({"gamma": "nan"}, b"{}", 400),
        ({}, b"", 400),
        ({}, b"x" * 3_000, 413),
    ],
)
def test_what_cannot_be_is_refused_at_once(start, params, content, status):
    service, _ = start(saying(""), max_upload_bytes=2_000)
    with service.client() as client:
        assert client.post("/v1/reports", params=params, content=content).status_code == status


def test_a_name_of_a_file_leads_to_no_other_folder(start, file, tmp_path):
    service, _ = start(saying(""), judge=TableJudge(CLASH))
    with service.client() as client:
        added = client.post("/v1/reports", params={"name": "../../evil.jsonl"}, content=file.read_bytes())
        assert until_ended(client, added.json()["id"])["state"] == "done"
    assert list(tmp_path.rglob("evil*")) == []


def test_live_requests_are_answered_while_a_report_is_made(start, file):
    judge = SlowJudge()
    service, _ = start(saying("Same."), judge=judge)
    with service.client() as client:
        client.post("/v1/reports", content=file.read_bytes())
        assert judge.asked.wait(20)
        assert client.get("/healthz").status_code == 200  # the loop is free, though the judge is held
        judge.may_go_on.set()
        asked = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
        assert client.post("/v1/chat/completions", json=asked).status_code == 200
