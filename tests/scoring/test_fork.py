from __future__ import annotations

import pytest

from judges import NeverJudge, TableJudge
from likewise.core.labels import Relation
from likewise.core.rollout import Action
from likewise.scoring.label import Labeller
from likewise.scoring.results import ForkCause, ForkKind
from likewise.scoring.score import ScoringOptions, fork_pairs, label_group, needed_pairs, score_group
from likewise.scoring.stored_judge import StoredJudge
from scoring.runs import CUT, call, calls, group, returned, run, said, speaking

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
AGENT, ENVIRONMENT = ForkCause


def fork_of(runs, judge=None, gamma=0.5):
    judge = judge or TableJudge()
    labeller = Labeller(StoredJudge(judge))
    labels = labeller.settle(needed_pairs(runs))
    labels = labeller.settle(fork_pairs(runs, label_group(runs, labels)))
    return score_group(runs, labels, options=ScoringOptions(gamma)).first_fork


LOOK, OTHER = calls(call("get_order", id=1)), calls(call("get_order", id=2))
CANCEL = calls(call("cancel_order", order_id=1))

# Kinds


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ([LOOK], [CANCEL], ForkKind.TOOL),
        ([LOOK], ["Which order?"], ForkKind.TOOL),
        ([LOOK], [calls(call("get_order", id=1), call("get_order", id=1))], ForkKind.TOOL),
        ([LOOK], [OTHER], ForkKind.ARGUMENT),
        (["yes"], ["no"], ForkKind.CLAIM),
        ([Action("yes", LOOK.tool_calls)], [Action("no", LOOK.tool_calls)], ForkKind.CLAIM),
        ([LOOK, CANCEL], [CANCEL, LOOK], ForkKind.ORDER),
        (["a", "b"], ["b", "a"], ForkKind.ORDER),
        (["a", "x", "x", "x", "x", "b"], ["b", "x", "x", "x", "x", "a"], ForkKind.ORDER),
        (["a", "x", "x", "x", "x", "x", "b"], ["b", "x", "x", "x", "x", "x", "a"], ForkKind.CLAIM),
        (["a", "b"], ["b", "c"], ForkKind.CLAIM),
        (["x"], ["x", "y"], ForkKind.STOPPED),
    ],
)
def test_a_fork_is_named_for_how_the_actions_differ(first, second, kind):
    fork = fork_of(group(run("0", *first), run("1", *second)))
    assert fork.kind is kind
    assert fork.turn == (1 if kind is ForkKind.STOPPED else 0)


def test_runs_that_never_part_have_no_fork():
    assert fork_of(speaking("ab", "ab"), NeverJudge()) is None
    assert fork_of(speaking("ab", "cd"), TableJudge(default=EQ)) is None
    assert fork_of(speaking("", ""), NeverJudge()) is None
    assert fork_of(speaking("ab"), NeverJudge()) is None


def test_a_cut_run_has_not_stopped():
    assert fork_of(group(run("0", "x", stop=CUT), run("1", "x", "y"))) is None


def test_the_kind_compares_the_two_largest_classes():
    runs = group(run("0", CANCEL), run("1", "yes"), run("2", "no"), run("3", "yes"), run("4", "no"))
    fork = fork_of(runs, TableJudge())
    assert fork.kind is ForkKind.CLAIM
    assert fork.classes == (("1", "3"), ("2", "4"), ("0",))


def test_classes_hold_run_ids_the_largest_class_first():
    judge = TableJudge({("a", "b"): EQ})
    assert fork_of(speaking("xc", "xa", "xb"), judge).classes == (("1", "2"), ("0",))


# Causes


def cause(seen_first, seen_second, judge=None):
    runs = group(run("0", (*seen_first, "a")), run("1", (*seen_second, "b")))
    return fork_of(runs, judge).cause


def test_runs_that_saw_the_same_were_parted_by_the_agent():
    assert cause([said("hi")], [said(" hi ")]) is AGENT
    assert cause([], []) is AGENT


def test_tool_outputs_that_differ_only_in_the_order_of_keys_are_the_same():
    first, second = returned('{"a": 1, "b": {"c": 2.0, "d": 3}}'), returned('{"b":{"d":3,"c":2},"a":1}')
    assert cause([first], [second]) is AGENT


def test_tool_outputs_that_differ_in_a_value_are_the_environments_doing_and_no_judge_is_asked():
    judge = TableJudge({("a", "b"): NE}, default=EQ)
    assert cause([returned('{"v": 1}')], [returned('{"v": 2}')], judge) is ENVIRONMENT
    assert list(judge.calls) == [("a", "b")]


def test_user_words_judged_equivalent_leave_the_agent_to_blame():
    judge = TableJudge({("cancel it", "please cancel"): EQ}, default=NE)
    assert cause([said("cancel it")], [said("please cancel")], judge) is AGENT
    assert judge.calls["cancel it", "please cancel"] == 1


@pytest.mark.parametrize("relation", [NE, CO])
def test_user_words_that_differ_in_substance_are_the_environments_doing(relation):
    judge = TableJudge({("cancel it", "keep it"): relation}, default=NE)
    assert cause([said("cancel it")], [said("keep it")], judge) is ENVIRONMENT


def test_slots_in_user_words_are_guarded_like_all_texts():
    judge = TableJudge({("a", "b"): NE}, default=EQ)
    assert cause([said("refund $5")], [said("refund $6")], judge) is ENVIRONMENT
    assert list(judge.calls) == [("a", "b")]


def test_another_order_of_sources_is_another_environment():
    assert cause([said("hi")], [returned("hi")]) is ENVIRONMENT
    assert cause([said("hi")], [said("hi"), said("hi")]) is ENVIRONMENT


def test_what_was_seen_before_the_fork_counts_and_what_comes_after_does_not():
    first = run("0", (said("early"), "x"), (said("same"), "a"), (said("late"), "z"))
    second = run("1", (said("other"), "x"), (said("same"), "b"), (said("later"), "z"))
    judge = TableJudge({("early", "other"): CO}, default=NE)
    assert fork_of(group(first, second), judge).cause is ENVIRONMENT
    judge = TableJudge({("early", "other"): EQ}, default=NE)
    assert fork_of(group(first, second), judge).cause is AGENT
    assert ("late", "later") not in judge.calls


def test_one_pair_of_runs_that_saw_the_same_is_enough_and_no_judge_is_asked():
    runs = group(run("0", (said("p"), "a")), run("1", (said("p"), "b")), run("2", (said("q"), "c")))
    judge = TableJudge()
    assert fork_of(runs, judge).cause is AGENT
    assert ("p", "q") not in judge.calls


def test_a_run_that_stopped_is_compared_as_far_as_it_went():
    first, second = run("0", (said("hi"), "x")), run("1", (said("hi"), "x"), (said("more"), "y"))
    fork = fork_of(group(first, second), TableJudge())
    assert (fork.kind, fork.cause) == (ForkKind.STOPPED, AGENT)


# The share behind


def test_the_share_behind_is_that_of_the_pairs_that_parted():
    # Turn 0 all alike. Turn 1: 0 and 1 say b, 2 says c (neutral). Turn 2: d, e, e; d against e contradicts.
    judge = TableJudge({("b", "c"): NE, ("d", "e"): CO})
    fork = fork_of(speaking("abd", "abe", "ace"), judge)
    # from turn 1 on, gamma 0.5: pair 01 has 0.5 * 1, pair 02 has 0.5 + 0.5 * 1, pair 12 has 0.5
    assert fork.turn == 1
    assert fork.share_behind == pytest.approx((1.0 + 0.5) / (0.5 + 1.0 + 0.5))


def test_a_pair_that_parted_takes_all_the_share_of_two_runs():
    assert fork_of(speaking("ab", "ac")).share_behind == 1.0
