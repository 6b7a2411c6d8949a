"""Demonstrations in `bookings` for a tiny policy to learn from: competent, and as inconsistent as asked for.

Each turn is one of several ways to go on, drawn by chance: a good one (find the booking, change it, tell), good ones
that take longer (ask for the number, ask for a go-ahead), and poor ones (look at the calendar, change without looking
up, tell too early, give up). What follows a poor start is muddled, as it is with real agents: some recover.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from likewise.core.rollout import Action, JsonValue, Observation, Rollout, ToolCall
from likewise.training.environments.bookings import Bookings
from likewise.training.environments.bookings_tasks import TASKS, Request
from likewise.training.episode import Episode

__all__ = ["EXPERT", "MIXED", "Ways", "demonstrations"]


@dataclass(frozen=True, slots=True)
class Ways:
    """How often each way is taken: weights, not probabilities.

    Attributes:
        find: Looks the booking up by the guest's name.
        ask: Asks the guest for the number, then looks it up.
        guess: Changes the booking without looking it up.
        wander: Lists the days first.
        leave: Share of changes before which the guest is asked for a go-ahead.
        early: Share of changes that are told before they are made.
        muddle: After something went wrong: how often the agent wanders, apologises, or hands over, against finding.
    """

    find: float = 5.0
    ask: float = 2.0
    guess: float = 0.0
    wander: float = 0.0
    leave: float = 0.25
    early: float = 0.0
    muddle: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)


MIXED = Ways(find=4.0, ask=1.5, guess=2.0, wander=1.5, leave=0.2, early=0.2, muddle=(3.0, 2.0, 2.0, 2.0))
"""What the policy starts from."""
EXPERT = Ways()
"""Successful runs, in their several ways."""

_MOVED = ("{id} is now on {day}.", "I moved {id} to {day}.", "{id} was moved to {day}.", "Done, it is now on {day}.")
_CANCELLED = ("{id} is cancelled.", "I cancelled {id}.", "Your booking was cancelled.", "Done, I cancelled it.")
_BOOKED = ("I booked {day} for you.", "{day} is booked.", "You are booked for {day}.", "Done, I booked {day}.")
_DAY = ("{id} is for {day}.", "Your booking is for {day}.", "It is for {day}.", "You come on {day}.")
_TOLD = {"move": _MOVED, "cancel": _CANCELLED, "book": _BOOKED, "day": _DAY}
_NUMBER = ("What is your booking number?", "Which number has your booking?", "May I have the booking number?")
_LEAVE = ("Shall I go on?", "Shall I do that?", "Is that all right?")
_SORRY = ("Sorry, I cannot do that.", "I am sorry, that failed.", "Sorry, I am not able to.")


class _Demonstrator:
    """One agent in one run; remembers only what a reader of the conversation could tell."""

    def __init__(self, task_id: str, ways: Ways, rng: random.Random) -> None:
        self._guest, self._requests = TASKS[task_id]
        self._ways, self._rng = ways, rng
        self._at, self._found, self._changed, self._muddled, self._asked_leave = 0, False, False, False, False

    def act(self, observations: Sequence[Observation]) -> Action:
        heard = observations[-1].text
        request = self._requests[self._at]
        if heard.startswith("Thank you."):
            self._at += 1
            request, self._changed, self._asked_leave = self._requests[self._at], False, False
            self._muddled = False
        if heard.startswith("error"):
            self._muddled = True
        if heard.startswith("It is "):
            return self._call("get_booking", booking_id=request.booking_id)
        if f"{self._guest}," in heard and not self._found:
            self._found, self._muddled = True, False
        if request.kind != "book" and not self._found:
            return self._look_up(request, heard)
        if self._changed or request.kind == "day":
            return self._tell(request)
        return self._change(request, heard)

    def _look_up(self, request: Request, heard: str) -> Action:
        ways, rng = self._ways, self._rng
        if self._muddled:
            return self._recover(heard)
        guess = ways.guess if request.kind != "day" else 0.0
        way = rng.choices(("find", "ask", "guess", "wander"), (ways.find, ways.ask, guess, ways.wander))[0]
        if way == "ask":
            return Action(rng.choice(_NUMBER))
        if way == "guess":
            return self._do(request)
        if way == "wander":
            self._muddled = True
            return self._call("list_days")
        return self._call("find_booking", guest=self._guest)

    def _recover(self, heard: str) -> Action:
        way = self._rng.choices(("find", "wander", "sorry", "transfer"), self._ways.muddle)[0]
        if way == "wander":
            return self._call("list_days")
        if way == "sorry" and not heard.startswith("free"):
            return Action(self._rng.choice(_SORRY))
        if way == "transfer":
            return self._call("transfer_to_human")
        return self._call("find_booking", guest=self._guest)

    def _change(self, request: Request, heard: str) -> Action:
        chance = self._rng.random()
        if not self._asked_leave and heard != "Yes, please.":
            if chance < self._ways.leave:
                self._asked_leave = True
                return Action(self._rng.choice(_LEAVE))
            if chance > 1 - self._ways.early:
                return self._tell(request)
        self._changed = True
        return self._do(request)

    def _do(self, request: Request) -> Action:
        if request.kind == "move":
            return self._call("move_booking", booking_id=request.booking_id, day=request.day)
        if request.kind == "cancel":
            return self._call("cancel_booking", booking_id=request.booking_id)
        return self._call("create_booking", guest=self._guest, day=request.day)

    def _tell(self, request: Request) -> Action:
        words = self._rng.choice(_TOLD[request.kind])
        return Action(words.format(id=request.booking_id, day=request.day))

    @staticmethod
    def _call(name: str, **arguments: JsonValue) -> Action:
        return Action("", (ToolCall(name, arguments),))


def demonstrations(
    tasks: Sequence[str], each: int, ways: Ways, seed: int, *, successful: bool = False
) -> list[Rollout]:
    """Runs of the demonstrator.

    Args:
        tasks: Tasks of `bookings`.
        each: Runs of each.
        ways: How often it goes which way.
        seed: Seed of all chance.
        successful: Whether runs that did not succeed are left out (and others made in their place).

    Raises:
        ValueError: No run in a hundred is successful, and only those were asked for.
    """
    rng = random.Random(seed)
    made: list[Rollout] = []
    for task in tasks:
        kept = 0
        for number in range(100 * each):
            episode = Episode(Bookings(), task, f"demonstration-{number}")
            agent = _Demonstrator(task, ways, rng)
            while not episode.done:
                episode.act(agent.act(episode.observations))
            rollout = episode.rollout()
            if successful and not rollout.success:
                continue
            made.append(rollout)
            kept += 1
            if kept == each:
                break
        if kept < each:
            raise ValueError(f"only {kept} of {100 * each} demonstrations of {task} succeeded")
    return made
