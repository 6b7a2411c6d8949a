from __future__ import annotations

import concurrent.futures
import multiprocessing
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges import FailingJudge, LetterEncoder
from likewise import RSDReward
from likewise.core.group import LengthPolicy, RolloutGroup
from likewise.core.rollout import Action, Observation, Rollout, StopReason, Turn
from likewise.metrics.divergence import monte_carlo_rsd
from likewise.scoring.label import label_pairs
from likewise.scoring.score import ScoringOptions, group_distances
from training.batches import SAYS, call, called, conversation, judge, model, prompt, tool

TEXTS = st.sampled_from(["a", "b", "c", "d"])
GROUPS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=2, max_size=5)


def prompts(completions):
    return [prompt()] * len(completions)


def rollouts(runs, stops=None, answer="And?"):
    """The same runs as a log would hold them, made without the code under test."""
    made = []
    for number, actions in enumerate(runs):
        heard = [SAYS, *[answer] * (len(actions) - 1)]
        turns = tuple(Turn((Observation("user", h),), Action(a)) for h, a in zip(heard, actions, strict=True))
        stop = StopReason.CUT if stops and stops[number] == "cut" else StopReason.FINISHED
        made.append(Rollout("t", str(number), turns, stop=stop))
    return tuple(made)


def direct_rsd(runs, stops=None, policy=LengthPolicy.ABSORB):
    group = RolloutGroup("t", rollouts(runs, stops))
    labels = label_pairs(group, judge=judge())
    distance, _ = group_distances(group, labels, ScoringOptions(0.8, policy))
    return monte_carlo_rsd(distance, labels.pairs, len(runs), 0.8).value


# In the group, without a learned metric


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"judge": "nope"}, "no judge 'nope'"),
        ({"gamma": 1}, r"a discount lies in \[0, 1\), got 1"),
        ({"gamma": -0.1}, "a discount lies in"),
        ({"gamma": float("nan")}, "a discount lies in"),
        ({"length_policy": "stretch"}, "length_policy is absorb or truncate, got 'stretch'"),
    ],
)
def test_what_cannot_be_is_refused_when_the_reward_is_made(wrong, told):
    with pytest.raises(ValueError, match=told):
        RSDReward.in_group(**wrong)


def test_each_completion_gets_minus_its_mean_divergence_from_its_siblings():
    # a-a, a-c, b-c: first turns a a b all alike; second: a/c contradict, c/c alike
    runs = [["a", "a"], ["a", "c"], ["b", "c"]]
    values = RSDReward.in_group(judge())(prompts(runs), [conversation(*run) for run in runs])
    assert values == pytest.approx([-0.8, -0.4, -0.4])


@settings(max_examples=60, deadline=None)
@given(GROUPS, st.sampled_from(list(LengthPolicy)), st.data())
def test_the_mean_over_a_group_is_minus_the_direct_rsd_of_the_metrics_package(runs, policy, data):
    stops = data.draw(st.lists(st.sampled_from(["cut", "finished"]), min_size=len(runs), max_size=len(runs)))
    reward = RSDReward.in_group(judge(), length_policy=policy)
    values = reward(prompts(runs), [conversation(*run) for run in runs], stop=stops)
    assert np.mean(values) == pytest.approx(-direct_rsd(runs, stops, policy), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(GROUPS)
def test_the_first_action_is_credited_with_all_that_follows_and_each_with_what_is_left(runs):
    reward = RSDReward.in_group(judge())
    messages = [conversation(*run) for run in runs]
    turns, values = reward.turn_scores(prompts(runs), messages), reward(prompts(runs), messages)
    assert [row[0] for row in turns] == pytest.approx(values)
    # D from t is d_t + gamma D from t + 1, here by the rewards of the runs without their first turn
    if all(len(run) > 1 for run in runs):
        later = reward(prompts(runs), [conversation(*run[1:]) for run in runs])
        assert [row[1] for row in turns] == pytest.approx(later)


def test_prompts_are_not_mixed_and_order_does_not_matter():
    reward = RSDReward.in_group(judge())
    mixed = reward([prompt("p"), prompt("q"), prompt("p"), prompt("q")], ["a", "a", "c", "b"])
    assert mixed == [-1.0, 0.0, -1.0, 0.0]


def test_a_completion_without_siblings_is_not_measured_and_not_zero():
    assert RSDReward.in_group(judge())([prompt("p"), prompt("q"), prompt("p")], ["a", "a", "b"]) == [0.0, None, 0.0]


def test_a_pair_that_could_not_be_judged_is_left_out_and_a_run_without_pairs_not_measured():
    reward = RSDReward.in_group(FailingJudge(on=["d"]))
    assert reward(prompts("abd"), ["a", "b", "d"]) == [-0.5, -0.5, None]
    assert reward.turn_scores(prompts("abd"), ["a", "b", "d"]) == [[-0.5], [-0.5], [None]]


def test_turns_behind_a_cut_are_not_measured():
    runs = [conversation("a", "c"), ["a"]]
    reward = RSDReward.in_group(judge())
    given = [runs[0], [{"role": "assistant", "content": "a"}]]
    assert reward(prompts(given), given, stop=["finished", "cut"]) == [0.0, 0.0]
    assert reward.turn_scores(prompts(given), given, stop=["finished", "cut"]) == [[0.0, None], [0.0]]
    assert reward(prompts(given), given) == pytest.approx([-0.8, -0.8])  # END against an action


def test_malformed_calls_are_compared_as_the_actions_they_are():
    broken = {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "{"}}]}
    good = called("cancel", {"id": 7})
    values = RSDReward.in_group(judge())(prompts("xyz"), [[good], [good], [broken]])
    assert None not in values
    assert values[2] < values[0] == values[1] < 0


def test_normalised_values_are_shares_of_the_largest_divergence():
    runs = ["a", "c"]
    plain, share = (RSDReward.in_group(judge(), normalised=flag) for flag in (False, True))
    assert share(prompts(runs), runs) == pytest.approx([0.2 * value for value in plain(prompts(runs), runs)])
    assert (plain.lowest, share.lowest) == (-5.0, -1.0)


def test_an_always_equal_policy_gets_the_best_there_is_however_useless():
    runs = [conversation("d", "d")] * 4
    assert RSDReward.in_group(judge())(prompts(runs), runs) == [0.0] * 4


# The learned metric


def test_each_turn_is_minus_rsd_of_the_history_behind_its_action_and_its_answer():
    learned = model()
    run = rollouts([["a", "bc", "d"]])[0]
    messages = conversation("a", "bc", "d", closing=True)
    (turns,) = RSDReward(learned).turn_scores([prompt()], [messages])
    heard = (Observation("user", "And?"),)
    by_score = [-learned.score(run.turns[:n], heard).value for n in (1, 2, 3)]
    assert turns == pytest.approx(by_score, abs=1e-6)
    assert RSDReward(learned)([prompt()], [messages]) == pytest.approx([np.mean(by_score)], abs=1e-6)


def test_values_are_averaged_over_heads_and_never_beyond_the_largest():
    learned = model(heads=3)
    huge = model(scale=10)
    run = rollouts([["a"]])[0]
    (value,) = RSDReward(learned)([prompt()], ["a"])
    assert -5 < value < 0
    assert value == pytest.approx(-learned.score(run).value, abs=1e-6)
    assert RSDReward(huge)([prompt()], ["a"]) == [-5.0]
    assert RSDReward(huge, normalised=True)([prompt()], ["a"]) == [-1.0]


def test_completions_of_a_group_differ_though_all_share_the_state_they_start_from():
    values = RSDReward(model())(prompts("abcd"), ["a", "bb", "ccc", "zz top"])
    assert len(set(values)) == 4


def test_the_state_after_the_last_action_follows_the_rule_for_it():
    learned = model()
    one, two = [{"role": "assistant", "content": "a"}], conversation("a", "b")
    given, stops = [one, two, two], ["finished", "finished", "cut"]
    score, skip, end = (
        RSDReward(learned, last=rule).turn_scores(prompts(given), given, stop=stops)
        for rule in ("score", "skip", "end")
    )
    assert None not in [*score[0], *score[1], *score[2]]
    assert skip == [[None], [score[1][0], None], [score[2][0], None]]
    assert end == [[0.0], [score[1][0], 0.0], score[2]]
    assert RSDReward(learned, last="skip")(prompts(given), given) == [None, score[1][0], score[2][0]]


def test_an_answer_to_the_last_action_makes_its_state_one_like_the_others():
    closed = [conversation("a", closing=True)]
    assert RSDReward(model(), last="skip")([prompt()], closed) == RSDReward(model())([prompt()], closed)


def test_actions_of_the_prompt_are_seen_but_not_scored():
    learned = model()
    opening = [*prompt(), *conversation("a", closing=True)]
    (turns,) = RSDReward(learned).turn_scores([opening], ["b"])
    run = rollouts([["a", "b"]])[0]
    assert turns == pytest.approx([-learned.score(run).value], abs=1e-6)


def test_malformed_calls_are_scored_as_actions():
    broken = {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": "{"}}]}
    (turns,) = RSDReward(model()).turn_scores([prompt()], [[broken, tool("error"), *conversation("a")]])
    assert len(turns) == 2
    assert None not in turns


def test_a_completion_without_an_action_is_not_measured():
    assert RSDReward(model())([prompt()] * 2, [[], "a"])[0] is None
    assert RSDReward(model())([], []) == []


def test_a_turn_costs_its_own_texts_alone():
    class Counting(LetterEncoder):
        texts = 0

        def encode(self, texts):
            self.texts += len(texts)
            return super().encode(texts)

    from learned.samples import checkpoint
    from likewise.learned.model import RSDModel

    encoder = Counting()
    reward = RSDReward(RSDModel(checkpoint(), encoder))
    run = conversation("a", "b", "c")
    reward(prompts([run] * 8), [run] * 8)
    assert encoder.texts == 5  # the prompt, three actions, one answer said twice


def test_words_for_the_last_state_are_these():
    with pytest.raises(ValueError, match="'score', 'skip' or 'end', got 'leave'"):
        RSDReward(model(), last="leave")


# As objects


@pytest.mark.parametrize("make", [lambda: RSDReward(model()), lambda: RSDReward.in_group(judge())])
def test_a_reward_gives_the_same_in_a_worker_process(make):
    reward = make()
    here = call(reward)
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as workers:
        assert workers.submit(call, reward).result(timeout=120) == here
    assert call(pickle.loads(pickle.dumps(reward))) == here


def test_a_model_on_disk_is_read_on_first_use(tmp_path):
    model().save(tmp_path)
    reward = RSDReward(tmp_path, encoder=LetterEncoder())
    assert call(reward) == call(RSDReward(model()))
    assert reward.lowest == -5.0
