from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.formats.registry import read_rollouts
from likewise.reliability.fields import AnswerFields
from likewise.reliability.runs import Failure, FailureKind, RunRecord, Usage
from likewise.store.records import FAILED, Origin, VerdictRecord, full_entry, join_body
from likewise.store.redaction import Redactor
from verdicts_factory import NO, NOON, YES, record_of, verdict_of

PLAIN = Redactor()
LOST = RunRecord(3, failure=Failure(FailureKind.TIMEOUT, "no answer in 2 s"), seconds=2.0)


def as_read(value):
    return json.loads(json.dumps(value))


def test_a_verdict_comes_back_from_its_rows_as_it_was():
    verdict = verdict_of(YES, NO, YES, failed=[LOST])
    rows = VerdictRecord.of(verdict, Origin("bot")).rows(PLAIN)
    entries = [full_entry(run["entry"], run["rollout"]) for run in rows.runs]
    clashes = [(clash["kind"], clash["pair"]) for clash in rows.clashes]
    assert join_body(rows.verdict["body"], entries, clashes) == as_read(verdict.as_json())
    assert len(clashes) == 2  # runs 0 and 1, 1 and 2


def test_a_run_is_kept_once_as_a_rollout_that_our_own_format_reads(tmp_path):
    rows = VerdictRecord.of(verdict_of(YES, NO, failed=[LOST]), Origin("bot", "v1", "model-a", "safety"), id="v").rows(
        PLAIN
    )
    assert all("text" not in run["entry"] for run in rows.runs)
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(json.dumps(run["rollout"]) for run in rows.runs))
    found = list(read_rollouts([path]))
    assert [(each.task_id, each.run_id, each.answer) for each in found] == [
        ("safety", "v#0", YES),
        ("safety", "v#1", NO),
        ("safety", "v#2", None),
    ]
    assert found[2].problem == "timeout: no answer in 2 s"
    assert found[0].meta["likewise"] == {"verdict": "v", "agent": "bot", "version": "v1", "model": "model-a"}


def test_the_columns_are_what_lists_and_trends_show():
    runs = [RunRecord(i, text, AnswerFields(text), usage=Usage(10, i)) for i, text in enumerate((YES, NO, YES))]
    verdict = verdict_of(*runs)
    row = (
        VerdictRecord.of(verdict, Origin("bot", "v1", "m", "t", "/v1/analyze", "abc"), id="x", created=NOON)
        .rows(PLAIN)
        .verdict
    )
    assert {name: row[name] for name in row if name not in ("body", "signature", "query", "answer")} == {
        "id": "x",
        "created": NOON,
        "day": NOON.date(),
        "agent": "bot",
        "version": "v1",
        "model": "m",
        "task": "t",
        "route": "/v1/analyze",
        "caller": "abc",
        "decision": "refuse",
        "label": "CRITICAL",
        "reliability": pytest.approx(1 / 3),  # two of three pairs disagree
        "reliability_low": verdict.reliability_estimate.low,
        "reliability_high": verdict.reliability_estimate.high,
        "reliability_reason": None,
        "contradiction": 1.0,
        "contradictory": True,
        "divergence": pytest.approx(2 / 3),
        "runs": 3,
        "runs_failed": 0,
        "runs_agreed": "2/3",
        "needs_review": True,
        "seconds": None,
        "input_tokens": 30,
        "output_tokens": 3,
    }
    assert row["signature"].startswith("likewise:")
    assert "|judge:" in row["signature"]


def test_what_was_withheld_is_shown_in_lists_all_the_same():
    row = record_of().rows(PLAIN).verdict
    assert row["body"]["answer"] is None
    assert row["answer"] == YES


def test_a_query_whose_runs_all_failed_is_a_record_with_reasons_in_place_of_numbers():
    record = VerdictRecord.of_failure("Is it?", "all runs failed", [LOST], Origin("bot"))
    row = record.rows(PLAIN).verdict
    assert (row["decision"], row["label"], row["reliability"], row["contradiction"]) == (
        FAILED,
        "NOT_MEASURED",
        None,
        None,
    )
    assert row["reliability_reason"] == "no run gave an answer"
    assert row["runs_failed"] == row["runs"] == 1
    assert set(record.body) == set(verdict_of().as_json())
    assert {type(value) for value in record.body["variance_report"].values()} == {dict}


def test_a_record_without_a_task_gets_one_of_its_query():
    first, second, other = record_of(), record_of(NO, NO), record_of(query="Is Y?")
    assert first.origin.task == second.origin.task != other.origin.task


def test_a_retry_may_name_the_record_and_each_record_has_a_name():
    assert record_of(id="mine").id == "mine"
    assert record_of().id != record_of().id


def test_whole_rollouts_are_kept_in_place_of_their_last_turns():
    turns = (
        Turn((Observation("user", "Hi"),), Action("Who are you?")),
        Turn((Observation("user", "Me"),), Action(YES)),
    )
    whole = [Rollout("their task", f"their run {i}", turns) for i in range(2)]
    rows = VerdictRecord.of(verdict_of(YES, YES), Origin("bot", task="t"), rollouts=whole, id="v").rows(PLAIN)
    assert len(rows.runs[0]["rollout"]["turns"]) == 2
    assert rows.runs[1]["rollout"]["run_id"] == "v#1"
    assert rows.runs[1]["rollout"]["meta"]["likewise"]["run_id"] == "their run 1"
    assert full_entry(rows.runs[0]["entry"], rows.runs[0]["rollout"])["text"] == YES


def test_there_is_one_rollout_for_each_run():
    with pytest.raises(ValueError, match="1 rollouts for 2 runs"):
        VerdictRecord.of(verdict_of(YES, YES), Origin("bot"), rollouts=[Rollout("t", "r", (), StopReason.FINISHED)])


@pytest.mark.parametrize("id", ["", "x" * 65, "naïve", "two\nlines"])
def test_a_name_that_no_index_or_url_holds_is_refused(id):
    with pytest.raises(ValueError, match="1 to 64 printable ASCII"):
        record_of(id=id)


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        VerdictRecord.of(verdict_of(), Origin("bot"), created=datetime(2026, 1, 1))
    assert record_of().created.tzinfo is UTC


def test_an_origin_has_an_agent_and_names_that_an_index_holds():
    with pytest.raises(ValueError, match="name of its agent"):
        Origin(" ")
    for name in ("agent", "version", "model", "task", "route", "caller"):
        with pytest.raises(ValueError, match=f"{name} has more than 200 characters"):
            Origin(**{"agent": "bot", name: "x" * 201})


def test_what_is_no_json_is_refused_when_the_record_is_made():
    run = RunRecord(0, YES, AnswerFields(YES), meta={"score": float("nan")})
    with pytest.raises(ValueError, match="no JSON"):
        VerdictRecord.of(verdict_of(run, YES), Origin("bot"))


def test_a_record_beyond_all_measure_is_refused(monkeypatch):
    monkeypatch.setattr("likewise.store.records.LARGEST", 1000)
    with pytest.raises(ValueError, match="at most 1,000"):
        record_of()


def test_what_the_caller_changes_later_is_not_what_is_written():
    meta = {"seed": 1}
    record = VerdictRecord.of(verdict_of(RunRecord(0, YES, AnswerFields(YES), meta=meta), YES), Origin("bot"))
    meta["seed"] = 2
    assert record.rows(PLAIN).runs[0]["entry"]["meta"] == {"seed": 1}


def test_secrets_are_out_of_every_part_of_the_rows():
    key = "sk-" + "a1B2" * 8
    run = RunRecord(0, f"The key is {key}", AnswerFields(f"The key is {key}"), meta={key: key})
    verdict = verdict_of(run, YES, query=f"what is {key}?")
    record = VerdictRecord.of(verdict, Origin(f"bot {key}", task=f"task {key}", caller=key))
    rows = record.rows(PLAIN)
    assert key not in repr(rows)
    assert rows.runs[0]["rollout"]["task_id"] == rows.verdict["task"] == "task [redacted]"
