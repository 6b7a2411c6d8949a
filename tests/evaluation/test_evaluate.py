from __future__ import annotations

import random
from dataclasses import replace

import pytest

from judges import FailingJudge, LetterEncoder, NeverJudge, TableJudge
from likewise.backends.label_store import LabelStore
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import GroupError
from likewise.core.group import LengthPolicy
from likewise.core.labels import Relation
from likewise.core.rollout import Excluded
from likewise.core.version import VERSION
from likewise.evaluation.evaluate import evaluate
from likewise.scoring.score import ScoringOptions
from scoring.runs import CUT, INVALID, call, calls, run, said

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
HALF = ScoringOptions(gamma=0.5)


def evaluated(rollouts, judge=None, **more):
    more = {"options": HALF, "resamples": 50} | more
    return evaluate(rollouts, judge=judge or TableJudge(), encoder=LetterEncoder(), **more)


def task(name, *texts, outcomes=()):
    known = list(outcomes) + [None] * (len(texts) - len(outcomes))
    return [run(f"{name}{i}", *text, task=name, success=known[i]) for i, text in enumerate(texts)]


# The summary


def test_the_summary_is_the_mean_over_tasks():
    rollouts = task("a", "xy", "xy") + task("b", "x", "y") + task("c", "x", "z")
    result = evaluated(rollouts, TableJudge({("x", "y"): CO}))
    # RSD by task: 0; 1 (x against y contradicts); 0.5 (x against z is neutral)
    assert [score.rsd.value for score in result.tasks] == [0.0, 1.0, 0.5]
    assert result.summary.rsd.value == 0.5
    assert result.summary.rsd.n == 3
    assert result.summary.rsd_normalised.value == 0.25
    assert result.summary.aligned_rsd.value == 0.5
    # final answers: alike, differ, differ
    assert result.summary.total_variance.value == pytest.approx(2 / 3)
    # contradictory pairs of judged pairs by task: 0 of 2, 1 of 1, 0 of 1
    assert result.summary.contradiction_share.value == pytest.approx(1 / 3)
    assert (result.summary.tasks, result.summary.rollouts, result.summary.valid) == (3, 6, 6)
    assert result.summary.forks_by_kind == {"claim": 2}
    assert result.summary.forks_by_cause == {"agent": 2}


def test_a_task_that_was_not_measured_is_left_out_of_the_mean_and_still_listed():
    result = evaluated(task("a", "x", "y") + task("b", "x"))
    assert result.summary.rsd.value == 0.5
    assert result.summary.rsd.n == 1
    assert result.summary.rsd.reason.startswith("one task")
    assert [score.task_id for score in result.tasks] == ["a", "b"]


def test_where_no_task_can_be_measured_the_summary_says_why():
    result = evaluated(task("a", "x") + task("b", "y"), NeverJudge())
    assert result.summary.rsd.value is None
    assert result.summary.rsd.reason == "no task has two valid rollouts"
    assert result.summary.success_rate.reason == "no task has an outcome"
    assert result.summary.pass_hat_k == result.summary.pass_at_k == {}


def test_no_rollouts_are_refused():
    with pytest.raises(GroupError, match="there are no rollouts to evaluate"):
        evaluate([])


def test_a_run_id_that_occurs_twice_within_a_task_is_refused():
    with pytest.raises(GroupError, match="run ids that occur twice"):
        evaluated(task("a", "x") + task("a", "y"))


def test_any_iterable_will_do():
    assert evaluated(iter(task("a", "x", "x")), NeverJudge()).summary.rsd.value == 0.0


# pass^k and pass@k


def test_a_task_counts_for_k_from_its_own_number_of_outcomes_on():
    rollouts = task("a", "x", "x", "x", "x", outcomes=(True, True, True, False)) + task("b", "x", "x", outcomes=(1, 0))
    summary = evaluated(rollouts, NeverJudge()).summary
    # pass^k = C(c,k)/C(n,k): a has c=3 of n=4, b has c=1 of n=2
    assert summary.pass_hat_k[1].value == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert summary.pass_hat_k[2].value == pytest.approx((3 / 6 + 0) / 2)
    assert (summary.pass_hat_k[3].value, summary.pass_hat_k[3].n) == (pytest.approx(1 / 4), 1)
    assert (summary.pass_hat_k[4].value, summary.pass_hat_k[4].n) == (0.0, 1)
    # pass@k = 1 - C(n-c,k)/C(n,k)
    assert summary.pass_at_k[1].value == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert summary.pass_at_k[2].value == pytest.approx((1 + 1) / 2)
    assert list(summary.pass_hat_k) == list(summary.pass_at_k) == [1, 2, 3, 4]


def test_k_counts_known_outcomes_of_valid_runs():
    rollouts = [
        run("0", "x", success=True),
        run("1", "x"),
        run("2", "x", stop=INVALID, success=False),
        run("3", "x", stop=CUT, success=False),
    ]
    summary = evaluated(rollouts, NeverJudge()).summary
    assert list(summary.pass_hat_k) == [1, 2]
    assert summary.pass_hat_k[1].value == 0.5  # a run cut by its limit is valid and failed
    assert summary.pass_hat_k[2].value == 0.0
    assert summary.success_rate.value == 0.5


# Runs that the harness broke


def test_one_success_beside_three_broken_runs_is_no_hundred_percent():
    """sierra-research/tau2-bench#493: tasks whose runs all failed vanished from the denominator."""
    rollouts = [run("0", "x", task="0", success=True)]
    rollouts += [run(str(i), task=str(i), stop=INVALID) for i in (1, 2, 3)]
    result = evaluated(rollouts, NeverJudge())
    summary = result.summary
    assert (summary.tasks, summary.rollouts, summary.valid) == (4, 4, 1)
    assert (summary.success_rate.value, summary.success_rate.n) == (1.0, 1)
    assert summary.success_rate.low is None
    assert "one task" in summary.success_rate.reason
    assert (summary.pass_hat_k[1].n, list(summary.pass_hat_k)) == (1, [1])
    assert [score.task_id for score in result.tasks if not score.valid] == ["1", "2", "3"]
    assert all(score.success_rate.value is None for score in result.tasks[1:])
    problems = [r.problem for score in result.tasks for r in score.rollouts if not r.valid]
    assert problems == ["the harness failed"] * 3
    assert summary.success_rate_all.value == 0.25  # 1, 0, 0, 0: beside the 100 % stands what counts the errors
    assert summary.success_rate_all.n == 4
    assert summary.tasks_without_valid == ("1", "2", "3")
    assert summary.pass_left_out == {1: ("1", "2", "3")}


def test_two_of_six_valid_runs_are_two_of_six_and_the_two_broken_ones_are_shown():
    """UKGovernmentBEIS/inspect_ai#2914: 8 runs, 2 correct, 2 errors."""
    rollouts = task("a", *"xxxxxx", outcomes=(True, True, False, False, False, False))
    rollouts += [run(f"e{i}", task="a", stop=INVALID) for i in range(2)]
    result = evaluated(rollouts, NeverJudge())
    (score,) = result.tasks
    assert (score.success_rate.value, score.success_rate.n) == (pytest.approx(2 / 6), 6)
    assert (result.summary.rollouts, result.summary.valid) == (8, 6)
    assert [r.run_id for r in score.rollouts if not r.valid] == ["e0", "e1"]
    assert result.summary.success_rate_all.value == 2 / 8
    assert result.summary.tasks_without_valid == ()


def test_without_an_error_there_is_one_denominator():
    assert evaluated(task("a", "x", "x", outcomes=(True, False)), NeverJudge()).summary.success_rate_all is None


def test_tasks_with_fewer_than_k_outcomes_are_left_out_of_pass_k_and_named():
    rollouts = task("a", *"xxxx", outcomes=(True,) * 4) + task("b", *"xx", outcomes=(True, False)) + task("c", "x")
    summary = evaluated(rollouts, NeverJudge()).summary
    assert {k: estimate.n for k, estimate in summary.pass_hat_k.items()} == {1: 2, 2: 2, 3: 1, 4: 1}
    assert summary.pass_left_out == {1: ("c",), 2: ("c",), 3: ("b", "c"), 4: ("b", "c")}
    assert summary.pass_hat_k[2].value == (1 + 0) / 2


# Runs that are no repeats of each other


def test_a_task_that_mixes_models_is_refused_before_anything_is_judged_unless_it_is_pooled():
    rollouts = [replace(run(str(i), "x"), meta={"model": f"m{i}"}) for i in range(2)]
    with pytest.raises(GroupError, match=r"model \"m0\" .* and \"m1\" .* pool them with --pool"):
        evaluated(rollouts, NeverJudge())
    result = evaluated(rollouts, NeverJudge(), pool=True)
    assert any("mix runs of different model" in warning for warning in result.warnings)


def test_an_outcome_that_was_never_recorded_stays_unknown():
    """macanderson/stella#3264: rewards 0.0, null, null with two verifier time-outs."""
    rollouts = [run("0", "x", success=False), run("1", stop=INVALID), run("2", stop=INVALID)]
    result = evaluated(rollouts, NeverJudge())
    assert (result.tasks[0].success_rate.value, result.tasks[0].success_rate.n) == (0.0, 1)
    assert result.summary.rollouts - result.summary.valid == 2


# The same again


def mixed():
    rollouts = []
    for t in range(6):
        texts = [random.Random(10 * t + i).choices("abc", k=1 + (t + i) % 4) for i in range(4)]
        rollouts += task(f"t{t}", *texts, outcomes=[(t + i) % 3 == 0 for i in range(4)])
    return rollouts


def test_the_same_seed_gives_the_same_result():
    judge = {("a", "b"): CO}
    first, second = (evaluated(mixed(), TableJudge(judge), seed=3) for _ in range(2))
    assert first == second
    other = evaluated(mixed(), TableJudge(judge), seed=4)
    assert other.summary.rsd.value == first.summary.rsd.value
    assert other.summary.rsd != first.summary.rsd  # the interval moves
    assert "|seed:3" in str(first.signature)


def test_rollouts_in_another_order_give_the_same_numbers_task_by_task():
    judge = {("a", "b"): CO, ("b", "c"): EQ}
    shuffled = mixed()
    random.Random(1).shuffle(shuffled)
    expected = {score.task_id: score for score in evaluated(mixed(), TableJudge(judge)).tasks}
    other = evaluated(shuffled, TableJudge(judge))
    for score in other.tasks:
        same = expected[score.task_id]
        assert score.rsd.value == pytest.approx(same.rsd.value)
        assert score.aligned_rsd.value == pytest.approx(same.aligned_rsd.value)
        assert score.total_variance.value == pytest.approx(same.total_variance.value)
        assert score.rsd.low == pytest.approx(same.rsd.low)
        assert score.transitivity_violations == same.transitivity_violations
        assert (score.first_fork and score.first_fork.turn) == (same.first_fork and same.first_fork.turn)


def test_tasks_do_not_influence_each_other():
    alone = evaluated(task("a", "xy", "xz")).tasks[0]
    beside = evaluated(mixed() + task("a", "xy", "xz")).tasks[-1]
    assert beside == alone


# The judge and its store


def test_one_pair_in_many_tasks_is_judged_once():
    judge = TableJudge()
    result = evaluated(task("a", "x", "y") + task("b", "y", "x"), judge)
    assert judge.calls == {("x", "y"): 1}
    assert result.judge_use.distinct_pairs == 1
    assert (result.judge_use.from_store, result.judge_use.from_model) == (0, 1)
    assert result.judge_use.by_rule == {"nli": 1}


def test_a_second_evaluation_with_the_same_store_asks_nothing_and_finds_the_same():
    with LabelStore(None) as store:
        first = evaluated(mixed(), TableJudge({("a", "b"): CO}), store=store)
        second = evaluated(mixed(), NeverJudge("table"), store=store)
    assert second.tasks == first.tasks
    assert second.summary == first.summary
    assert second.judge_use.from_model == 0
    assert second.judge_use.from_store == first.judge_use.from_model


def test_user_words_are_judged_once_the_fork_is_known():
    rollouts = [run("0", (said("one"), "x")), run("1", (said("two"), "y"))]
    judge = TableJudge({("one", "two"): EQ})
    result = evaluated(rollouts, judge)
    assert result.summary.forks_by_cause == {"agent": 1}
    assert judge.calls == {("x", "y"): 1, ("one", "two"): 1}


def test_pairs_that_could_not_be_judged_become_a_warning_with_their_number():
    judge = FailingJudge(on={"z"}, problem="the answer is no JSON")
    result = evaluated(task("a", "x", "y", "z") + task("b", "x", "z", "q"), judge)
    # z against x, y and q
    assert result.warnings == ("3 pair(s) not measured: the answer is no JSON",)
    assert result.tasks[0].rsd_band == pytest.approx((0.5 / 3, 0.5 / 3 + 2 / 3))
    assert result.judge_use.distinct_pairs == 5


# What travels along


def test_the_signature_names_everything_that_moves_a_number():
    options = ScoringOptions(gamma=0.5, length_policy=LengthPolicy.TRUNCATE, soft=True, confidence=0.9)
    rules = ToolRules(overrides={"list-order": EQ})
    result = evaluated(task("a", "x", "y"), options=options, rules=rules, seed=7, resamples=20)
    assert str(result.signature) == (
        f"likewise:{VERSION}|judge:table|rules:{rules.rules_id}|encoder:letters|state_text:1|distance:soft|gamma:0.5"
        "|length_policy:truncate|interval:90%|resamples:20|seed:7"
    )


def test_a_users_rules_are_used():
    rollouts = [run("0", calls(call("f", v=[1, 2]))), run("1", calls(call("f", v=[2, 1])))]
    assert evaluated(rollouts).summary.rsd.value == 0.5
    assert evaluated(rollouts, rules=ToolRules(overrides={"list-order": EQ})).summary.rsd.value == 0.0


def test_what_the_reader_left_out_comes_along():
    class Read(list):
        excluded = (Excluded("a", "9", "no messages"),)
        warnings = ("a repeated line",)
        files = (("runs.json", "native"),)

    more = Excluded(None, None, "not an object")
    result = evaluated(Read(task("a", "x", "x")), excluded=[more], warnings=["by hand"], files=[("more.json", "tau2")])
    assert result.excluded == (*Read.excluded, more)
    assert result.warnings == ("a repeated line", "by hand")
    assert result.files == (("runs.json", "native"), ("more.json", "tau2"))


def test_progress_shows_each_task():
    seen = []

    class Bar:
        def __init__(self, what, total):
            self.what, self.total, self.done = what, total, 0

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            seen.append((self.what, self.done, self.total))

        def advance(self, steps=1):
            self.done += steps

    evaluated(task("a", "x", "y") + task("b", "x", "x"), progress=Bar)
    assert ("judging pairs", 1, 1) in seen
    assert seen[-1] == ("scoring tasks", 2, 2)
    assert all(done == total for _, done, total in seen)


def test_facts_of_the_log_do_not_move_a_number():
    plain = task("a", "x", "y")
    with_facts = [replace(r, meta={"model": "m"}, notes=("n",), path="p") for r in plain]
    first, second = evaluated(plain).tasks[0], evaluated(with_facts).tasks[0]
    assert replace(second, rollouts=first.rollouts) == first


# What the turns allow, and what luck does


def test_the_share_of_one_turn_and_of_many_turns_is_on_one_scale():
    rollouts = task("one", "x", "y") + task("two", "xx", "yy")
    result = evaluated(rollouts, TableJudge({("x", "y"): CO}))
    # gamma 1/2: apart at one turn is 1 of 1, at both of two turns 1.5 of 1.5; the form by 1 - gamma gives 0.5 and 0.75
    assert [score.rsd_share.value for score in result.tasks] == [1.0, 1.0]
    assert [score.rsd_normalised.value for score in result.tasks] == [0.5, 0.75]
    assert result.summary.rsd_share.value == 1.0


def test_tasks_that_flip_and_what_that_moves():
    rollouts = task("a", "x", "x", outcomes=(True, False)) + task("b", "x", "x", outcomes=(True, True))
    rollouts += task("c", "x", outcomes=(True,))
    summary = evaluated(rollouts).summary
    assert (summary.outcomes_flip.value, summary.outcomes_flip.n) == (0.5, 2)
    # 1 of 2 has variance 1 * 1 / (2 * 1) = 1/2, 2 of 2 has 0: mean 1/4 over two tasks, twice; 1.96 * 0.5
    assert summary.single_run_gap.value == pytest.approx(1.959964 * 0.5)
    assert summary.single_run_gap.n == 2


def test_without_repeated_outcomes_nothing_flips_and_nothing_is_claimed():
    summary = evaluated(task("a", "x", "x", outcomes=(True,))).summary
    assert summary.outcomes_flip.value is summary.single_run_gap.value is None
    assert summary.outcomes_flip.reason == "no task has two outcomes"
