from __future__ import annotations

import gzip
import json

import pytest

from judges import FailingJudge, LeaningJudge, NeverJudge, TableJudge
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import RolloutFormatError
from likewise.core.labels import Relation
from likewise.evaluation import judge_eval
from likewise.evaluation.judge_eval import LabelledPair, LabelledPairs, evaluate_judge, read_labelled_pairs
from likewise.scoring.stored_judge import StoredJudge

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
ACTION = {"action_a": "yes", "action_b": "no", "label": "contradictory", "kind": "claim"}
NLI = {"premise": "a", "hypothesis": "b", "label": "entailment"}


@pytest.fixture
def write(tmp_path):
    def write(*rows, name="pairs.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
        return path

    return write


# Reading


def test_pairs_of_actions_are_read_with_label_and_kind(write):
    path = write(ACTION, "", ACTION | {"label": "equivalent", "kind": None})
    labelled = read_labelled_pairs(path)
    assert (labelled.path, labelled.task) == (str(path), "action")
    assert labelled.pairs == (LabelledPair("yes", "no", 2, "claim"), LabelledPair("yes", "no", 0, ""))


def test_pairs_of_nli_are_told_by_their_fields(write):
    labelled = read_labelled_pairs(write(NLI, NLI | {"label": "contradiction"}))
    assert labelled.task == "nli"
    assert [pair.label for pair in labelled.pairs] == [0, 2]


def test_a_task_asked_for_wins_over_what_the_fields_tell(write):
    both = NLI | ACTION | {"label": "neutral"}
    assert read_labelled_pairs(write(both)).task == "action"
    assert read_labelled_pairs(write(both), "nli").pairs[0].first == "a"


def test_a_compressed_file_reads_like_a_plain_one(tmp_path):
    path = tmp_path / "pairs.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(ACTION).encode()))
    assert len(read_labelled_pairs(path).pairs) == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[" * 100_000, "line 2: not JSON"),
        ("[1]", "line 2, at /: not an object (expected an object a line)"),
        ({"action_a": "x", "label": "neutral"}, "line 2, at /action_b: action_b is no text (expected a string)"),
        (ACTION | {"action_a": 5}, "line 2, at /action_a: action_a is no text"),
        (ACTION | {"label": "maybe"}, "line 2, at /label: unknown label 'maybe'"),
        (ACTION | {"label": ["neutral"]}, "line 2, at /label: unknown label ['neutral']"),
        ({"action_a": "x", "action_b": "y"}, "line 2, at /label: unknown label None"),
        (ACTION | {"label": "entailment"}, "(expected equivalent / neutral / contradictory)"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_what_would_be_right(write, row, message):
    with pytest.raises(RolloutFormatError) as caught:
        read_labelled_pairs(write(ACTION, row))
    assert message in str(caught.value)


def test_a_line_that_is_no_labelled_pair_says_what_one_has(write):
    with pytest.raises(RolloutFormatError, match=r"line 1: no labelled pair \(expected action_a and action_b, or prem"):
        read_labelled_pairs(write({"text": "x"}))


@pytest.mark.parametrize("rows", [(), ("", "  ")])
@pytest.mark.parametrize("task", [None, "nli"])
def test_a_file_without_pairs_is_refused(write, rows, task):
    with pytest.raises(RolloutFormatError, match="the file holds no labelled pair"):
        read_labelled_pairs(write(*rows), task)


def test_an_over_long_line_is_refused_before_it_fills_memory(write, monkeypatch):
    monkeypatch.setattr(judge_eval, "MAX_LINE", 200)
    assert len(read_labelled_pairs(write(ACTION)).pairs) == 1
    with pytest.raises(RolloutFormatError, match="line 2: a line of over 200 characters"):
        read_labelled_pairs(write(ACTION, ACTION | {"action_a": "x" * 300}))


WHOLE = gzip.compress("\n".join(json.dumps(ACTION | {"kind": str(i)}) for i in range(50)).encode(), mtime=0)


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip at all",
        WHOLE[: len(WHOLE) // 2],
        WHOLE[:20] + bytes(255 - byte for byte in WHOLE[20:60]) + WHOLE[60:],
        WHOLE[:-8] + bytes(8),
    ],
    ids=["no gzip", "cut short", "garbled", "wrong checksum"],
)
def test_a_broken_compressed_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "pairs.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(RolloutFormatError, match=r"pairs\.jsonl\.gz"):
        read_labelled_pairs(path)


def test_a_file_that_is_no_text_is_refused_by_name(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RolloutFormatError, match=r"pairs\.jsonl: not readable as text"):
        read_labelled_pairs(path)


# Scores


def labelled(*rows, task="action"):
    return LabelledPairs("pairs.jsonl", task, tuple(LabelledPair(*row) for row in rows))


# true label, guess: EQ EQ, EQ EQ, EQ NE, NE NE, CO NE
ROWS = labelled(
    ("a", "b", 0, "claim"),
    ("a", "c", 0, "claim"),
    ("a", "d", 0, "claim"),
    ("a", "e", 1, "other"),
    ("a", "f", 2, "other"),
)
GUESSES = TableJudge({("a", "b"): EQ, ("a", "c"): EQ}, default=NE)


def test_accuracy_f1_and_confusion_are_those_counted_by_hand():
    score = evaluate_judge(ROWS, StoredJudge(GUESSES))
    assert score.confusion == ((2, 1, 0), (0, 1, 0), (0, 1, 0))
    assert score.accuracy.value == 3 / 5
    # F1: equivalent 2*2/(3+2) = 4/5, neutral 2*1/(1+3) = 1/2, contradictory 0
    assert [c.f1 for c in score.per_class] == [pytest.approx(4 / 5), pytest.approx(1 / 2), 0.0]
    assert score.macro_f1.value == pytest.approx((4 / 5 + 1 / 2 + 0) / 3)
    assert [(c.precision, c.recall, c.support) for c in score.per_class] == [
        (1.0, pytest.approx(2 / 3), 3),
        (pytest.approx(1 / 3), 1.0, 1),
        (None, 0.0, 1),
    ]
    assert score.accuracy.low < 3 / 5 < score.accuracy.high


def test_macro_f1_is_taken_over_the_labels_that_occur():
    score = evaluate_judge(ROWS, StoredJudge(GUESSES))
    accuracy, macro = score.per_kind["claim"]
    # only equivalent occurs: 2 of 3 hit, F1 = 4/5; the class that was wrongly guessed is no class of the truth
    assert (accuracy.value, macro.value) == (pytest.approx(2 / 3), pytest.approx(4 / 5))
    assert list(score.per_kind) == ["claim", "other"]


def test_actions_go_by_rules_and_slots_before_the_judge():
    rows = labelled(
        ('cancel({"order_id": 1})', 'keep({"order_id": 1})', 2, ""),
        ("get({'q': 'x'})", 'get({"q":"x"})', 0, ""),
        ("I refund $5.", "I refund $6.", 2, ""),
        ("same", "same", 0, ""),
    )
    score = evaluate_judge(rows, StoredJudge(NeverJudge()))
    assert score.accuracy.value == 1.0
    assert score.per_kind == {}
    assert f"|rules:{ToolRules().rules_id}|" in score.signature


def test_a_users_rules_are_used_and_named():
    rules = ToolRules(overrides={"different-tools": EQ})
    rows = labelled(("f({})", "g({})", 0, ""))
    score = evaluate_judge(rows, StoredJudge(NeverJudge()), rules)
    assert score.accuracy.value == 1.0
    assert rules.rules_id in score.signature


def test_nli_pairs_go_to_the_judge_alone_and_only_forward_counts():
    # LeaningJudge: the earlier text entails the later one, and the later is neutral to the earlier
    rows = labelled(("a", "b", 0, ""), ("b", "a", 1, ""), ("$5", "$6", 0, ""), task="nli")
    score = evaluate_judge(rows, StoredJudge(LeaningJudge()))
    assert score.confusion == ((2, 0, 0), (0, 1, 0), (0, 0, 0))
    assert score.labels == ("entailment", "neutral", "contradiction")
    assert "rules:" not in score.signature


@pytest.mark.parametrize("task", ["action", "nli"])
def test_pairs_that_cannot_be_judged_count_neither_way(task):
    rows = labelled(("a", "b", 0, "x"), ("a", "z", 2, "y"), task=task)
    score = evaluate_judge(rows, StoredJudge(FailingJudge(on={"z"}, default=EQ, problem="too long")))
    assert (score.accuracy.value, score.accuracy.n) == (1.0, 1)
    assert len(score.not_measured) == 1
    assert list(score.per_kind) == ["x"]


def test_where_nothing_can_be_judged_there_is_a_reason_and_no_number():
    score = evaluate_judge(labelled(("a", "b", 0, "")), StoredJudge(FailingJudge()))
    assert score.accuracy.reason == score.macro_f1.reason == "no pair was judged"
    assert score.confusion == ((0, 0, 0),) * 3
    assert [c.f1 for c in score.per_class] == [None] * 3


def test_the_score_is_plain_json(write):
    score = evaluate_judge(read_labelled_pairs(write(ACTION)), StoredJudge(TableJudge(default=CO)))
    written = json.loads(json.dumps(score.as_json(), allow_nan=False))
    assert written["schema"] == "likewise.judge-eval/1"
    assert written["confusion"]["contradictory"] == {"equivalent": 0, "neutral": 0, "contradictory": 1}
    assert written["per_kind"]["claim"]["accuracy"]["value"] == 1.0
    assert written["per_class"]["neutral"]["f1"] is None
