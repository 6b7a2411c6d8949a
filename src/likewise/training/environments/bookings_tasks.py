"""The guests of `bookings`, what they hold, and what each of them wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["BOOKINGS", "DAYS", "TASKS", "Booking", "Request"]

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Booking:
    """A booking: whose, and for which day."""

    booking_id: str
    guest: str
    day: str


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that a guest wants.

    Attributes:
        kind: "move" to a day, "cancel", "book" for a day, or "day": be told for which day the booking is.
        booking_id: The booking it is about; the one to be made gets this id.
        day: The day to move to or to book; the day to be told.
    """

    kind: Literal["move", "cancel", "book", "day"]
    booking_id: str
    day: str

    @property
    def words(self) -> str:
        """What the guest says."""
        return {
            "move": f"Please move my booking to {self.day}.",
            "cancel": "Please cancel my booking.",
            "book": f"Please book {self.day} for me.",
            "day": "For which day is my booking?",
        }[self.kind]

    @property
    def sub_goals(self) -> tuple[str, ...]:
        """What must come about: the booking looked up, the change made, the guest told."""
        return {
            "move": ("found", "moved", "told"),
            "cancel": ("found", "cancelled", "told"),
            "book": ("booked", "told"),
            "day": ("found", "told"),
        }[self.kind]


BOOKINGS = (
    Booking("B1", "Ann", "Mon"),
    Booking("B2", "Ben", "Tue"),
    Booking("B3", "Cleo", "Wed"),
    Booking("B4", "Dan", "Thu"),
    Booking("B5", "Eve", "Fri"),
    Booking("B6", "Finn", "Sat"),
    Booking("B7", "Gus", "Sun"),
    Booking("B8", "Hana", "Mon"),
)

TASKS: dict[str, tuple[str, tuple[Request, ...]]] = {
    "ann_moves": ("Ann", (Request("move", "B1", "Fri"),)),
    "ben_cancels": ("Ben", (Request("cancel", "B2", "Tue"),)),
    "cleo_asks_and_books": ("Cleo", (Request("day", "B3", "Wed"), Request("book", "B9", "Tue"))),
    "dan_asks_and_moves": ("Dan", (Request("day", "B4", "Thu"), Request("move", "B4", "Sat"))),
    "eve_asks_and_cancels": ("Eve", (Request("day", "B5", "Fri"), Request("cancel", "B5", "Fri"))),
    "finn_cancels_and_books": ("Finn", (Request("cancel", "B6", "Sat"), Request("book", "B9", "Wed"))),
    "gus_moves_and_books": ("Gus", (Request("move", "B7", "Thu"), Request("book", "B9", "Mon"))),
    "hana_moves": ("Hana", (Request("move", "B8", "Sun"),)),
}
"""Task -> the guest, and what the guest wants, one thing after the other."""
