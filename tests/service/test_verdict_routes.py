"""GET /v1/verdicts: filters and pages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from likewise.service.schemas import VerdictPageOut
from service_process import saying


def test_verdicts_are_listed_by_filter_the_newest_first_and_page_by_page(start):
    service, _ = start(saying("Yes."))
    with service.client() as client:
        for number in range(5):
            body = {"query": f"q{number}", "answers": ["a", "a"], "agent_name": "even" if number % 2 == 0 else "odd"}
            assert client.post("/v1/score", json=body | {"task_id": f"t{number}"}).status_code == 200
        first = client.get("/v1/verdicts", params={"agent": "even", "limit": 2}).json()
        VerdictPageOut.model_validate(first)
        second = client.get("/v1/verdicts", params={"agent": "even", "limit": 2, "after": first["next"]}).json()
        one = client.get("/v1/verdicts", params={"task_id": "t3"}).json()
        tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        later = client.get("/v1/verdicts", params={"since": tomorrow}).json()
        none = client.get("/v1/verdicts", params={"contradictory": "true"}).json()
        naive = client.get("/v1/verdicts", params={"until": "2020-01-01T00:00:00"}).json()
    assert [each["query"] for each in first["items"] + second["items"]] == ["q4", "q2", "q0"]
    assert second["next"] is None
    assert [(each["task_id"], each["query"]) for each in one["items"]] == [("t3", "q3")]
    listed = one["items"][0]  # a number, and the same with its interval, as a verdict has them
    assert listed["reliability"] == listed["reliability_interval"]["value"] == 1.0
    assert later["items"] == none["items"] == naive["items"] == []


def test_a_time_beyond_the_calendar_is_refused(start):
    service, _ = start(saying("Yes."))
    with service.client() as client:
        answer = client.get("/v1/verdicts", params={"since": "0001-01-01T00:00:00+14:00"})
    assert answer.status_code == 400
