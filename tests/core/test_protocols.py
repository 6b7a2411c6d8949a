from __future__ import annotations

from judges import FailingJudge, LetterEncoder, NeverJudge, TableJudge
from likewise.core.labels import Relation
from likewise.core.protocols import Encoder, Judge, no_progress


def test_no_progress_takes_every_step_and_shows_nothing(capsys):
    with no_progress("judging", total=3) as task:
        task.advance()
        task.advance(2)
    assert capsys.readouterr() == ("", "")


def test_a_judge_and_an_encoder_need_not_inherit_anything():
    judges: list[Judge] = [TableJudge(), FailingJudge(), NeverJudge()]
    encoders: list[Encoder] = [LetterEncoder()]
    assert [judge.judge_id for judge in judges] == ["table", "table", "never"]
    assert [encoder.encoder_id for encoder in encoders] == ["letters"]


def test_the_table_judge_answers_in_order_and_knows_both_orders_of_a_pair():
    judge = TableJudge({("a", "b"): Relation.CONTRADICTORY}, default=Relation.EQUIVALENT)
    answers = judge.judge([("b", "a"), ("a", "c"), ("a", "b")])
    assert [answer.relation for answer in answers] == [
        Relation.CONTRADICTORY,
        Relation.EQUIVALENT,
        Relation.CONTRADICTORY,
    ]
    assert judge.calls == {("b", "a"): 1, ("a", "c"): 1, ("a", "b"): 1}
