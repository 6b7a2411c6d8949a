from __future__ import annotations

import inspect
import math
import pickle

import numpy as np
import pytest

from likewise import RSDReward
from likewise.training.entropy import SemanticEntropyReward
from likewise.training.mixing import ProgressReward
from likewise.training.plain import VerifiersReward, VerlReward, filled_rewards
from training.batches import called, conversation, judge, model, prompt, tool


def verl_manager(compute_score, sources, solutions, infos):
    """Calls as verl's batch reward manager does: by keyword, arrays of objects, one ground truth each."""
    for info in infos:
        info["rollout_reward_scores"] = {}
    return compute_score(
        data_sources=np.array(sources, dtype=object),
        solution_strs=solutions,
        ground_truths=[None] * len(solutions),
        extra_infos=np.array(infos, dtype=object),
    )


def test_what_was_not_measured_gets_no_advantage_over_its_siblings():
    curves = [[0, 1], None, [0, 0], None]
    prompts = [prompt("p"), prompt("p"), prompt("p"), prompt("q")]
    assert filled_rewards(ProgressReward(), prompts, ["a"] * 4, progress=curves) == [1.0, 0.5, 0.0, 0.0]


def test_verl_hands_over_a_batch_and_gets_a_number_each():
    reward = RSDReward.in_group(judge())
    infos = [{"index": 0}, {"index": 1}, {"index": 0}, {"index": 1}]
    assert verl_manager(VerlReward(reward), ["air"] * 4, ["a", "a", "c", "b"], infos) == [-1.0, 0.0, -1.0, 0.0]


def test_a_batch_may_be_handed_to_verls_function_by_position():
    compute_score, infos = VerlReward(RSDReward.in_group(judge())), [{"index": k % 2} for k in range(4)]
    assert compute_score(["air"] * 4, ["a", "a", "c", "b"], [None] * 4, infos) == [-1.0, 0.0, -1.0, 0.0]
    arrays = [np.array(each, dtype=object) for each in (["air"] * 4, ["a", "a", "c", "b"], [None] * 4, infos)]
    assert compute_score(*arrays) == [-1.0, 0.0, -1.0, 0.0]
    with pytest.raises(ValueError, match="as many of each, got 4 solutions, 1 data sources and 4 extra infos"):
        compute_score(["air"], ["a", "a", "c", "b"], None, infos)


def test_one_index_in_two_data_sources_is_two_prompts():
    infos = [{"index": 0} for _ in range(4)]
    scores = verl_manager(VerlReward(RSDReward.in_group(judge())), ["x", "y", "x", "y"], ["a", "a", "c", "b"], infos)
    assert scores == [-1.0, 0.0, -1.0, 0.0]


def test_prompts_and_turns_of_verl_come_in_extra_info():
    learned = RSDReward(model())
    messages = np.array(prompt(), dtype=object)
    infos = [{"prompt": messages, "transcript": conversation("a", "b")}, {"prompt": messages}]
    assert verl_manager(VerlReward(learned), ["air"] * 2, ["ignored", "c"], infos) == pytest.approx(
        learned([prompt()] * 2, [conversation("a", "b"), "c"])
    )


def test_verl_scores_one_completion_where_the_reward_needs_no_siblings():
    learned = RSDReward(model())
    compute_score = VerlReward(learned)
    value = compute_score(data_source="air", solution_str="a", ground_truth=None, extra_info={"prompt": prompt()})
    assert value == learned([prompt()], ["a"])[0]
    with pytest.raises(
        ValueError, match=r"InGroupRSDReward cannot score one completion alone; set reward_manager=batch"
    ):
        VerlReward(RSDReward.in_group(judge()))("air", "a", None, {"index": 3})


@pytest.mark.parametrize("infos", [None, [None], [{"split": "train"}]])
def test_without_a_prompt_or_an_index_siblings_cannot_be_told(infos):
    with pytest.raises(ValueError, match="completion 0: extra_info holds neither 'prompt' nor 'index'"):
        VerlReward(RSDReward(model()))(solution_strs=["a"], extra_infos=infos)


def verifiers_rubric(func, states):
    """Calls as the Rubric of verifiers does: it looks at the signature and hands over what is named there."""
    names = set(inspect.signature(func).parameters)
    assert names & {"states", "prompts", "completions", "answers", "tasks", "infos"}  # else it is called one by one
    offered = {
        "prompts": [state["prompt"] for state in states],
        "completions": [state["completion"] for state in states],
        "answers": [""] * len(states),
        "states": states,
        "tasks": [None] * len(states),
        "infos": [state.get("info", {}) for state in states],
    }
    return func(**{name: value for name, value in offered.items() if name in names})


def test_verifiers_hands_over_a_group_and_gets_a_number_each():
    reward = VerifiersReward(SemanticEntropyReward(judge()))
    states = [{"prompt": prompt(), "completion": conversation(text)} for text in "aabc"]
    log = math.log
    assert verifiers_rubric(reward, states) == pytest.approx([log(0.75)] * 3 + [log(0.25)])
    assert reward.__name__ == "SemanticEntropyReward"


def test_progress_and_truncation_of_verifiers_are_read():
    states = [
        {"prompt": prompt(), "completion": [called("find", {}), tool("no"), *conversation("a")], "is_truncated": True},
        {"prompt": prompt(), "completion": [called("find", {})], "info": {"progress": [0, 1]}},
    ]
    states[0]["progress"] = [0, 0, 0]
    assert verifiers_rubric(VerifiersReward(ProgressReward()), states) == [0.0, 1.0]
    # The second ended by itself after one turn, the first acts on: 0.8 * 1, were it not that runs that were cut ...
    assert verifiers_rubric(VerifiersReward(RSDReward.in_group(judge())), states) == pytest.approx([-0.8, -0.8])
    states[0]["is_truncated"], states[1]["is_truncated"] = False, True  # ... have no end to compare with
    assert verifiers_rubric(VerifiersReward(RSDReward.in_group(judge())), states) == [0.0, 0.0]


class Typed:
    """A message as newer versions have it."""

    def __init__(self, content):
        self.content = content

    def model_dump(self, exclude_none):
        assert exclude_none
        return {"role": "assistant", "content": self.content}


def test_typed_messages_are_read_as_plain_ones():
    states = [{"prompt": "Hi", "completion": [Typed(text)]} for text in "ac"]
    assert verifiers_rubric(VerifiersReward(RSDReward.in_group(judge())), states) == [-1.0, -1.0]


@pytest.mark.parametrize("kind", [VerlReward, VerifiersReward])
def test_wrapped_rewards_travel(kind):
    again = pickle.loads(pickle.dumps(kind(RSDReward.in_group(judge()))))
    assert again.reward([prompt()] * 2, ["a", "c"]) == [-1.0, -1.0]
