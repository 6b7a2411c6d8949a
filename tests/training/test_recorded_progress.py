from __future__ import annotations

import json
import pickle

import pytest

from likewise import RSDReward
from likewise.core.rollout import Action, Observation, Rollout, ToolCall, Turn
from likewise.formats.registry import read_rollouts
from likewise.training.mixing import HybridReward, ProgressFloor
from likewise.training.recorded_progress import RecordedGoals, WithRecordedProgress, recorded_curve
from training.batches import called, judge, prompt, said


def call(name, **arguments):
    return ToolCall(name, arguments)


def run(actions, curve, task="t", run_id="0"):
    turns = tuple(Turn((Observation("user", "Go on."),), action) for action in actions)
    return Rollout(task, run_id, turns, meta={"progress": curve} if curve is not None else {})


LOOK, MOVE, CANCEL = (Action("", (call(name, id="B1"),)) for name in ("look", "move", "cancel"))
WORDS = Action("Done.")
# Half of the way by `move`, half by `cancel`; looking and words add nothing.
RUNS = [run([LOOK, MOVE, CANCEL], [0, 0, 0.5, 1.0]), run([CANCEL, WORDS], [0, 0.5, 0.5], run_id="1")]


@pytest.mark.parametrize("curve", [None, [], [0, 1], [0, "1", 1], [0, 2, 1], [0, None, 1], 3])
def test_a_curve_that_does_not_fit_its_run_is_none(curve):
    assert recorded_curve(run([LOOK, MOVE], curve)) is None


def test_a_curve_is_that_of_the_log():
    assert recorded_curve(run([LOOK, MOVE], [0, 0, 1])) == [0.0, 0.0, 1.0]


def test_an_action_adds_what_it_added_where_a_recorded_run_came_further_by_it():
    goals = RecordedGoals(RUNS)
    before = RUNS[0].turns
    assert [goals.gain("t", before[:1], each) for each in (LOOK, MOVE, CANCEL, WORDS)] == [0.0, 0.5, 0.5, 0.0]
    assert goals.gain("t", before[:2], MOVE) == 0.0  # met already
    assert goals.gain("t", (), Action("", (call("move", id="B2"),))) == 0.0
    both = Action("", (call("cancel", id="B1"), call("move", id="B1")))
    assert goals.gain("t", (), both) == 1.0


def test_arguments_are_compared_as_everywhere_and_not_by_their_spelling():
    goals = RecordedGoals([run([Action("", (call("move", id="B1", n=1, to="x"),))], [0, 1])])
    assert goals.gain("t", (), Action("", (ToolCall("move", {"to": "x", "n": 1.0, "id": "B1"}),))) == 1.0


def test_of_a_task_of_which_no_run_came_further_by_a_call_nothing_is_known():
    goals = RecordedGoals(
        [*RUNS, run([WORDS], [0, 1], "words"), run([MOVE], None, "bare"), run([MOVE], [0, 0], "none")]
    )
    assert [goals.gain(task, (), MOVE) for task in ("words", "bare", "none", "other")] == [None] * 4
    assert (goals.rises, goals.unseen) == (4, 1)


def test_calls_made_at_once_count_when_all_are_made():
    pair = Action("", (call("move", id="B1"), call("pay", id="B1")))
    goals = RecordedGoals([run([pair], [0, 0.5])])
    assert goals.gain("t", (), MOVE) == 0.0
    assert goals.gain("t", (Turn((), MOVE),), Action("", (call("pay", id="B1"),))) == 0.5


SAID = [called("move", {"id": "B1"}), called("look", {"id": "B1"}), said("Hm."), said("")]


def score(reward, reached, completions=SAID, **columns):
    prompts = [prompt()] * len(completions)
    tasks = ["t"] * len(completions)
    return reward(prompts, [[each] for each in completions], task_id=tasks, reached=reached, **columns)


def test_a_mix_with_progress_is_had_from_recorded_states():
    told = {}
    reward = WithRecordedProgress(HybridReward(RSDReward.in_group(judge(), normalised=True), 0), RecordedGoals(RUNS))
    values = score(reward, [0.5, 0.0, None, 1.0], log_metric=told.__setitem__)
    assert values == [0.5, 0.0, None, 0.0]
    assert told["progress"] == pytest.approx((1.0 + 0.0 + 1.0) / 3)


def test_progress_stays_within_the_whole():
    reward = WithRecordedProgress(HybridReward(RSDReward.in_group(judge()), 0), RecordedGoals(RUNS))
    assert score(reward, [0.8], SAID[:1]) == [pytest.approx(0.2)]


def test_without_progress_of_the_states_nothing_is_measured_and_a_reward_without_progress_is_as_it_was():
    goals = RecordedGoals(RUNS)
    in_group = RSDReward.in_group(judge())
    assert score(WithRecordedProgress(in_group, goals), None) == score(in_group, None)
    with pytest.warns(UserWarning, match="HybridReward measures nothing"):
        assert score(WithRecordedProgress(HybridReward(in_group, 0.5), goals), None) == [None] * 4


def test_it_travels_and_says_what_its_reward_says_of_itself(tmp_path):
    inner = ProgressFloor(RSDReward.in_group(judge(), store=tmp_path / "labels.sqlite"), 0.4)
    reward = WithRecordedProgress(inner, RecordedGoals(RUNS))
    again = pickle.loads(pickle.dumps(reward))
    assert score(again, [0.0] * 4) == score(reward, [0.0] * 4)
    assert (again.lowest, again.needs) == (inner.lowest, inner.needs)
    reward.close()
    again.close()


def test_goals_are_read_from_a_log_of_tau_bench(tmp_path):
    expected = {"name": "cancel", "kwargs": {"id": "B1"}}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "cancel", "arguments": '{"id": "B1"}'}}],
    }
    talk = [{"role": "user", "content": "Cancel."}, message, {"role": "tool", "tool_call_id": "c", "content": "Done."}]
    task = {"user_id": "u", "actions": [expected], "instruction": "", "outputs": []}
    record = {"task_id": 0, "reward": 1.0, "info": {"task": task}, "traj": talk, "trial": 0}
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([record, {**record, "trial": 1}]))
    rollouts = list(read_rollouts(path))
    goals = RecordedGoals(rollouts)
    assert goals.rises == 2
    assert goals.gain(rollouts[0].task_id, (), CANCEL) == 1.0
