import json
from dataclasses import replace

from likewise.core.estimate import Estimate
from likewise.core.rollout import StopReason
from likewise.report.as_json import SCHEMA, evaluation_as_json
from report_factory import HOSTILE, evaluation, hostile_evaluation, rollout, task


def strict(value: object) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(json.dumps(value, allow_nan=False), parse_constant=refuse)


def test_the_keys_that_others_rely_on_are_there():
    report = strict(evaluation_as_json(evaluation([task(contradictory_at=(0, 1, 1))])))
    assert report["schema"] == SCHEMA == "likewise.report/1"
    assert report["signature"]["gamma"] == 0.8
    assert report["signature"]["text"].startswith("likewise:0.1.0|")
    summary = report["summary"]
    assert (summary["tasks"], summary["rollouts"], summary["valid"]) == (1, 2, 2)
    assert set(summary["rsd"]) >= {"value", "low", "high"}
    assert summary["pass_hat_k"]["1"]["value"] == 0.5
    assert summary["pass_at_k"]["2"]["value"] == 0.7
    one = report["tasks"][0]
    for key in ("success_rate", "rsd", "rsd_normalised", "aligned_rsd", "total_variance"):
        assert one[key]["value"] is not None
    assert (one["task_id"], one["rollouts"], one["valid"]) == ("task 1", 2, 2)
    assert one["first_fork"]["turn"] == 1
    assert one["first_fork"]["kind"] == "claim"
    assert one["first_fork"]["cause"] == "agent"
    assert one["first_fork"]["classes"] == [["run 1"], ["run 2"]]
    assert one["contradictions"]["critical"][0]["text_i"] == "refund given"
    assert [turn["mean_distance"] for turn in one["turns"]] == [0.0, 1.0]
    assert one["outcomes"] == {"successes": 1, "known": 2, "invalid": 0}
    assert summary["success_rate_all"] is None
    assert (summary["pass_left_out"], summary["tasks_without_valid"]) == ({}, [])


def test_both_denominators_and_what_pass_k_leaves_out_are_there():
    runs = [rollout("t", "a", ["x"]), rollout("t", "b", [], stop=StopReason.INVALID, problem="died", success=None)]
    result = evaluation([task("t", runs, rsd=None)])
    summary = replace(
        result.summary,
        success_rate_all=Estimate(0.5, reason="one task"),
        pass_left_out={2: ("t",)},
        tasks_without_valid=("u",),
    )
    report = strict(evaluation_as_json(replace(result, summary=summary)))
    assert report["summary"]["success_rate_all"]["value"] == 0.5
    assert report["summary"]["pass_left_out"] == {"2": ["t"]}
    assert report["summary"]["tasks_without_valid"] == ["u"]
    assert report["tasks"][0]["outcomes"] == {"successes": 1, "known": 1, "invalid": 1}


def test_no_fork_is_null():
    runs = [rollout("t", "a", ["x"]), rollout("t", "b", ["x"])]
    assert evaluation_as_json(evaluation([task("t", runs, rsd=0.0)]))["tasks"][0]["first_fork"] is None


def test_an_undefined_number_is_null_with_its_reason():
    report = strict(evaluation_as_json(evaluation([task(rsd=None, rsd_band=(0.5, 1.5))])))
    assert report["tasks"][0]["rsd"] == {"value": None, "reason": "fewer than two valid rollouts"}
    assert report["tasks"][0]["rsd_band"] == {"low": 0.5, "high": 1.5}
    assert report["tasks"][0]["bounds"]["dominant_class"]["value"] is None
    assert report["tasks"][0]["bounds"]["dominant_class"]["reason"]


def test_a_task_that_is_not_placed_says_why():
    tasks = [task(rsd=0.2, success=1.0), task(rsd=0.2, success=1.0, rsd_band=(0.2, 5.0)), task(rsd=0.2, success=None)]
    report = strict(evaluation_as_json(evaluation(tasks)))
    assert [(one["quadrant"], one["quadrant_reason"]) for one in report["tasks"]] == [
        ("consistent and right", None),
        (None, "too little was measured to say"),
        (None, "no outcome is known"),
    ]


def test_a_number_that_is_not_finite_becomes_null():
    one = task(rsd_band=(float("nan"), float("inf")))
    assert strict(evaluation_as_json(evaluation([one])))["tasks"][0]["rsd_band"] == {"low": None, "high": None}


def test_excluded_holds_records_and_invalid_rollouts():
    runs = [
        rollout("t", "a", ["x"]),
        rollout("t", "b", ["x"]),
        rollout("t", "c", [], stop=StopReason.INVALID, problem="harness died", success=None),
    ]
    report = evaluation_as_json(evaluation([task("t", runs)]))
    assert [(x["task_id"], x["run_id"], x["reason"]) for x in report["excluded"]] == [
        ("task 9", None, "no turns"),
        ("t", "c", "harness died"),
    ]
    assert report["excluded"][0] | {"line": 3, "pointer": "/3/traj", "path": "runs.json"} == report["excluded"][0]
    assert (report["tasks"][0]["rollouts"], report["tasks"][0]["valid"]) == (3, 2)


def test_an_invalid_run_takes_no_answer_class_from_another():
    runs = [
        rollout("t", "a", [], stop=StopReason.INVALID, problem="died", success=None),
        rollout("t", "b", ["x"]),
        rollout("t", "c", ["y"]),
    ]
    report = evaluation_as_json(evaluation([task("t", runs)]))
    assert [run["answer_class"] for run in report["tasks"][0]["runs"]] == [None, 0, 1]


def test_hostile_text_survives_as_it_is_and_breaks_nothing():
    report = evaluation_as_json(hostile_evaluation())
    text = json.dumps(report, allow_nan=False)
    assert text.isascii()
    assert [one["task_id"] for one in json.loads(text)["tasks"]] == list(HOSTILE)


def test_an_evaluation_without_tasks_is_a_report_too():
    assert strict(evaluation_as_json(evaluation([])))["tasks"] == []


def test_a_value_without_interval_keeps_its_reason():
    report = evaluation_as_json(evaluation([task(success_rate=Estimate(0.5, reason="one rollout"))]))
    assert report["tasks"][0]["success_rate"] == {"value": 0.5, "low": None, "high": None, "reason": "one rollout"}
