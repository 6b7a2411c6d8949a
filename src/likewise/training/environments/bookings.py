"""`bookings`: a small deterministic world in which guests want bookings moved, cancelled, made, or told about.

The rules are those of larger benchmarks in small: tools with arguments, a policy that the tools enforce (look up a
booking before changing it), a user who answers, insists, loses patience, and goes when all is said and done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from likewise.core.rollout import Action, JsonValue, Observation, StopReason, ToolCall
from likewise.training.environments.bookings_tasks import BOOKINGS, DAYS, TASKS, Booking, Request
from likewise.training.environments.bookings_words import Intent, meaning_of
from likewise.training.environments.protocol import Step, Tool

__all__ = ["POLICY", "Bookings"]

POLICY = (
    "You look after the bookings of a guest house. Look a booking up before you change or cancel it. "
    "Tell the guest when something is done, and only then. Hand over to a colleague only if the tools cannot help."
)
PATIENCE = 3
"""Messages that lead nowhere until the guest goes."""
GOODBYE = "Thank you, goodbye."
GIVES_UP = "I will call another time. Goodbye."
_DONE = {"move": "moved", "cancel": "cancelled", "book": "booked"}
_TEXT: dict[str, JsonValue] = {"type": "string"}


def _tool(name: str, description: str, read_only: bool, **arguments: dict[str, JsonValue]) -> Tool:
    schema: dict[str, JsonValue] = {"type": "object", "properties": dict(arguments), "required": list(arguments)}
    return Tool(name, description, schema, read_only)


_DAY: dict[str, JsonValue] = {"type": "string", "enum": list(DAYS)}
TOOLS = (
    _tool("find_booking", "Find the booking of a guest.", True, guest=_TEXT),
    _tool("get_booking", "Get a booking by its number.", True, booking_id=_TEXT),
    _tool("list_days", "List the days with free rooms.", True),
    _tool("move_booking", "Move a booking to another day.", False, booking_id=_TEXT, day=_DAY),
    _tool("cancel_booking", "Cancel a booking.", False, booking_id=_TEXT),
    _tool("create_booking", "Book a day for a guest.", False, guest=_TEXT, day=_DAY),
    _tool("transfer_to_human", "Hand the guest over to a colleague; ends the conversation.", False),
)


class Bookings:
    """The world; see `Environment`. The first task is begun from the start."""

    name = "bookings-1"
    tools = TOOLS
    tasks = tuple(TASKS)
    turn_limit = 10

    def __init__(self) -> None:
        """Begin the first task."""
        self._calls: dict[str, Callable[..., str]] = {
            "find_booking": self._find,
            "get_booking": self._get,
            "list_days": self._list_days,
            "move_booking": self._move,
            "cancel_booking": self._cancel,
            "create_booking": self._create,
        }
        self.reset(self.tasks[0])

    def reset(self, task_id: str) -> tuple[Observation, ...]:
        """Begin a task anew.

        Raises:
            ValueError: There is no such task.
        """
        if task_id not in TASKS:
            raise ValueError(f"bookings has no task {task_id!r}; it has {', '.join(TASKS)}")
        self._guest, self._requests = TASKS[task_id]
        self._open = 0
        self._patience = PATIENCE
        self._bookings = {each.booking_id: each for each in BOOKINGS}
        self._seen: set[str] = set()
        self._wanted: set[tuple[str, str]] = set()
        self.spoiled = False
        self._met = {self._goal(k, goal): False for k, each in enumerate(self._requests) for goal in each.sub_goals}
        first = self._requests[0].words
        return Observation("system", POLICY), Observation("user", f"Hi, I am {self._guest}. {first}")

    def _goal(self, number: int, goal: str) -> str:
        return f"{number + 1} {self._requests[number].kind}: {goal}"

    def sub_goals(self) -> Mapping[str, bool]:
        """Each sub-goal of the task, and whether it was met so far."""
        return dict(self._met)

    def step(self, action: Action) -> Step:
        """Take an action: its calls one after the other, then its words, which the guest hears where nothing is called.

        Words beside a call are not answered: the guest waits for what comes of it.
        """
        observations: list[Observation] = []
        for call in action.tool_calls:
            if call.name == "transfer_to_human":
                return Step((*observations, Observation("tool", "handed over", call.name)), StopReason.FINISHED)
            observations.append(Observation("tool", self._call(call), call.name))
        if observations:
            return Step(tuple(observations))
        answer, over = self._hear(action.text)
        return Step((Observation("user", answer),), StopReason.FINISHED if over else None)

    def _call(self, call: ToolCall) -> str:
        tool = next((each for each in TOOLS if each.name == call.name), None)
        if tool is None:
            return f"error: there is no tool {call.name[:40]!r}"
        given = call.arguments
        wanted = tool.parameters["required"]
        if not isinstance(given, dict) or not isinstance(wanted, list) or set(given) != set(map(str, wanted)):
            names = ", ".join(map(str, wanted)) if isinstance(wanted, list) else ""
            return f"error: {call.name} takes {names or 'no arguments'}"
        if not all(isinstance(value, str) for value in given.values()):
            return f"error: {call.name} takes text only"
        return self._calls[call.name](**given)

    def _show(self, booking: Booking) -> str:
        self._seen.add(booking.booking_id)
        self._note("found", booking.booking_id)
        return f"{booking.booking_id}: {booking.guest}, {booking.day}"

    def _find(self, guest: str) -> str:
        mine = [each for each in self._bookings.values() if each.guest == guest]
        return "; ".join(self._show(each) for each in mine) or f"error: {guest[:20]} has no booking"

    def _get(self, booking_id: str) -> str:
        booking = self._bookings.get(booking_id)
        return self._show(booking) if booking else f"error: there is no booking {booking_id[:20]}"

    def _list_days(self) -> str:
        return "free: " + " ".join(DAYS)

    def _changeable(self, booking_id: str) -> str | None:
        if booking_id not in self._bookings:
            return f"error: there is no booking {booking_id[:20]}"
        return None if booking_id in self._seen else "error: look the booking up first"

    def _move(self, booking_id: str, day: str) -> str:
        problem = self._changeable(booking_id) or self._no_day(day)
        if problem:
            return problem
        booking = self._bookings[booking_id]
        self._bookings[booking_id] = Booking(booking_id, booking.guest, day)
        self._change("move", booking_id, day)
        return f"{booking_id} is on {day}"

    def _cancel(self, booking_id: str) -> str:
        problem = self._changeable(booking_id)
        if problem:
            return problem
        self._change("cancel", booking_id, self._bookings.pop(booking_id).day)
        return f"{booking_id} is cancelled"

    def _create(self, guest: str, day: str) -> str:
        problem = self._no_day(day)
        if problem:
            return problem
        number = 1 + max(int(each.removeprefix("B")) for each in (*self._bookings, "B8"))
        booking = Booking(f"B{number}", guest, day)
        self._bookings[booking.booking_id] = booking
        self._seen.add(booking.booking_id)
        self._change("book", booking.booking_id, day, right=guest == self._guest)
        return f"{booking.booking_id}: {guest[:20]}, {day}"

    @staticmethod
    def _no_day(day: str) -> str | None:
        return None if day in DAYS else f"error: {day[:20]} is no day"

    def _change(self, kind: str, booking_id: str, day: str, *, right: bool = True) -> None:
        """Enter a change: it serves a request that was made so far, or nobody asked for it."""
        for number, request in enumerate(self._requests[: self._open + 1]):
            if right and (request.kind, request.booking_id, request.day) == (kind, booking_id, day):
                self._met[self._goal(number, _DONE[kind])] = True
                return
        self.spoiled = True

    def _note(self, goal: str, booking_id: str) -> None:
        for number, request in enumerate(self._requests):
            if request.booking_id == booking_id and self._goal(number, goal) in self._met:
                self._met[self._goal(number, goal)] = True

    def _hear(self, text: str) -> tuple[str, bool]:
        """What the guest answers, and whether the guest goes."""
        request, meaning = self._requests[self._open], meaning_of(text)
        if meaning.intent is Intent.ASK_NUMBER and request.kind != "book":
            return f"It is {request.booking_id}.", False
        if meaning.intent is Intent.ASK_NAME:
            return f"I am {self._guest}.", False
        if meaning.intent is Intent.ASK_LEAVE:
            return "Yes, please.", False
        if meaning.intent is Intent.TELL and self._true(request, meaning.change, meaning.days):
            self._met[self._goal(self._open, "told")] = True
            self._open += 1
            if self._open == len(self._requests):
                self._open -= 1
                return GOODBYE, True
            return f"Thank you. {self._requests[self._open].words}", False
        return self._insist(request)

    def _true(self, request: Request, change: str, days: frozenset[str]) -> bool:
        """Whether what the agent told is what the guest waits for, and so."""
        if request.kind == "day":
            return days == {request.day} and self._met[self._goal(self._open, "found")]
        if not self._met[self._goal(self._open, _DONE[request.kind])]:
            return False
        return change == "cancelled" if request.kind == "cancel" else days == {request.day}

    def _insist(self, request: Request) -> tuple[str, bool]:
        self._patience -= 1
        return (GIVES_UP, True) if self._patience == 0 else (request.words, False)
