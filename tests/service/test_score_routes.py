"""POST /v1/score and /v1/compare against the layer and the evaluation that they stand for."""

from __future__ import annotations

import json
import time

import pytest

from judges import LetterEncoder, TableJudge
from likewise.core.labels import Relation
from likewise.core.rollout import Action, Observation, Rollout, Turn
from likewise.evaluation.compare import compare
from likewise.evaluation.evaluate import evaluate
from likewise.evaluation.versions import Measuring
from likewise.formats.native import rollout_to_json
from likewise.report.as_json import evaluation_as_json
from likewise.report.compare_json import comparison_as_json
from likewise.service.schemas import ScoreOut
from service_process import running, saying

CLASH = {("Yes.", "No."): Relation.CONTRADICTORY}


@pytest.fixture
def post(start):
    service, _ = start(saying("unused"), judge=TableJudge(CLASH), max_rollouts=40)

    def _post(path, body):
        with service.client() as client:
            return client.post(path, json=body)

    _post.service = service
    return _post


def rollouts(texts, tasks=2):
    return [
        Rollout(f"t{t}", f"t{t}#{run}", (Turn((Observation("user", "?"),), Action(text)),), success=text == "Yes.")
        for t in range(tasks)
        for run, text in enumerate(texts)
    ]


def lines(found):
    return [rollout_to_json(rollout) for rollout in found]


def test_answers_are_scored_and_the_verdict_is_stored(post):
    answer = post("/v1/score", {"query": "?", "answers": ["Yes.", "Yes.", "No."], "agent_name": "nurse"})
    assert answer.status_code == 200
    verdict = answer.json()["verdict"]
    assert (verdict["label"], verdict["runs_agreed"], verdict["decision"]) == ("CRITICAL", "2/3", "refuse")
    # one-hot answers (1,0), (1,0), (0,1): two of three pairs differ
    assert verdict["variance_report"]["answer"]["value"] == pytest.approx(2 / 3)
    ScoreOut.model_validate(answer.json())
    (stored,) = post.service.service.store.verdicts.page().items
    assert (stored.id, stored.agent, stored.route) == (verdict["id"], "nurse", "/v1/score")


def test_fields_and_messages_are_answers_too(post):
    fields = {"main_answer": "Yes.", "key_findings": ["A."], "confidence": "LOW", "sources_used": []}
    calls = [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]
    answers = [fields, fields, {"content": None, "tool_calls": calls}]
    verdict = post("/v1/score", {"answers": answers}).json()["verdict"]
    assert verdict["variance_report"]["findings"]["value"] == 0.0
    assert verdict["audit_trail"][2]["tool_calls"] == [{"name": "f", "arguments": {}}]


def test_an_answer_that_is_none_is_a_failed_run_and_none_at_all_is_refused(post):
    verdict = post("/v1/score", {"answers": ["Yes.", "Yes.", "", {"no": "answer"}]}).json()["verdict"]
    assert (verdict["runs_agreed"], verdict["runs_failed"]) == ("2/2", 2)
    answer = post("/v1/score", {"answers": ["", " "]})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "no_answer")


def test_embedding_variance_may_be_wanted(post):
    verdict = post("/v1/score", {"answers": ["ab", "ab", "cd"], "tv": "embedding"}).json()["verdict"]
    assert verdict["variance_report"]["answer"]["form"] == "embedding"
    # unit vectors u, u, v at right angles: 1/(2n(n-1)) * 4 * 2 = 2/3
    assert verdict["variance_report"]["answer"]["value"] == pytest.approx(2 / 3, abs=1e-6)


def test_rollouts_give_the_report_that_the_command_gives(post):
    runs = rollouts(["Yes.", "Yes.", "No."])
    report = post("/v1/score", {"rollouts": lines(runs)}).json()["report"]
    expected = evaluation_as_json(evaluate(runs, judge=TableJudge(CLASH), encoder=LetterEncoder()))
    assert report == json.loads(json.dumps(expected))


def test_two_versions_are_compared_as_the_command_does(post):
    base, candidate = rollouts(["Yes.", "No."] * 2, 3), rollouts(["Yes."] * 4, 3)
    wanted = {"deciding": ["rsd", "total_variance"], "gamma": 0.8}
    sides = {"base": {"rollouts": lines(base)}, "candidate": {"rollouts": lines(candidate)}}
    answer = post("/v1/compare", {**sides, **wanted})
    assert answer.status_code == 200
    assert answer.json()["deciding"] == wanted["deciding"]
    how = Measuring(judge=TableJudge(CLASH), encoder=LetterEncoder())
    first, second, between = how.both(base, candidate)
    expected = comparison_as_json(compare(first, second, deciding=wanted["deciding"], between=between))
    assert answer.json()["figures"] == json.loads(json.dumps(expected["figures"]))
    assert answer.json()["tasks"] == json.loads(json.dumps(expected["tasks"]))


def test_a_report_may_stand_for_the_runs_of_a_side(post):
    base, candidate = rollouts(["Yes.", "No."], 3), rollouts(["Yes.", "Yes."], 3)
    report = post("/v1/score", {"rollouts": lines(base)}).json()["report"]
    sides = {"base": {"report": report, "name": "v1"}, "candidate": {"rollouts": lines(candidate), "name": "v2"}}
    found = post("/v1/compare", sides).json()
    assert (found["base"], found["candidate"]) == ("v1", "v2")
    assert found["figures"]["rsd"]["difference"]["value"] < 0


class SlowJudge(TableJudge):
    """Needs half a second a turn."""

    def judge(self, pairs, progress=None):
        time.sleep(0.5)
        return super().judge(pairs, progress)


UNSETTLED = ["The parcel left on Monday.", "Nobody has seen the invoice."]  # only a judge can say
TWO = {"rollouts": lines(rollouts(UNSETTLED, 3))}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/score", {"answers": UNSETTLED}),
        ("/v1/score", TWO),
        ("/v1/compare", {"base": TWO, "candidate": TWO}),
    ],
)
def test_what_takes_longer_than_the_settings_allow_is_a_504_that_names_the_way_out(tmp_path, path, body):
    with running(tmp_path, judge=SlowJudge(), score_seconds=0.2) as service, service.client() as client:
        answer = client.post(path, json=body)
        assert service.verdicts() == 0
    assert answer.status_code == 504
    assert answer.headers["x-should-retry"] == "false"
    assert answer.json()["error"] == {
        "message": "not finished within 0.2 s; send fewer runs, or send them to POST /v1/reports",
        "type": "server_error",
        "code": "out_of_time",
        "param": None,
    }


RUN = {"schema": "likewise.rollout/1", "task_id": "t", "run_id": "r", "turns": [{"action": {"text": "Yes."}}]}


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/score", {}, 400, "invalid_request"),
        ("/v1/score", {"answers": ["a"], "rollouts": [RUN]}, 400, "invalid_request"),
        ("/v1/score", {"answers": ["a"] * 101}, 400, "invalid_request"),
        ("/v1/score", {"answers": ["a"], "critical_threshold": 1.5}, 400, "invalid_request"),
        ("/v1/score", {"rollouts": []}, 400, "unreadable_input"),
        ("/v1/score", {"rollouts": [{"schema": "other"}]}, 400, "unreadable_input"),
        ("/v1/score", {"rollouts": [RUN, RUN]}, 400, "unreadable_input"),
        ("/v1/score", {"rollouts": [RUN] * 41}, 413, "too_many_rollouts"),
        ("/v1/compare", {"base": {"rollouts": [RUN]}, "candidate": {}}, 400, "invalid_request"),
        (
            "/v1/compare",
            {"base": {"rollouts": [RUN]}, "candidate": {"rollouts": [RUN | {"task_id": "u"}]}},
            400,
            "unreadable_input",
        ),
        ("/v1/compare", {"base": {"rollouts": [RUN]}, "candidate": {"report": {"a": 1}}}, 400, "unreadable_input"),
        (
            "/v1/compare",
            {"base": {"rollouts": [RUN]}, "candidate": {"rollouts": [RUN]}, "deciding": ["rsdd"]},
            400,
            "invalid_request",
        ),
        ("/v1/compare", {"base": TWO, "candidate": TWO, "gamma": 1}, 400, "invalid_request"),
        ("/v1/compare", {"base": TWO, "candidate": TWO, "gamma": -0.1}, 400, "invalid_request"),
        ("/v1/compare", {"base": TWO, "candidate": TWO, "metric": ["rsd"]}, 400, "invalid_request"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence_without_paths_of_ours(post, path, body, status, code):
    answer = post(path, body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "/tmp" not in answer.text
