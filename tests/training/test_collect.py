from __future__ import annotations

import re

import anyio
import pytest

from likewise.core.errors import BackendError, ConfigError, RolloutFormatError
from likewise.core.rollout import StopReason
from likewise.formats.native import read, write_rollouts
from likewise.training.agents import EndpointAgent, FunctionAgent
from likewise.training.collect import collect, recorded
from likewise.training.environments.bookings import Bookings
from likewise.training.episode import Episode
from llm_server import refused, said, serving

TASKS = ["ann_moves", "ben_cancels"]


def clerk(messages, tools):
    """Finds, changes, tells."""
    del tools
    heard, guest = messages[-1], messages[1]["content"].split()[3].rstrip(".")
    if heard["role"] == "user":
        return {"content": "", "tool_calls": [{"function": {"name": "find_booking", "arguments": {"guest": guest}}}]}
    if "," in heard["content"]:
        name = heard["content"][:2]
        change = ("move_booking", {"booking_id": name, "day": "Fri"}) if guest == "Ann" else None
        change = change or ("cancel_booking", {"booking_id": name})
        return {"content": "", "tool_calls": [{"function": {"name": change[0], "arguments": change[1]}}]}
    return "It is now on Fri." if guest == "Ann" else "I cancelled it."


def gather(out, agent=clerk, name="clerk", make=Bookings, **options):
    made = agent if hasattr(agent, "act") else FunctionAgent(agent, name)

    async def work():
        return await collect(make, made, out, **{"tasks": TASKS, "runs": 3, **options})

    return anyio.run(work)


def test_each_task_is_run_as_often_as_asked(tmp_path):
    out = tmp_path / "runs.jsonl"
    found = gather(out)
    runs = read(out, "").rollouts
    assert (found.made, found.found, found.failed) == (6, 0, 0)
    assert sorted((run.task_id, run.run_id) for run in runs) == [(task, str(k)) for task in TASKS for k in range(3)]
    assert all(run.success for run in runs)
    assert all(run.meta["progress"][-1] == 1.0 for run in runs)
    assert {run.meta["agent"] for run in runs} == {"clerk"}


def test_a_collection_that_was_stopped_is_gone_on_with(tmp_path):
    out = tmp_path / "runs.jsonl"
    gather(out, runs=1)
    whole = out.read_bytes()
    out.write_bytes(whole + b'{"schema": "likewise.rollout/1", "task')  # killed in the middle of a line
    found = gather(out)
    assert (found.made, found.found) == (4, 2)
    assert out.read_bytes().startswith(whole)
    assert len(read(out, "").rollouts) == 6
    assert gather(out).made == 0


def test_a_file_that_is_one_torn_line_begins_anew(tmp_path):
    out = tmp_path / "runs.jsonl"
    out.write_bytes(b"x" * 200_000)
    assert recorded(out, environment="bookings-1", agent="clerk") == []
    assert out.stat().st_size == 0


def test_a_run_that_fails_is_written_down_and_made_up_for(tmp_path):
    out, times = tmp_path / "runs.jsonl", []

    def moody(messages, tools):
        times.append(1)
        if len(times) == 2:
            raise RuntimeError("bad mood")
        return clerk(messages, tools)

    first = gather(out, moody, tasks=["ann_moves"], runs=2, parallel=1)
    assert (first.made, first.failed) == (2, 1)
    bad = next(run for run in read(out, "").rollouts if not run.valid)
    assert bad.stop is StopReason.INVALID
    assert bad.problem == "the agent failed at turn 1: RuntimeError: bad mood"
    second = gather(out, moody, tasks=["ann_moves"], runs=2)
    assert (second.made, second.found, second.failed) == (1, 2, 1)
    runs = read(out, "").rollouts
    assert sorted(run.run_id for run in runs) == ["0", "1", "2"]
    assert sum(run.valid for run in runs) == 2


def test_an_agent_that_fails_three_times_in_a_row_is_down(tmp_path):
    def broken(messages, tools):
        raise RuntimeError("out of order")

    out = tmp_path / "runs.jsonl"
    with pytest.raises(BackendError, match=r"clerk: 3 runs in a row failed.*out of order"):
        gather(out, broken, runs=10, parallel=1)
    assert len(read(out, "").rollouts) == 3


class Cracked(Bookings):
    """Fails at a step, or at what is asked of it before and after."""

    name, at = "cracked-1", None

    def step(self, action):
        return {}["no such room"] if self.at == "step" else super().step(action)

    def reset(self, task_id):
        return {}["no such task"] if self.at == "reset" else super().reset(task_id)

    def sub_goals(self):
        return {} if self.at == "sub_goals" else super().sub_goals()


def cracked(at):
    def make():
        world = Cracked()
        world.at = at
        return world

    return make


def test_an_environment_that_fails_is_not_the_agents_fault(tmp_path):
    out = tmp_path / "runs.jsonl"
    found = gather(out, tasks=["ann_moves"], runs=2, make=cracked("step"))
    assert (found.made, found.failed, found.nothing) == (2, 2, True)
    runs = read(out, "").rollouts
    for run in runs:
        assert re.fullmatch(
            r"the environment failed at turn 0: KeyError: 'no such room' \(test_collect.py, line \d+\)", run.problem
        )
        assert (run.valid, len(run.turns), run.last_observations) == (False, 1, ())
    assert found.problem == runs[-1].problem
    with pytest.raises(BackendError, match=r"^cracked-1: 3 runs in a row failed; the environment failed at turn 0"):
        gather(tmp_path / "more.jsonl", tasks=["ann_moves"], runs=3, make=cracked("step"))


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("reset", r"KeyError: 'no such task' \(test_collect.py, line \d+\)"),
        ("sub_goals", "ValueError: task 'ann_moves' has no sub-goals, so no share of them is met"),
    ],
)
def test_an_environment_that_cannot_begin_is_told_by_its_name(tmp_path, at, told):
    out = tmp_path / "runs.jsonl"
    with pytest.raises(ConfigError, match=f"^cracked-1: the environment cannot begin task 'ann_moves': {told}$"):
        gather(out, tasks=["ann_moves"], make=cracked(at))
    assert out.read_text() == ""


def test_a_file_has_one_collection_at_a_time(tmp_path):
    out, refused_ = tmp_path / "runs.jsonl", []

    async def meanwhile(messages, tools):
        with pytest.raises(BlockingIOError, match="another collection is adding to this file") as caught:
            await collect(Bookings, FunctionAgent(clerk, "clerk"), out, tasks=TASKS)
        refused_.append(caught.value.filename)
        return "Good morning."

    assert gather(out, meanwhile, tasks=["ann_moves"], runs=1).failed == 0
    assert set(refused_) == {str(out)}
    assert [run.run_id for run in read(out, "").rollouts] == ["0"]
    assert gather(out, tasks=["ann_moves"], runs=2, name="clerk").made == 1  # free again


def test_an_endless_action_fails_its_run(tmp_path):
    out = tmp_path / "runs.jsonl"
    found = gather(out, lambda messages, tools: "x" * 100_001, tasks=["ann_moves"], runs=1)
    assert found.failed == 1


def test_runs_of_another_agent_are_not_mixed_in(tmp_path):
    out = tmp_path / "runs.jsonl"
    gather(out, runs=1)
    with pytest.raises(RolloutFormatError, match="is of agent 'clerk'; name another file"):
        gather(out, name="another")


def test_runs_of_another_environment_are_not_mixed_in(tmp_path):
    out = tmp_path / "runs.jsonl"
    write_rollouts(out, [Episode(Bookings(), "ann_moves").rollout(meta={"agent": "clerk"})])
    with pytest.raises(RolloutFormatError, match="is of environment 'bookings-1'"):
        recorded(out, environment="elsewhere-1", agent="clerk")


def test_a_file_of_something_else_is_left_alone(tmp_path):
    out = tmp_path / "notes.txt"
    out.write_text('{"shopping": "milk"}\n')
    with pytest.raises(RolloutFormatError):
        gather(out)
    assert out.read_text() == '{"shopping": "milk"}\n'


def test_an_unknown_task_is_refused(tmp_path):
    with pytest.raises(ValueError, match="bookings-1 has no task 'zoe'"):
        gather(tmp_path / "runs.jsonl", tasks=["zoe"])


def test_runs_go_on_side_by_side_and_no_more_than_asked(tmp_path):
    busy, most = [0], [0]

    async def slow(messages, tools):
        busy[0] += 1
        most[0] = max(most[0], busy[0])
        await anyio.sleep(0.01)
        busy[0] -= 1
        return "Good morning."

    gather(tmp_path / "runs.jsonl", slow, parallel=3)
    assert most[0] == 3


def test_an_endpoint_that_refuses_the_key_stops_everything(tmp_path):
    out = tmp_path / "runs.jsonl"
    with serving(lambda _: refused(401)) as server, pytest.raises(BackendError):
        gather(out, EndpointAgent("m", server.url))
    assert out.read_text() == ""


def test_an_endpoint_is_collected_from(tmp_path):
    out = tmp_path / "runs.jsonl"
    with serving(lambda _: said("Good morning.")) as server:
        found = gather(out, EndpointAgent("m", server.url), runs=2)
        assert len(server.requests) == 2 * 2 * 3
    assert found.made == 4
    assert {run.reward for run in read(out, "").rollouts} == {0.0}


def test_an_agent_that_always_does_the_same_useless_thing_has_rsd_0_and_the_guards_catch_it(tmp_path):
    from likewise import RSDReward
    from likewise.training.environments.bookings_words import BookingsJudge
    from likewise.training.episode import chat_messages
    from likewise.training.guards import RewardWatch
    from likewise.training.mixing import ProgressFloor

    out = tmp_path / "runs.jsonl"
    gather(out, lambda messages, tools: "Good morning.", tasks=["ann_moves"], runs=4)
    runs = read(out, "").rollouts
    prompts = [chat_messages((), run.turns[0].observations) for run in runs]
    tails = [chat_messages(run.turns, run.last_observations)[2:] for run in runs]
    columns = {"progress": [run.meta["progress"] for run in runs], "task_id": ["ann_moves"] * 4}
    in_group = RSDReward.in_group(BookingsJudge())
    assert in_group(prompts, tails, [[1]] * 4, **columns) == [0.0] * 4  # the best that there is
    assert ProgressFloor(in_group, 0.5)(prompts, tails, [[1]] * 4, **columns) == [-5.0] * 4
    watch = RewardWatch(window=2, floor=0.5)
    for step in range(2):
        assert watch.observe(step, rsd=1.6, progress=0.8) == []
    told = [line for step in (2, 3) for line in watch.observe(step, rsd=0.0, progress=0.0)]
    assert any("while progress fell from 0.8 to 0" in line for line in told)
