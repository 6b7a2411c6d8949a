"""Warnings before the numbers, and the refusal of runs that are no repeats of each other."""

import pytest

from likewise.core.errors import GroupError
from likewise.core.group import RolloutGroup
from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.evaluation.cautions import cautions, refuse_mixtures


def group(*metas, reward=None, success=None, turns=()):
    rollouts = [Rollout("8", str(i), turns, reward=reward, success=success, meta=meta) for i, meta in enumerate(metas)]
    return RolloutGroup("8", tuple(rollouts))


def prompted(*systems):
    """One run for each system prompt."""
    runs = []
    for number, text in enumerate(systems):
        seen = (Observation("system", text), Observation("user", f"question {number}"))
        runs.append(Rollout("8", str(number), (Turn(seen, Action("a")),)))
    return RolloutGroup("8", tuple(runs))


def test_runs_of_two_models_in_one_task_are_refused_with_both_named():
    mixed = group({"model": "gpt-4o"}, {"model": "grok-3-mini"}, {"model": "gpt-4o"})
    with pytest.raises(GroupError) as caught:
        refuse_mixtures([group({}, {}), mixed])
    assert str(caught.value) == (
        "1 task mixes runs that are no repeats of one agent (task '8': model \"gpt-4o\" (run '0') and "
        "\"grok-3-mini\" (run '1')); report them apart, or pool them with --pool (pool=True in Python)"
    )


def test_pooled_runs_of_two_models_bring_a_warning():
    (warning,) = cautions([group({"model": "gpt-4o"}, {"model": "grok-3-mini"}, {"model": "gpt-4o"})])
    assert warning.startswith("1 task(s) mix runs of different model (task '8': model \"gpt-4o\" (run '0') and ")
    assert warning.endswith("their divergence is not one agent's own")


@pytest.mark.parametrize(
    "same",
    [
        group({"model": "gpt-4o"}, {"model": "gpt-4o"}),
        group({}, {}),
        group({"model": "gpt-4o"}, {}),  # a run that does not say its model is not another model
        group({"model": "gpt-4o"}, {"model": ""}),
        prompted("Be kind.", "Be kind."),
        prompted("Be kind. It is 2026-01-31, 12:00:05.", "Be kind. It is 2026-02-01, 09:30:00."),
        prompted("Now: 2026-01-31T12:00:05.123+01:00", "Now: 2026-02-01T09:30:00Z"),
    ],
)
def test_runs_that_may_be_repeats_are_neither_refused_nor_warned_of(same):
    refuse_mixtures([same])
    assert cautions([same]) == ()


@pytest.mark.parametrize(
    ("mixed", "what"),
    [
        (group({"agent": "a"}, {"agent": "b"}), "agent \"a\" (run '0') and \"b\" (run '1')"),
        (group({"domain": "airline"}, {"domain": "retail"}), "domain"),
        (group({"policy_sha256": "ab"}, {"policy_sha256": "cd"}), "another policy in run '1' than in run '0'"),
        (group({"prompt_sha256": "ab"}, {"prompt_sha256": "cd"}), "another prompt in run '1' than in run '0'"),
        (prompted("Be kind.", "Be rude."), "another system prompt in run '1' than in run '0'"),
        (prompted("You have 3 tries.", "You have 5 tries."), "another system prompt"),
        (group({"model": "a"}, {"model": "b"}, {"model": "c"}), "(run '1') and 1 more"),
    ],
)
def test_other_agents_worlds_and_prompts_are_refused_too(mixed, what):
    with pytest.raises(GroupError, match="no repeats of one agent") as caught:
        refuse_mixtures([mixed])
    assert what in str(caught.value)
    assert len(cautions([mixed])) == 1


def test_a_run_that_failed_in_the_harness_does_not_mix_a_task():
    runs = (
        Rollout("8", "0", (), meta={"model": "a"}),
        Rollout("8", "1", (), stop=StopReason.INVALID, problem="infra_error: x", meta={"model": "b"}),
    )
    refuse_mixtures([RolloutGroup("8", runs)])


def test_each_of_two_tasks_that_mix_counts():
    other = RolloutGroup("9", tuple(Rollout("9", str(i), (), meta={"model": str(i)}) for i in range(2)))
    with pytest.raises(GroupError, match="2 tasks mix runs"):
        refuse_mixtures([group({"model": "a"}, {"model": "b"}), other])


def test_rewards_without_outcomes_say_what_to_add():
    (warning,) = cautions([group({}, {}, reward=1.0)])
    assert warning.startswith("2 run(s) have a reward but no success")
    assert cautions([group({}, {}, reward=1.0, success=True)]) == ()


def outcomes(*successes):
    runs = [Rollout("8", str(i), (Turn((), Action("a")),), success=success) for i, success in enumerate(successes)]
    return RolloutGroup("8", tuple(runs))


def test_a_success_rate_made_of_failures_alone_is_told():
    (warning,) = cautions([outcomes(False, None, None), outcomes(None, None), outcomes(False, False)])
    assert warning == (
        "1 task(s) have 1 run(s) that are known to have failed and 2 of which no outcome is known: "
        "their success rate of 0% is one of failures alone"
    )


@pytest.mark.parametrize("known", [(True, None), (False, True, None), (False, False), (None, None)])
def test_other_outcomes_need_no_such_warning(known):
    assert cautions([outcomes(*known)]) == ()


def test_cut_runs_without_an_outcome_beside_known_ones_are_told():
    cut = Rollout("8", "cut", (Turn((), Action("a")),), stop=StopReason.CUT)
    known = outcomes(True, True)
    (warning,) = cautions([RolloutGroup("8", (*known.rollouts, cut))])
    assert warning.startswith("1 run(s) were cut and have no outcome, so success and pass^k leave them out")
    assert cautions([RolloutGroup("8", (*outcomes(None, None).rollouts, cut))]) == ()
