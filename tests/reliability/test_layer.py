from __future__ import annotations

import json

import pytest

from judges import LetterEncoder, TableJudge
from likewise import ReliabilityLayer
from likewise.core.errors import AgentError, UnreliableAnswerError
from likewise.core.labels import Relation
from likewise.reliability.agents import current_run
from likewise.reliability.handling import Handling, OnFail
from likewise.reliability.policy import Policy
from likewise.reliability.verdict import Decision, Label

YES, NO = "Drug X is safe.", "Drug X is not safe."
CLASH = TableJudge({(YES, NO): Relation.CONTRADICTORY})


def by_run(*answers):
    """An agent that gives run i the i-th answer, and the last to all further runs; counts its calls."""

    def agent(query):
        agent.queries.append(query)
        return answers[min(current_run().index, len(answers) - 1)]

    agent.queries = []
    return agent


def layer(*args, judge=CLASH, **more):
    return ReliabilityLayer(*args, judge=judge, encoder=LetterEncoder(), **more)


def test_the_readme_line_works_sync_and_async():
    import anyio

    wrapped = ReliabilityLayer(runs=5, mode="adaptive", judge=CLASH, encoder=LetterEncoder()).wrap(
        lambda q: "forty-two"
    )
    assert wrapped.query("?").answer == "forty-two"
    assert anyio.run(wrapped.aquery, "?").answer == "forty-two"


def test_adaptive_stops_after_two_runs_that_agree_and_says_what_it_saved():
    agent = by_run(YES)
    verdict = layer(5, "adaptive").wrap(agent).query("?")
    assert len(agent.queries) == 2
    assert verdict.metadata["runs_saved"] == 3
    assert verdict.metadata["stop_reason"] == "the first two runs agree"
    assert verdict.label is Label.HIGH


def test_adaptive_goes_on_where_two_runs_contradict_each_other_and_reuses_them():
    agent = by_run(YES, NO, YES)
    verdict = layer(5, "adaptive").wrap(agent).query("?")
    assert len(agent.queries) == 5  # 2 + 3, not 2 + 5
    assert [record.index for record in verdict.records] == [0, 1, 2, 3, 4]
    assert verdict.runs_agreed == "4/5"
    assert verdict.label is Label.CRITICAL
    assert verdict.decision is Decision.REFUSE
    assert verdict.answer is None
    assert verdict.consensus_answer == YES
    assert verdict.tool_calls == ()


def test_sequential_stops_when_the_mode_is_settled_and_at_the_budget_otherwise():
    agent = by_run(YES)
    verdict = layer(mode="sequential").wrap(agent).query("?")
    assert len(agent.queries) == 4
    assert "error of at most 0.1" in verdict.metadata["stop_reason"]
    assert verdict.metadata["runs_saved"] == 8

    def alternating(_):
        return f"answer {current_run().index % 2}"

    verdict = layer(mode="sequential").wrap(alternating).query("?")
    assert verdict.metadata["runs_started"] == 12
    assert "not settled" in verdict.metadata["stop_reason"]


def test_sequential_takes_as_many_runs_as_it_is_told_at_most():
    for given in ({"runs": 7}, {"budget_runs": 7}, {"runs": 7, "budget_runs": 7}):
        agent = by_run("answer 0", "answer 1", "answer 2", "answer 3", "answer 4", "answer 5", "answer 6")
        verdict = layer(mode="sequential", **given).wrap(agent).query("?")
        assert (len(agent.queries), verdict.metadata["runs_saved"]) == (7, 0)
        assert "the budget of 7 runs is spent" in verdict.metadata["stop_reason"]
    with pytest.raises(ValueError, match="one number of most runs, got runs=5 and budget_runs=6"):
        layer(5, "sequential", budget_runs=6)
    with pytest.raises(ValueError, match="at least 4 runs; the most are 3"):
        layer(3, "sequential")


def test_full_measures_more_than_standard():
    """Published: standard and full do the same."""
    standard, full = (layer(3, mode).score(["aa", "bb", "aa"]) for mode in ("standard", "full"))
    assert standard.variance_report.answer_embedding.value is None
    assert full.variance_report.answer_embedding.value == pytest.approx(2 / 3)
    assert full.variance_report.answer.value == standard.variance_report.answer.value


def test_one_good_run_is_not_measured_and_none_is_an_error():
    verdict = layer().score([YES, "", ""])
    assert (verdict.reliability, verdict.label, verdict.decision) == (None, Label.NOT_MEASURED, Decision.FLAG)
    assert verdict.answer == YES
    assert verdict.runs_failed == 2
    with pytest.raises(AgentError, match="2 x empty"):
        layer().score(["", ""])
    with pytest.raises(AgentError, match="no run was made"):
        layer().score([])


def test_a_verdict_is_json_with_the_names_that_everything_shares():
    verdict = layer(2).wrap(by_run(YES, NO)).query("Is it safe?")
    read = json.loads(json.dumps(verdict.as_json(), allow_nan=False))
    names = (
        "answer reliability label contradiction_score has_critical_contradiction critical_pairs runs_agreed "
        "variance_report remediation_report audit_trail metadata"
    )
    assert set(names.split()) <= set(read)
    assert set(read["critical_pairs"][0]) >= {"run_i", "run_j", "text_i", "text_j", "score"}
    assert set(read["variance_report"]) >= {"answer", "findings", "citations"}
    assert set(read["remediation_report"]) == {"recommendations", "priority_fix", "needs_human_review"}
    assert set(read["remediation_report"]["recommendations"][0]) >= {
        "dimension",
        "severity",
        "fix",
        "detail",
        "evidence",
    }
    assert read["variance_report"]["answer"]["form"] == "canonical"


def test_the_audit_trail_is_never_cut():
    """Published: audit text cut to 300 characters."""
    long = "word " * 2_000
    trail = layer().score([long, long]).audit_trail
    assert [entry["text"] for entry in trail] == [long, long]


# What is done where an answer does not hold


@pytest.mark.parametrize(
    ("verb", "decision", "answer"),
    [("noop", "serve", YES), ("flag", "flag", YES), ("refuse", "refuse", None)],
)
def test_verbs_for_a_contradiction(verb, decision, answer):
    handling = Handling(critical=verb, low="noop", no_majority="noop")
    verdict = layer(handling=handling).score([YES, NO])
    assert (verdict.decision, verdict.answer) == (decision, answer)
    assert verdict.label is Label.CRITICAL  # whatever is done with it
    assert any("contradict each other" in reason for reason in verdict.reasons)


def test_raise_carries_the_verdict():
    with pytest.raises(UnreliableAnswerError, match="contradict each other") as caught:
        layer(handling=Handling(critical=OnFail.RAISE)).score([YES, NO])
    assert caught.value.verdict.critical_pairs


def test_reask_runs_anew_once_then_refuses():
    agent = by_run(YES, NO)
    verdict = layer(2, handling=Handling(critical="reask")).wrap(agent).query("Is it safe?")
    assert len(agent.queries) == 4
    assert agent.queries[0] == "Is it safe?"
    assert agent.queries[2].startswith("Is it safe?\n\nEarlier attempts")
    assert verdict.decision is Decision.REFUSE
    assert verdict.query == "Is it safe?"
    assert verdict.metadata["reasked"] == 1
    assert [entry["text"] for entry in verdict.metadata["earlier_runs"]] == [YES, NO]


def test_a_second_asking_that_holds_is_served():
    answers = iter([YES, NO, YES, YES])
    verdict = layer(2, handling=Handling(critical="reask")).wrap(lambda q: next(answers)).query("?")
    assert (verdict.decision, verdict.answer) == (Decision.SERVE, YES)


def test_a_way_of_ones_own_gets_the_verdict_and_has_the_last_word():
    seen = []

    def own(verdict):
        seen.append(verdict)
        return "Ask a doctor."

    verdict = layer(handling=Handling(critical=own)).score([YES, NO])
    assert (verdict.answer, verdict.decision) == ("Ask a doctor.", Decision.FLAG)
    assert seen[0].has_critical_contradiction
    assert layer(handling=Handling(critical=lambda v: None)).score([YES, NO]).decision is Decision.REFUSE


def test_low_reliability_is_flagged_and_the_strictest_verb_wins():
    answers = ["one", "two", "three", "one"]
    assert layer().score(answers).decision is Decision.FLAG
    strict = layer(handling=Handling(low="refuse", no_majority="noop")).score(answers)
    assert strict.decision is Decision.REFUSE


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"critical": "explode"}, "no verb 'explode'"),
        ({"critical": 3}, "a verb or a function"),
        ({"min_reliability": 2}, "lies in"),
        ({"reasks": -1}, "at least 0"),
    ],
)
def test_handling_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Handling(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "fast"}, "no mode 'fast'"),
        ({"tv": "cosine"}, "no form of total variance 'cosine'"),
        ({"critical_threshold": 7}, "critical_threshold lies in"),
        ({"runs": 0}, "at least 2"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        layer(**settings)


def test_models_load_with_the_first_query_and_once(monkeypatch):
    """Published: both models loaded on every request."""
    from likewise.backends import judges

    loaded = []
    monkeypatch.setattr(judges, "embedded_judge", lambda *a: loaded.append(1) or CLASH)
    ours = ReliabilityLayer(policy=Policy(runs=2))
    wrapped = ours.wrap(by_run(YES))
    assert loaded == []
    for _ in range(3):
        wrapped.query("?")
    assert loaded == [1]


def test_a_measured_contradiction_is_kept_through_escalation():
    """Published: a measured contradiction overwritten with 0.0."""
    verdict = layer(5, "adaptive").wrap(by_run(YES, NO, YES)).query("?")
    assert verdict.contradiction_score == 1.0
    assert {(p.run_i, p.run_j) for p in verdict.critical_pairs} == {(0, 1), (1, 2), (1, 3), (1, 4)}


def test_two_directions_are_asked_as_a_pair_of_texts():
    """Published: one joined "[SEP]" string, and one direction only."""
    harm = "Drug X does harm."

    class Keeping(TableJudge):
        def judge(self, pairs, progress=None):
            assert all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs)
            assert not any("[SEP]" in text for pair in pairs for text in pair)
            yield from super().judge(pairs, progress)

    class Lopsided(TableJudge):
        """Contradiction shows in one direction only."""

        def judge(self, pairs, progress=None):
            from likewise.core.labels import Judgement

            for pair in pairs:
                there, back = (0.1, 0.85, 0.05), (0.05, 0.05, 0.9)
                yield Judgement.from_nli(*((there, back) if pair[0] == YES else (back, there)))

    layer(judge=Keeping()).score([YES, harm])
    assert layer(judge=Lopsided()).score([YES, harm]).contradiction_score == pytest.approx(0.9)
    assert layer(judge=Lopsided()).score([harm, YES]).contradiction_score == pytest.approx(0.9)


def test_where_answers_cannot_be_compared_the_first_is_handed_out_with_a_flag_and_agrees_with_none():
    german = ["Die Rückgabe ist innerhalb von dreißig Tagen möglich.", "Nein, eine Rückgabe ist leider ausgeschlossen."]
    verdict = ReliabilityLayer(encoder=LetterEncoder()).score([*german, german[0]])
    assert (verdict.answer, verdict.consensus_answer, verdict.decision) == (german[0], None, Decision.FLAG)
    assert (verdict.label, verdict.tool_calls) == (Label.NOT_MEASURED, ())
    assert "not measured" in verdict.reasons[0]
    strict = ReliabilityLayer(encoder=LetterEncoder(), handling=Handling(unmeasured="refuse")).score(german)
    assert (strict.answer, strict.decision) == (None, Decision.REFUSE)


def test_one_text_is_not_a_list_of_outputs():
    with pytest.raises(TypeError, match="one for each run"):
        ReliabilityLayer(judge=TableJudge(), encoder=LetterEncoder()).score("abc")
