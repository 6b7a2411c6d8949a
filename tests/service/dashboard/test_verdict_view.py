"""What of a stored verdict a page shows."""

import json

from markupsafe import Markup

from likewise.service.dashboard.verdict_view import highlighted, verdict_view
from service_history import ALSO, ATTACK, NO, YES, verdict_of


def body_of(*answers, **more):
    """As the history gives it: through JSON and back."""
    return json.loads(json.dumps(verdict_of(*answers, **more).as_json()))


# The clash in the text


def test_sentences_are_marked_where_they_stand_and_everything_is_escaped():
    text = "It is <b>safe</b>. Take two. It is <b>safe</b>."
    assert highlighted(text, ["It is <b>safe</b>."]) == Markup(
        "<mark>It is &lt;b&gt;safe&lt;/b&gt;.</mark> Take two. It is &lt;b&gt;safe&lt;/b&gt;."
    )


def test_marks_that_overlap_become_one_after_the_other_and_lose_no_letter():
    assert highlighted("abcdef", ["bcd", "cde", "cd"]) == Markup("a<mark>bcd</mark><mark>e</mark>f")
    assert highlighted("abc", ["", "x", "abc"]) == Markup("<mark>abc</mark>")
    assert highlighted("abc", []) == Markup("abc")


# Runs


def test_runs_have_their_class_their_clash_and_the_consensus_is_named():
    view = verdict_view(body_of(YES, NO, ALSO))
    assert [(run.letter, run.colour, run.chosen, run.contradicts) for run in view.runs] == [
        ("A", 1, True, (1,)),
        ("B", 2, False, (0, 2)),
        ("A", 1, False, (1,)),
    ]
    assert {(clash.run_i, clash.run_j) for clash in view.clashes} == {(0, 1), (1, 2)}
    assert not view.served
    assert view.answer == YES


def test_a_failed_run_is_shown_as_failed_and_has_no_class():
    view = verdict_view(body_of(YES, RuntimeError("no <b>answer</b>"), ALSO))
    run = view.runs[1]
    assert (run.letter, run.colour, run.plain) == ("", 0, "")
    assert "no <b>answer</b>" in run.failure
    assert [card.value for card in view.cards if card.name == "runs failed"] == ["1"]


def test_fields_of_a_structured_answer_stand_apart_and_the_whole_output_is_kept():
    answer = json.dumps(
        {"main_answer": YES, "key_findings": ["30 days"], "confidence": "HIGH", "sources_used": ["https://a.example/x"]}
    )
    run = verdict_view(body_of(answer, answer)).runs[0]
    assert (run.plain, run.findings, run.sources) == (YES, ("30 days",), ("https://a.example/x",))
    assert run.confidence == "HIGH"
    assert json.loads(run.raw)["main_answer"] == YES


def test_figures_have_an_interval_or_the_reason_why_there_is_none():
    cards = {card.name: card for card in verdict_view(body_of(YES, NO)).cards}
    assert cards["reliability"].value == "0.00"
    assert cards["reliability"].spread
    assert cards["findings vary"].value == "–"
    assert "list findings" in cards["findings vary"].spread


def test_a_text_that_attacks_is_escaped_where_it_is_markup():
    view = verdict_view(body_of(ATTACK, NO, query=ATTACK))
    assert "<script>" not in str(view.runs[0].answer)
    assert view.query == ATTACK  # a plain text: the template escapes it
    assert not isinstance(view.query, Markup)


# What another version has stored


def test_a_verdict_with_parts_missing_is_shown_without_them():
    view = verdict_view(
        {"query": "?", "decision": "failed", "audit_trail": [{"run": 0, "failure": {"kind": "timeout"}}]}
    )
    assert view.label == "NOT_MEASURED"
    assert view.runs[0].failure == "timeout: None"
    assert {card.value for card in view.cards if card.name != "runs agree"} == {"–"}
    assert verdict_view({}).runs == ()


def test_half_an_estimate_is_no_number():
    view = verdict_view({"reliability_interval": {"value": 0.5, "low": 0.4}, "divergence": {"value": "high"}})
    cards = {card.name: card for card in view.cards}
    assert (cards["reliability"].value, cards["reliability"].spread) == ("–", "not stored as a number")
    assert cards["RSD of answers"].value == "–"
