from __future__ import annotations

import pytest

from judges import LetterEncoder, TableJudge
from likewise.backends.english_only import EnglishOnly
from likewise.core.labels import Judgement, Relation
from likewise.reliability.grounding import Grounding, Source, ground
from likewise.reliability.handling import Handling
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.verdict import Decision

REPORT = "The firm was founded in 1998. It has offices in Oslo.\n\nRevenue was $12 million in 2023. Staff grew."


class ReadingJudge:
    """Entails where the premise holds all words of the hypothesis, contradicts where it says `not` and the rest."""

    judge_id = "reading"

    def judge(self, pairs, progress=None):
        for premise, hypothesis in pairs:
            yield Judgement.from_nli(self.read(premise, hypothesis), self.read(hypothesis, premise))

    @staticmethod
    def read(premise, hypothesis):
        has, wants = (set(text.lower().replace(".", "").split()) for text in (premise, hypothesis))
        if wants <= has:
            return (0.9, 0.1, 0.0)
        if wants - {"not"} <= has and "not" in wants:
            return (0.0, 0.1, 0.9)
        return (0.0, 1.0, 0.0)


def statuses(answer, source=REPORT, **more):
    return [s.status for s in ground(answer, [Source("report", source)], ReadingJudge(), **more).sentences]


def test_each_sentence_has_its_status_and_the_passage_with_its_offsets():
    answer = "The firm was founded in 1998. It has not offices in Oslo. The moon is far away. Is that so?"
    report = ground(answer, {"report": REPORT}, ReadingJudge(), LetterEncoder())
    assert [s.status for s in report.sentences] == [
        Grounding.SUPPORTED,
        Grounding.CONTRADICTED,
        Grounding.NOT_FOUND,
        Grounding.NO_CLAIM,
    ]
    first, second = report.sentences[:2]
    assert answer[second.start : second.end] == "It has not offices in Oslo."
    assert REPORT[first.passage_start : first.passage_end] == first.passage
    assert "founded in 1998" in first.passage
    assert first.source == "report"
    assert report.share.value == pytest.approx(1 / 3)  # of the three claims
    assert report.contradicted == (second,)


def test_a_value_that_differs_is_a_contradiction_whatever_the_judge_says():
    assert statuses("Revenue was $13 million in 2023.") == [Grounding.CONTRADICTED]
    assert statuses("Revenue was $12 million in 2023.") == [Grounding.SUPPORTED]


def test_a_number_that_no_passage_holds_is_not_supported():
    found = ground("Some 400 people work there now.", {"report": REPORT}, Agreeable()).sentences
    assert [(s.status, s.rule) for s in found] == [(Grounding.NOT_FOUND, "slots:missing")]


def test_a_sentence_spread_over_two_of_the_source_is_found_in_their_window():
    assert statuses("The firm has offices founded in 1998.") == [Grounding.SUPPORTED]


def test_long_sources_are_searched_and_what_is_left_unread_is_said():
    long = " ".join(f"Filler number {i} says nothing." for i in range(3_000)) + " The key is under the mat."
    assert ground("The key is under the mat.", {"a": "The key is under the mat. " + long}, ReadingJudge()).unread
    short = " ".join(f"Filler {i} says nothing." for i in range(300)) + " The key is under the mat."
    assert statuses("The key is under the mat.", short) == [Grounding.SUPPORTED]


def test_no_source_and_no_claim_are_told_apart():
    assert statuses("The key is under the mat.", "") == [Grounding.NOT_FOUND]
    report = ground("Really?", {"report": REPORT}, ReadingJudge())
    assert report.share.value is None
    assert "no claim" in report.share.reason


def test_runs_that_agree_on_what_no_source_says_get_a_warning_of_their_own():
    layer = ReliabilityLayer(judge=ReadingJudge(), encoder=LetterEncoder())
    verdict = layer.score(["The moon is far away."] * 3, sources={"report": REPORT})
    assert verdict.reliability == 1.0
    assert verdict.decision is Decision.FLAG
    assert any(reason.startswith("consistent but ungrounded") for reason in verdict.reasons)
    assert [r.rule for r in verdict.remediation_report.recommendations] == ["ungrounded"]
    strict = ReliabilityLayer(judge=ReadingJudge(), encoder=LetterEncoder(), handling=Handling(ungrounded="refuse"))
    assert strict.score(["The moon is far away."] * 3, sources={"report": REPORT}).answer is None
    assert layer.score(["The firm was founded in 1998."] * 3, sources={"report": REPORT}).decision is Decision.SERVE


def test_a_passage_in_a_language_the_judge_does_not_read_costs_that_passage_alone():
    """A judge of English refuses a pair with French in it; that must neither end the query nor count as unsupported."""
    guarded = EnglishOnly(ReadingJudge())
    french = "La société a été fondée en mille neuf cent quatre-vingt-dix-huit, et ses bureaux se trouvent à Oslo."
    mixed = ground("It has offices in Oslo.", {"en": REPORT, "fr": french}, guarded)
    assert [s.status for s in mixed.sentences] == [Grounding.SUPPORTED]
    nothing = ground("The firm has offices in Oslo.", {"fr": french}, guarded)
    assert [s.status for s in nothing.sentences] == [Grounding.NOT_JUDGED]
    assert nothing.share.value is None
    assert "language fr" in nothing.share.reason
    assert "could not be judged" in nothing.unread[0]


class Agreeable(ReadingJudge):
    """Entails whatever it is given, so that the values alone decide."""

    @staticmethod
    def read(premise, hypothesis):
        return (0.95, 0.05, 0.0)


CARD = '{"payment_id": "gift_card_7359776", "amount": 39, "date": "2024-05-25", "share": 20}'


@pytest.mark.parametrize(
    ("claim", "status"),
    [
        ("You paid $39 with it.", Grounding.SUPPORTED),  # a record gives amounts without a unit
        ("You paid $38 with it.", Grounding.NOT_FOUND),
        ("You paid 20% with it.", Grounding.SUPPORTED),
        ("You paid with Gift Card 7359776.", Grounding.SUPPORTED),  # the end of an id, after its mark
        ("You paid with Gift Card 359776.", Grounding.NOT_FOUND),  # not after its mark
        ("You paid with Gift Card 9776 then.", Grounding.NOT_FOUND),
        ("You paid on May 25 with it.", Grounding.SUPPORTED),  # a date without its year
        ("You paid on May 24 with it.", Grounding.NOT_FOUND),
        ("You paid with it in 2024 already.", Grounding.SUPPORTED),
        ("You paid with it in 2023 already.", Grounding.NOT_FOUND),
    ],
)
def test_values_of_a_record_are_known_without_unit_kind_or_year(claim, status):
    (sentence,) = ground(claim, {"tool": CARD}, Agreeable()).sentences
    assert sentence.status is status, sentence.rule


def test_records_are_read_by_their_own_judge_and_prose_by_the_other():
    class Keeping(ReadingJudge):
        def __init__(self):
            self.premises = set()

        def judge(self, pairs, progress=None):
            self.premises |= {premise for premise, _ in pairs}
            yield from super().judge(pairs, progress)

    prose, records = Keeping(), Keeping()
    source = f"The firm has offices in Oslo.\n{CARD}"
    ground("The firm has offices in Oslo too.", {"both": source}, prose, None, records)
    assert prose.premises == {"The firm has offices in Oslo."}
    assert records.premises == {"payment id: gift_card_7359776; amount: 39; date: 2024-05-25; share: 20"}


def test_hostile_sources_do_not_break_it():
    for source in ("\x00" * 50, "." * 10_000, "a" * 100_000, "\ud800 lone"):
        ground("The firm was founded in 1998.", {"x": source}, TableJudge())


FRENCH = "La société a été fondée en mille neuf cent quatre-vingt-dix-huit, et ses bureaux se trouvent à Oslo."
CHINESE = "本公司于一九九八年在奥斯陆成立，退款将在七个工作日内退回您的信用卡。"
LONG = " ".join(["The firm was founded in 1998."] * 61)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (FRENCH, "1 sentence(s) of the answer could not be judged: "),
        (f"The firm was founded in 1998.\n\n{FRENCH}", "1 sentence(s) of the answer could not be judged: "),
        (f"The firm was founded in 1998.\n\n{CHINESE}", "1 sentence(s) of the answer could not be judged: "),
        (LONG, "1 sentence(s) of the answer, beyond the first 60"),
        ("No.", "the answer, which has no sentence of three words"),
    ],
)
@pytest.mark.parametrize(
    ("verb", "decision"),
    [("noop", Decision.SERVE), ("flag", Decision.FLAG), ("refuse", Decision.REFUSE)],
)
def test_what_was_not_checked_is_never_served_without_a_word_and_the_policy_decides(answer, told, verb, decision):
    """Runs that agree word for word need no judge, so that only the sources can speak against the answer."""
    layer = ReliabilityLayer(
        judge=EnglishOnly(ReadingJudge()), encoder=LetterEncoder(), handling=Handling(ungrounded=verb)
    )
    verdict = layer.score([answer] * 3, sources={"report": REPORT})
    assert verdict.reliability == 1.0
    assert verdict.decision is decision
    assert (verdict.answer is None) is (decision is Decision.REFUSE)
    (reason,) = verdict.reasons
    assert reason.startswith(f"not checked against the sources: {told}")
    assert set(verdict.grounding.unchecked) <= set(verdict.grounding.as_json()["unread"])
    assert layer.score([answer] * 3).decision is Decision.SERVE  # who gives no sources asks for no check


@pytest.mark.parametrize("answer", ["Which firm?", "Sure. Which firm do you mean?", "哪家公司？"])
def test_an_answer_that_asks_back_claims_nothing(answer):
    layer = ReliabilityLayer(judge=ReadingJudge(), encoder=LetterEncoder())
    verdict = layer.score([answer] * 3, sources={"report": REPORT})
    assert (verdict.decision, verdict.reasons) == (Decision.SERVE, ())


class Meaning(LetterEncoder):
    """Knows that two sentences without a common word mean the same."""

    same = ("You get your money back.", "The customer is reimbursed.")

    def encode(self, texts):
        vectors = super().encode(texts) * 0.5
        for row, text in enumerate(texts):
            if text in self.same:
                vectors[row] = 0
                vectors[row, 0] = 1
        return vectors


def test_a_passage_without_a_word_of_the_sentence_is_found_by_meaning_in_a_long_source():
    claim, said = Meaning.same
    source = " ".join([*(f"You get your {i} points back." for i in range(200)), said])
    reader = TableJudge({(said, claim): Relation.EQUIVALENT})
    (found,) = ground(claim, {"terms": source}, reader, Meaning()).sentences
    assert (found.status, found.passage) == (Grounding.SUPPORTED, said)
    (blind,) = ground(claim, {"terms": source}, reader).sentences  # by shared words alone it is not among the nearest
    assert blind.status is Grounding.NOT_FOUND
