from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.rollout import Action, StopReason, ToolCall
from likewise.training.environments.bookings import GIVES_UP, GOODBYE, POLICY, TOOLS, Bookings
from likewise.training.environments.bookings_tasks import TASKS


def call(name, **arguments):
    return Action("", (ToolCall(name, arguments),))


def play(task, *actions):
    world = Bookings()
    world.reset(task)
    return world, [world.step(action) for action in actions]


def texts(steps):
    return [step.observations[-1].text for step in steps]


FOUND = call("find_booking", guest="Ann")
MOVED = call("move_booking", booking_id="B1", day="Fri")


def test_a_guest_is_served_by_finding_moving_and_telling():
    world, steps = play("ann_moves", FOUND, MOVED, Action("B1 is now on Fri."))
    assert texts(steps) == ["B1: Ann, Mon", "B1 is on Fri", GOODBYE]
    assert [step.stop for step in steps] == [None, None, StopReason.FINISHED]
    assert all(world.sub_goals().values())
    assert not world.spoiled


def test_the_first_words_are_the_policy_and_what_the_guest_wants():
    policy, first = Bookings().reset("ben_cancels")
    assert (policy.source, policy.text) == ("system", POLICY)
    assert (first.source, first.text) == ("user", "Hi, I am Ben. Please cancel my booking.")


def test_sub_goals_are_met_one_by_one():
    world = Bookings()
    world.reset("ann_moves")
    shares = [sum(world.sub_goals().values())]
    for action in (FOUND, MOVED, Action("Done, it is now on Fri.")):
        world.step(action)
        shares.append(sum(world.sub_goals().values()))
    assert shares == [0, 1, 2, 3]


def test_a_booking_that_was_not_looked_up_is_not_changed():
    world, steps = play("ann_moves", MOVED)
    assert texts(steps) == ["error: look the booking up first"]
    assert not any(world.sub_goals().values())


def test_the_number_that_the_guest_gives_finds_the_booking_too():
    world, steps = play(
        "ann_moves", Action("What is your booking number?"), call("get_booking", booking_id="B1"), MOVED
    )
    assert texts(steps) == ["It is B1.", "B1: Ann, Mon", "B1 is on Fri"]
    assert sum(world.sub_goals().values()) == 2


def test_what_was_told_too_early_counts_only_when_it_is_so():
    told = Action("I moved B1 to Fri.")
    world, steps = play("ann_moves", FOUND, told, MOVED, told)
    assert texts(steps) == ["B1: Ann, Mon", "Please move my booking to Fri.", "B1 is on Fri", GOODBYE]
    assert all(world.sub_goals().values())


def test_a_guest_who_is_led_nowhere_three_times_goes():
    _, steps = play("ann_moves", *[Action("How nice.")] * 3)
    assert texts(steps) == ["Please move my booking to Fri."] * 2 + [GIVES_UP]
    assert steps[-1].stop is StopReason.FINISHED


def test_a_second_request_comes_when_the_first_is_done():
    find, tell = call("find_booking", guest="Dan"), Action("It is for Thu.")
    world, steps = play(
        "dan_asks_and_moves", find, tell, call("move_booking", booking_id="B4", day="Sat"), Action("Moved to Sat.")
    )
    assert texts(steps)[1] == "Thank you. Please move my booking to Sat."
    assert steps[-1].stop is StopReason.FINISHED
    assert all(world.sub_goals().values())


def test_another_day_than_the_one_asked_for_spoils_the_run():
    world, _ = play("ann_moves", FOUND, call("move_booking", booking_id="B1", day="Sat"))
    assert world.spoiled
    assert not world.sub_goals()["1 move: moved"]


def test_a_booking_that_nobody_asked_for_spoils_the_run():
    world, _ = play("ann_moves", call("create_booking", guest="Ann", day="Tue"))
    assert world.spoiled


def test_a_request_that_is_not_made_yet_cannot_be_served_ahead():
    find = call("find_booking", guest="Dan")
    world, _ = play("dan_asks_and_moves", find, call("move_booking", booking_id="B4", day="Sat"))
    assert world.spoiled


def test_handing_over_ends_the_run_without_progress():
    world, steps = play("ann_moves", call("transfer_to_human"))
    assert steps[0].stop is StopReason.FINISHED
    assert not any(world.sub_goals().values())


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        (call("fly_to_moon"), "error: there is no tool 'fly_to_moon'"),
        (call("find_booking"), "error: find_booking takes guest"),
        (call("find_booking", guest="Ann", day="Fri"), "error: find_booking takes guest"),
        (call("find_booking", guest=7), "error: find_booking takes text only"),
        (Action("", (ToolCall("find_booking", "{not json"),)), "error: find_booking takes guest"),
        (call("find_booking", guest="Zoe"), "error: Zoe has no booking"),
        (call("get_booking", booking_id="B77"), "error: there is no booking B77"),
        (call("create_booking", guest="Ann", day="Moonday"), "error: Moonday is no day"),
        (call("list_days", day="Fri"), "error: list_days takes no arguments"),
    ],
)
def test_a_call_that_cannot_be_made_is_answered_by_what_is_wrong(action, answer):
    _, steps = play("ann_moves", action)
    assert texts(steps) == [answer]
    assert steps[0].stop is None


def test_parallel_calls_are_answered_in_order():
    both = Action("", (ToolCall("list_days", {}), ToolCall("find_booking", {"guest": "Ann"})))
    _, steps = play("ann_moves", both)
    assert [each.name for each in steps[0].observations] == ["list_days", "find_booking"]


def test_an_unknown_task_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="no task 'zoe_flies'; it has ann_moves"):
        Bookings().reset("zoe_flies")


def test_a_task_begun_anew_knows_nothing_of_the_run_before():
    world, _ = play("ann_moves", FOUND, MOVED)
    world.reset("ann_moves")
    assert world.step(MOVED).observations[0].text == "error: look the booking up first"


@pytest.mark.parametrize("task", TASKS)
def test_every_task_can_be_solved_within_half_the_turn_limit(task):
    guest, requests = TASKS[task]
    world, turns = Bookings(), 0
    world.reset(task)
    plan = [call("find_booking", guest=guest)] if any(each.kind != "book" for each in requests) else []
    for request in requests:
        change = {
            "move": [call("move_booking", booking_id=request.booking_id, day=request.day)],
            "cancel": [call("cancel_booking", booking_id=request.booking_id)],
            "book": [call("create_booking", guest=guest, day=request.day)],
            "day": [],
        }[request.kind]
        words = "It is cancelled." if request.kind == "cancel" else f"It is on {request.day}."
        plan += [*change, Action(words)]
    for action in plan:
        last, turns = world.step(action), turns + 1
    assert last.stop is StopReason.FINISHED
    assert all(world.sub_goals().values())
    assert not world.spoiled
    assert turns <= Bookings.turn_limit // 2


words = st.text(max_size=30)
actions = st.builds(
    Action,
    words,
    st.lists(
        st.builds(
            ToolCall,
            st.sampled_from([tool.name for tool in TOOLS]) | words,
            words | st.dictionaries(st.sampled_from(["guest", "day", "booking_id"]), words | st.integers(), max_size=3),
        ),
        max_size=2,
    ).map(tuple),
)


@given(st.sampled_from(list(TASKS)), st.lists(actions, max_size=12))
def test_no_action_breaks_the_world_and_progress_never_falls(task, done):
    world = Bookings()
    world.reset(task)
    before = 0
    for action in done:
        step = world.step(action)
        now = sum(world.sub_goals().values())
        assert now >= before
        before = now
        if step.stop is not None:
            break
