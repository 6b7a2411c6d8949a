from __future__ import annotations

import json

import pytest

from data_folder import data_folder
from judges import FailingJudge, TableJudge
from likewise.backends import english_only
from likewise.backends.english_only import EnglishOnly, foreign_language
from likewise.backends.judge_each import judge_each
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.core.state_text import canonical_text
from likewise.scoring.stored_judge import StoredJudge

ENGLISH = [
    "Your booking has been cancelled.",
    "Retrieve order details for order ID '#W6390527'.",
    'modify_user_address({"user_id":"fatima_taylor_3452","address1":"922 Pine Lane","city":"Phoenix"})',
    "No. Refund order #W5490111 to PayPal and order #W7387996 to Visa.",
    "Merci beaucoup pour votre aide! That's all for now.",  # more English than not: no sure case
    "I have booked Noah Müller and Sofía Hernández on HAT123 from JFK to GRU for $1,204.50.",
    "def total(prices):\n    return sum(prices) * 1.19",
    "<div class='order'><b>3 items</b></div>",
    "OK",
    "function",
    "a0b1c2d3e4f5",
    "12:30, 14.05.2024, 77 %",
    "😀😀😀",
    "",
    " ",
    "\u200b\u200d\u2060",
    "\ud800",
    "①②③",
    "ＹＯＵＲ ＯＲＤＥＲ ＨＡＳ ＢＥＥＮ ＳＥＮＴ",
    "x" * 200_000,
]
FOREIGN = {
    "es": "Su reserva ha sido cancelada.",
    "fr": "Je suis désolé, je ne peux pas rembourser ce billet.",
    "de": "Können Sie mir bitte Ihre Benutzerkennung nennen?",
    "pt": "Infelizmente não posso reembolsar este bilhete.",
    "it": "Mi dispiace, non posso rimborsare questo biglietto.",
    "nl": "Bestelling #W5490111 is gisteren verzonden.",
    "pl": "Twoja rezerwacja została anulowana.",
    "tr": "Rezervasyonunuz iptal edildi.",
    "ru": "К сожалению, я не могу вернуть деньги.",
    "ja": "ご予約はキャンセルされました。",
    "zh": "很抱歉，这张机票不能退款。",
    "ko": "예약이 취소되었습니다.",
    "ar": "تم إلغاء حجزك.",
    "hi": "आपकी बुकिंग रद्द कर दी गई है।",
}


@pytest.mark.parametrize("text", ENGLISH, ids=lambda text: text[:30].encode("unicode_escape").decode())
def test_english_with_names_ids_and_code_is_never_called_foreign(text):
    assert foreign_language(text) is None


@pytest.mark.parametrize(("code", "text"), FOREIGN.items())
def test_other_languages_are_named(code, text):
    assert foreign_language(text) == code


def test_a_foreign_pair_fails_with_its_language_and_the_others_are_judged():
    judge = TableJudge()
    pairs = [("a b", "c"), (FOREIGN["es"], "x y"), ("x y", FOREIGN["fr"]), ("d", "e")]
    outcomes = dict(judge_each(EnglishOnly(judge), pairs))
    assert list(judge.calls) == [("a b", "c"), ("d", "e")]
    assert set(judge.calls.values()) == {1}
    assert outcomes["a b", "c"] == Judgement.certain(Relation.NEUTRAL, "nli")
    assert outcomes[pairs[1]].problem.startswith("language es ")
    assert outcomes[pairs[2]].problem.startswith("language fr ")


def test_a_stored_judge_goes_on_after_each_foreign_pair():
    stored = StoredJudge(EnglishOnly(TableJudge()))
    answers = stored.ask([(FOREIGN["de"], "b"), ("a", "b"), ("a", FOREIGN["ja"])])
    assert answers[FOREIGN["de"], "b"].startswith("language de ")
    assert answers["a", FOREIGN["ja"]].startswith("language ja ")
    assert answers["a", "b"].relation is Relation.NEUTRAL
    assert stored.from_judge == 1


def test_pairs_are_answered_in_order_over_chunks(monkeypatch):
    monkeypatch.setattr(english_only, "CHUNK", 2)
    pairs = [("a", "b"), (FOREIGN["es"], "b"), ("a", "c"), ("a", "d"), ("a", FOREIGN["fr"]), (FOREIGN["fr"], "e")]
    judge = TableJudge({("a", "c"): Relation.CONTRADICTORY})
    outcomes = list(judge_each(EnglishOnly(judge), pairs))
    assert [pair for pair, _ in outcomes] == pairs
    kinds = [o.relation if isinstance(o, Judgement) else "foreign" for _, o in outcomes]
    neutral = Relation.NEUTRAL
    assert kinds == [neutral, "foreign", Relation.CONTRADICTORY, neutral, "foreign", "foreign"]


def test_a_failure_of_the_guarded_judge_is_its_pairs_own():
    pairs = [("a", "b"), ("bad", "c"), (FOREIGN["es"], "c"), ("a", "d")]
    outcomes = list(judge_each(EnglishOnly(FailingJudge(on={"bad"})), pairs))
    assert [type(outcome) for _, outcome in outcomes] == [Judgement, LabelError, LabelError, Judgement]


def test_progress_counts_each_pair_once():
    steps = []

    class Bar:
        def advance(self, count=1):
            steps.append(count)

    list(judge_each(EnglishOnly(TableJudge()), [("a", "b"), (FOREIGN["es"], "b"), ("a", "c")], Bar()))
    assert sum(steps) == 3


def test_a_judge_that_gives_too_many_answers_is_found_out():
    class Talkative(TableJudge):
        def judge(self, pairs, progress=None):
            yield from super().judge([*pairs, ("more", "more")])

    with pytest.raises(ValueError, match="more answers than pairs"):
        list(EnglishOnly(Talkative()).judge([("a", "b")]))


def test_the_guard_is_a_part_of_the_judges_id():
    assert EnglishOnly(TableJudge()).judge_id == "table+english-1"


def test_no_pairs_no_answers():
    assert list(EnglishOnly(TableJudge()).judge([])) == []


def strings(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield canonical_text(value)


@pytest.mark.data
def test_no_text_of_english_runs_and_labels_is_called_foreign():
    texts = set()
    for path in (data_folder() / "rollouts" / "tau-bench").glob("*.json"):
        texts.update(strings(json.loads(path.read_text(encoding="utf-8"))))
    for path in [*(data_folder() / "gold").glob("*.jsonl"), *(data_folder() / "silver").glob("*.jsonl")]:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            texts.update(strings([row["action_a"], row["action_b"]]))
    assert len(texts) > 10_000
    assert [(foreign_language(text), text[:80]) for text in texts if foreign_language(text)] == []
