from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges import FailingJudge, LetterEncoder, NeverJudge, TableJudge
from likewise.core.group import LengthPolicy
from likewise.core.labels import Relation
from likewise.core.rollout import Action
from likewise.scoring.label import Labeller
from likewise.scoring.score import ScoringOptions, fork_pairs, label_group, needed_pairs, score_group
from likewise.scoring.stored_judge import StoredJudge
from scoring.runs import CUT, FINISHED, INVALID, call, calls, group, returned, run, said, speaking

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
HALF = ScoringOptions(gamma=0.5)
TRUNCATED = ScoringOptions(gamma=0.5, length_policy=LengthPolicy.TRUNCATE)
LOOK = calls(call("get_order", id=1))


def scored(runs, judge=None, options=HALF, encoder=None):
    labeller = Labeller(StoredJudge(judge or TableJudge()))
    labels = labeller.settle(needed_pairs(runs))
    labels = labeller.settle(fork_pairs(runs, label_group(runs, labels)))
    return score_group(runs, labels, encoder=encoder, options=options)


# Runs that are alike, runs that are not


def test_two_identical_runs_diverge_by_exactly_nothing():
    steps = [(said("hi"), LOOK), (returned("{}"), "Done."), "Bye."]
    score = scored(group(run("0", *steps), run("1", *steps)), NeverJudge())
    assert score.rsd.value == score.rsd_normalised.value == score.aligned_rsd.value == 0.0
    assert score.total_variance.value == 0.0
    assert score.contradictions.contradictory == 0
    assert score.first_fork is None
    assert score.rsd_band is None
    assert score.classes == ((0, 0),) * 3
    assert Counter(pair.rule for pair in score.pairs) == {"identical": 3}


@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("turns", [1, 2, 4])
def test_runs_that_contradict_each_other_at_every_turn_reach_the_geometric_sum(gamma, turns):
    runs = speaking("a" * turns, "b" * turns)
    score = scored(runs, TableJudge(default=CO), ScoringOptions(gamma=gamma))
    assert score.rsd.value == pytest.approx((1 - gamma**turns) / (1 - gamma))
    assert score.rsd_normalised.value == pytest.approx(1 - gamma**turns)
    assert score.aligned_rsd.value == pytest.approx(score.rsd.value)
    assert score.contradictions.judged == score.contradictions.contradictory == turns
    assert score.first_fork.turn == 0


def test_the_rsd_of_three_runs_is_the_mean_over_their_three_pairs():
    judge = TableJudge({("b", "c"): CO, ("b", "d"): NE, ("c", "d"): NE})
    score = scored(speaking("ab", "ac", "ad"), judge)
    # at turn 1: pair 01 contradicts, 02 and 12 are neutral; gamma 0.5
    assert score.rsd.value == pytest.approx((0.5 * 1 + 0.5 * 0.5 + 0.5 * 0.5) / 3)
    assert score.rsd.n == 3
    assert [turn.mean_distance for turn in score.turns] == [0.0, pytest.approx(2 / 3)]
    assert [turn.rsd_from_here for turn in score.turns] == pytest.approx([1 / 3, 2 / 3])
    assert [(turn.equivalent, turn.neutral, turn.contradictory) for turn in score.turns] == [(3, 0, 0), (0, 2, 1)]


def test_a_clash_shows_both_texts_and_who_said_them():
    score = scored(speaking("xa", "xb"), TableJudge({("a", "b"): CO}))
    (clash,) = score.contradictions.critical
    assert (clash.run_i, clash.run_j, clash.turn) == ("0", "1", 1)
    assert (clash.text_i, clash.text_j, clash.score, clash.rule) == ("a", "b", 1.0, "nli")
    assert score.contradictions.share.value == 0.5


def test_every_judged_pair_of_actions_is_listed_once():
    score = scored(speaking("ab", "ac", "a"), TableJudge({("b", "c"): CO}))
    assert [(p.first, p.second, p.turn, p.relation, p.rule, p.contradiction) for p in score.pairs] == [
        (0, 1, 0, EQ, "identical", 0.0),
        (0, 1, 1, CO, "nli", 1.0),
        (0, 2, 0, EQ, "identical", 0.0),
        (1, 2, 0, EQ, "identical", 0.0),
    ]


# Lengths and cuts


def test_absorb_counts_every_turn_after_an_end_and_truncate_none():
    runs = speaking("a", "abc")
    absorbed, truncated = scored(runs), scored(runs, options=TRUNCATED)
    assert absorbed.rsd.value == 0.5 + 0.25
    assert truncated.rsd.value == 0.0
    assert absorbed.rsd_band is truncated.rsd_band is None
    assert [turn.ended for turn in absorbed.turns] == [turn.ended for turn in truncated.turns] == [0, 1, 1]
    assert [turn.unmeasured for turn in absorbed.turns] == [turn.unmeasured for turn in truncated.turns] == [0, 0, 0]
    assert [turn.mean_distance for turn in truncated.turns] == [0.0, None, None]


def test_runs_that_both_ended_agree():
    score = scored(speaking("a", "a", "ab"))
    # pair 01 ended together: 0; 02 and 12: ended against b at turn 1
    assert score.rsd.value == pytest.approx(2 * 0.5 / 3)
    assert score.classes == ((0, 0, 0), (0, 0, 1))


def test_turns_after_a_cut_are_not_measured_and_make_a_band():
    score = scored(group(run("0", "a", stop=CUT), run("1", "a", "b", "c")), TableJudge())
    assert score.rsd.value == 0.0
    # cut at turn 1: at most gamma^1 / (1 - gamma) = 0.5 / 0.5 = 1 more
    assert score.rsd_band == (0.0, 1.0)
    assert [turn.unmeasured for turn in score.turns] == [0, 1, 1]
    assert [turn.ended for turn in score.turns] == [0, 0, 0]
    assert score.classes == ((0, 0), (-1, -1), (-1, -1))


def test_the_band_is_the_mean_over_pairs_with_and_without_a_cut():
    runs = group(run("0", "a", "b", stop=CUT), run("1", "a", "c"), run("2", "a", "c", "d"))
    score = scored(runs, TableJudge({("b", "c"): CO}))
    # pair 01: 0.5 at turn 1, cut at 2: band + 0.25/0.5; pair 02: the same; pair 12: ended against d, 0.25
    assert score.rsd.value == pytest.approx((0.5 + 0.5 + 0.25) / 3)
    assert score.rsd_band == pytest.approx((1.25 / 3, 1.25 / 3 + (0.5 + 0.5) / 3))


def test_under_truncate_a_cut_matters_only_before_the_other_runs_end():
    early = group(run("0", "a", stop=CUT), run("1", "a", "b"))
    late = group(run("0", "a", "b", stop=CUT), run("1", "a"))
    assert scored(early, options=TRUNCATED).rsd_band == (0.0, 1.0)
    assert [turn.unmeasured for turn in scored(early, options=TRUNCATED).turns] == [0, 1]
    assert scored(late, options=TRUNCATED).rsd_band is None
    assert scored(late, options=HALF).rsd_band == (0.5, 0.5 + 0.25 / 0.5)


def test_a_run_cut_before_its_first_turn_leaves_everything_open():
    score = scored(group(run("0", stop=CUT), run("1", "a")), NeverJudge())
    assert score.rsd.value == 0.0
    assert score.rsd_band == (0.0, 2.0)
    assert [turn.mean_distance for turn in score.turns] == [None]


def test_runs_without_turns_are_alike_and_nothing_is_judged():
    score = scored(speaking("", ""), NeverJudge())
    assert score.rsd.value == score.aligned_rsd.value == 0.0
    assert score.turns == score.classes == score.pairs == ()
    assert score.first_fork is None
    assert score.contradictions.share.value is None
    assert score.total_variance.value is None


def test_a_run_without_turns_ended_at_once():
    score = scored(speaking("", "ab"), NeverJudge())
    assert score.rsd.value == 1.0 + 0.5
    assert score.classes == ((0, 1), (0, 1))


# Not measured is not zero


@pytest.mark.parametrize(
    "runs",
    [speaking("ab"), group(run("0", "a", "b"), run("1", "c", stop=INVALID)), group(run("0", "a", stop=INVALID))],
    ids=["one run", "one valid run", "no valid run"],
)
def test_with_fewer_than_two_valid_runs_every_comparison_is_undefined_with_its_reason(runs):
    score = scored(runs, NeverJudge(), encoder=LetterEncoder())
    for estimate in (
        score.rsd,
        score.rsd_normalised,
        score.aligned_rsd,
        score.total_variance,
        score.embedding_total_variance,
        score.volume_total_variance,
        score.semantic_entropy,
        score.agreement,
        score.contradictions.share,
        score.tool_use.sequence_similarity,
    ):
        assert estimate.value is None
        assert estimate.reason
    assert f"{len(runs.valid)} rollout(s)" in score.rsd.reason
    assert all(bound.value is None for bound in score.bounds.values())
    assert score.first_fork is None
    assert score.rollouts == runs.rollouts


def test_an_invalid_run_is_kept_and_shown_and_never_compared():
    runs = group(run("0", "a"), run("1", "b", stop=INVALID), run("2", "a"))
    score = scored(runs, NeverJudge())
    assert score.rsd.value == 0.0
    assert [r.run_id for r in score.valid] == ["0", "2"]
    assert [r.run_id for r in score.rollouts] == ["0", "1", "2"]
    assert score.rollouts[1].problem == "the harness failed"


def test_a_failed_judgement_is_not_measured_and_widens_the_band():
    runs = group(run("0", "a", "x", "end"), run("1", "b", "x", "end"))
    score = scored(runs, FailingJudge(on={"a"}))
    assert score.rsd.value == 0.0  # the lower edge
    assert score.rsd_band == (0.0, 1.0)  # turn 0 alone is open: gamma^0 * 1
    assert (score.turns[0].mean_distance, score.turns[0].unmeasured) == (None, 1)
    assert (score.turns[1].mean_distance, score.turns[1].unmeasured) == (0.0, 0)
    assert score.contradictions.judged == 2
    assert score.classes == ((-1, -1), (0, 0), (0, 0))


def test_a_failed_judgement_and_a_cut_widen_the_band_together():
    runs = group(run("0", "x", "a", stop=CUT), run("1", "x", "b", "c"))
    score = scored(runs, FailingJudge(on={"a"}))
    assert score.rsd_band == (0.0, 0.5 + 0.25 / 0.5)


def test_a_failed_comparison_of_answers_leaves_their_variance_undefined():
    score = scored(speaking("a", "b"), FailingJudge())
    assert score.total_variance.value is None
    assert "1 pair(s) of final answers could not be judged" in score.total_variance.reason
    assert score.answer_classes == (-1, -1)


# Answers


def test_the_variance_of_answers_is_the_share_of_pairs_that_differ():
    score = scored(speaking("xa", "xa", "xb", "xc"), TableJudge({("a", "b"): CO}))
    # classes {0, 1}, {2}, {3}: 5 of 6 pairs differ; shares 1/2, 1/4, 1/4
    assert score.answer_classes == (0, 0, 1, 2)
    assert score.total_variance.value == pytest.approx(5 / 6)
    assert score.agreement.value == 0.5
    assert score.semantic_entropy.value == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(4))


def test_answers_are_judged_by_meaning_and_the_last_words_count():
    runs = group(run("0", "I look.", LOOK, "It is red."), run("1", "It is of red colour."))
    score = scored(runs, TableJudge({("It is red.", "It is of red colour."): EQ}))
    assert score.total_variance.value == 0.0


def test_a_run_that_said_nothing_has_no_answer():
    score = scored(group(run("0", "a"), run("1", "a"), run("2", LOOK)), TableJudge())
    assert score.answer_classes == (0, 0, -1)
    assert (score.total_variance.value, score.total_variance.n) == (0.0, 2)


def test_answers_that_nobody_sees_are_no_answers():
    score = scored(speaking("\u200b", "a", "a"), encoder=LetterEncoder())
    assert score.answer_classes == (-1, 0, 0)
    assert score.embedding_total_variance.value == 0.0


def test_a_chain_of_equivalences_makes_one_class_and_counts_one_violation():
    score = scored(speaking("a", "b", "c"), TableJudge({("a", "b"): EQ, ("b", "c"): EQ, ("a", "c"): NE}))
    assert score.answer_classes == (0, 0, 0)
    assert score.transitivity_violations == 1
    assert score.classes == ((0, 0, 0),)
    assert score.rsd.value == pytest.approx(0.5 / 3)


def test_embedded_answers_have_a_variance_of_their_own_and_only_with_an_encoder():
    alike, apart = speaking("ab", "ab"), speaking("a", "b")
    assert scored(alike, encoder=LetterEncoder()).embedding_total_variance.value == pytest.approx(0.0)
    # two orthogonal unit vectors: half their squared distance is 1
    assert scored(apart, encoder=LetterEncoder()).embedding_total_variance.value == pytest.approx(1.0)
    assert scored(alike).embedding_total_variance.reason == "no encoder was given"


def test_the_success_rate_counts_valid_runs_with_a_known_outcome():
    runs = group(
        run("0", "a", success=True),
        run("1", "a", success=False),
        run("2", "a"),
        run("3", "a", stop=INVALID, success=True),
        run("4", "a", stop=CUT, success=False),
    )
    rate = scored(runs).success_rate
    assert (rate.value, rate.n) == (pytest.approx(1 / 3), 3)
    assert scored(speaking("a", "a")).success_rate.reason == "the log gives no outcome for any valid rollout"


def test_numbers_of_calls_vary_in_calls_squared():
    score = scored(group(run("0", LOOK), run("1", LOOK, LOOK, LOOK)))
    assert score.volume_total_variance.value == 2.0  # (1 - 2)^2 + (3 - 2)^2 over n - 1 = 1
    assert score.tool_use.sequence_similarity.value == pytest.approx(1 / 3)
    assert score.tool_use.unique_paths == 2


def test_runs_without_calls_say_nothing_about_tools():
    score = scored(speaking("a", "a"))
    assert score.tool_use.sequence_similarity.value is None
    assert score.tool_use.argument_consistency.value is None


# Options


@pytest.mark.parametrize("gamma", [1.0, -0.1])
def test_a_discount_outside_its_range_is_refused(gamma):
    with pytest.raises(ValueError, match="a discount lies in"):
        scored(speaking("a", "a"), options=ScoringOptions(gamma=gamma))


def test_bounds_are_made_of_the_upper_limit_and_empty_where_they_say_nothing():
    score = scored(speaking("aaa", "aaa", "aaa"), NeverJudge())
    assert set(score.bounds) == {
        "trajectory_agreement",
        "immediate_contradiction",
        "dominant_class",
        "dominant_class_sharp",
    }
    # three equal runs of three turns, gamma 1/2: at most 1 + 1/2 + 1/4 = 7/4, of which 1 - 0.025^(2/3) is the upper
    # limit; 1.60 is far above 1/2, so no class is promised
    assert score.rsd.high == pytest.approx(7 / 4 * (1 - 0.025 ** (2 / 3)), abs=2e-3)
    assert score.bounds["dominant_class"].value is None


# Properties

texts = st.lists(st.text(alphabet="abc", max_size=4), min_size=2, max_size=4)
stops = st.lists(st.sampled_from([FINISHED, CUT, INVALID]), min_size=4, max_size=4)
relations = st.dictionaries(
    st.sampled_from([("a", "b"), ("a", "c"), ("b", "c")]), st.sampled_from(list(Relation)), max_size=3
)
options = st.builds(ScoringOptions, st.sampled_from([0.0, 0.5, 0.8]), st.sampled_from(LengthPolicy), st.booleans())


@settings(max_examples=40, deadline=None)
@given(texts, stops, relations, options, st.booleans())
def test_every_number_stays_in_its_range_whatever_the_runs(texts, stops, relations, options, fails):
    runs = group(*(run(str(i), *text, stop=stops[i]) for i, text in enumerate(texts)))
    judge = FailingJudge(on={"c"} if fails else set(), relations=relations)
    score = scored(runs, judge, options, LetterEncoder())
    largest = 1 / (1 - options.gamma)
    for estimate, limit in ((score.rsd, largest), (score.aligned_rsd, largest), (score.total_variance, 1.0)):
        if estimate.value is not None:
            assert -1e-9 <= estimate.value <= limit + 1e-9
    if score.rsd_band is not None:
        low, high = score.rsd_band
        known = 0.0 if score.rsd.value is None else score.rsd.value  # nothing was judged: it may be anything
        assert low == pytest.approx(known)
        assert low <= high <= largest + 1e-9
    pairs = len(runs.pairs)
    for turn in score.turns:
        counted = turn.equivalent + turn.neutral + turn.contradictory + turn.ended + turn.unmeasured
        assert counted <= pairs
        assert turn.mean_distance is None or 0 <= turn.mean_distance <= 1


@settings(max_examples=40, deadline=None)
@given(texts, relations, options, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_change_the_numbers(texts, relations, options, random):
    members = [run(str(i), *text) for i, text in enumerate(texts)]
    score = scored(group(*members), TableJudge(relations), options)
    other = scored(group(*random.sample(members, len(members))), TableJudge(relations), options)
    assert other.rsd.value == pytest.approx(score.rsd.value)
    assert other.aligned_rsd.value == pytest.approx(score.aligned_rsd.value)
    assert other.total_variance.value == pytest.approx(score.total_variance.value)
    assert [turn.neutral for turn in other.turns] == [turn.neutral for turn in score.turns]
    assert (other.first_fork is None) == (score.first_fork is None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(alphabet="ab", max_size=4), min_size=2, max_size=3))
def test_a_contradiction_in_place_of_a_neutral_pair_never_lowers_the_divergence(texts):
    runs = group(*(run(str(i), *text) for i, text in enumerate(texts)))
    before = scored(runs, TableJudge()).rsd.value
    after = scored(runs, TableJudge({("a", "b"): CO})).rsd.value
    assert after >= before - 1e-12


def test_words_and_calls_are_scored_by_the_larger_distance():
    first = Action("Cancelling.", (call("cancel_order", order_id=1),))
    second = Action("Cancelling.", (call("keep_order", order_id=1),))
    score = scored(group(run("0", first), run("1", second)), NeverJudge())
    assert score.rsd.value == 1.0
    assert score.pairs[0].rule == "tool:opposite-writes"


def test_where_no_pair_could_be_judged_divergence_is_undefined_and_not_zero():
    score = scored(speaking("ab", "cd"), FailingJudge())
    assert score.rsd.value is score.rsd_normalised.value is score.aligned_rsd.value is None
    assert score.rsd.reason == score.aligned_rsd.reason == "no pair of actions could be judged"
    assert score.rsd_band == (0.0, 1.5)  # two turns of at most 1 each, the second at half weight


def test_one_pair_that_could_be_judged_is_enough_for_a_lower_edge():
    score = scored(speaking("ab", "cd"), FailingJudge(on={"a"}))
    assert score.rsd.value == score.aligned_rsd.value == 0.25  # b and d neutral, at half weight
    assert score.rsd_band == (0.25, 1.25)


# What the turns allow


@pytest.mark.parametrize("turns", [1, 2, 5])
def test_runs_that_contradict_throughout_have_a_share_of_one_however_few_their_turns(turns):
    score = scored(speaking("a" * turns, "b" * turns), TableJudge(default=CO), ScoringOptions(gamma=0.8))
    assert score.rsd_largest == pytest.approx(sum(0.8**t for t in range(turns)))
    assert score.rsd_share.value == pytest.approx(1.0)
    assert score.rsd_normalised.value == pytest.approx(1 - 0.8**turns)  # the paper's form never gets there


@pytest.mark.parametrize("texts", [("a", "a", "a"), ("a", "b", "a"), ("ab", "cd", "ae"), ("a", "abc", "ab")])
def test_no_interval_of_a_task_passes_what_its_turns_allow(texts):
    score = scored(speaking(*texts), TableJudge(default=NE), ScoringOptions(gamma=0.8))
    most = sum(0.8**t for t in range(max(map(len, texts))))
    assert score.rsd_largest == pytest.approx(most)
    assert 0 <= score.rsd.low <= score.rsd.value <= score.rsd.high <= most
    assert 0 <= score.rsd_share.low <= score.rsd_share.high <= 1
    assert score.aligned_rsd.high <= sum(0.8**t for t in range(2 * max(map(len, texts))))


def test_the_aligned_interval_of_one_turn_ends_at_one():
    score = scored(speaking("a", "b", "a"), TableJudge(default=CO), ScoringOptions(gamma=0.8))
    assert score.aligned_rsd.high <= 1.0


def test_a_cut_run_leaves_the_largest_rsd_that_of_runs_without_end():
    runs = group(run("0", "a"), run("1", "a", stop=CUT), run("2", "a"))
    score = scored(runs, NeverJudge(), ScoringOptions(gamma=0.8))
    assert score.rsd_largest == 5.0
    assert score.rsd_band == (0.0, pytest.approx(2 / 3 * 0.8 / 0.2))  # two of three pairs are open from turn 1 on


def test_where_only_shared_turns_count_the_second_longest_run_decides():
    score = scored(speaking("aaaa", "bb", "b"), TableJudge(default=CO), TRUNCATED)
    assert score.rsd_largest == 1.5
    assert scored(speaking("aaaa"), options=TRUNCATED).rsd_largest == 1.0  # nothing to compare: of one turn


def test_runs_that_say_nothing_are_no_evidence_of_agreement():
    silent = scored(speaking(["a", ""], ["a", ""], ["a", ""]), NeverJudge(), ScoringOptions(gamma=0.8))
    assert silent.rsd.value == 0.0
    assert silent.rsd_band == (0.0, pytest.approx(0.8))  # the second turn was not measured
    assert silent.total_variance.value is silent.agreement.value is None
    assert "0 rollout(s) with a final answer" in silent.total_variance.reason
    only = scored(speaking([""], [""]), NeverJudge())
    assert only.rsd.value is None
