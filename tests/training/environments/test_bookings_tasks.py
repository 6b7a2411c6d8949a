from __future__ import annotations

from likewise.training.environments.bookings_tasks import BOOKINGS, DAYS, TASKS


def test_every_request_is_about_a_booking_that_its_guest_holds_or_will():
    held = {(each.booking_id, each.guest): each.day for each in BOOKINGS}
    for guest, requests in TASKS.values():
        for request in requests:
            assert request.day in DAYS
            if request.kind == "book":
                assert request.booking_id == f"B{len(BOOKINGS) + 1}"
            else:
                assert (request.booking_id, guest) in held
            if request.kind in ("day", "cancel"):
                assert request.day == held[request.booking_id, guest]
            if request.kind == "move":
                assert request.day != held[request.booking_id, guest]


def test_there_are_eight_tasks_that_begin_with_different_words():
    assert len({(guest, requests[0].words) for guest, requests in TASKS.values()}) == len(TASKS) == 8


def test_a_change_is_done_and_told_and_needs_a_booking_that_was_found():
    goals = {request.kind: request.sub_goals for _, requests in TASKS.values() for request in requests}
    assert goals == {
        "move": ("found", "moved", "told"),
        "cancel": ("found", "cancelled", "told"),
        "book": ("booked", "told"),
        "day": ("found", "told"),
    }
