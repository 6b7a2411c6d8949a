"""What a text asks for, read by hand."""

import time

import pytest

from likewise.backends.asked_for import asked_for


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Could you please provide your user ID?", "user id"),
        ("I'll need your user ID and the reservation IDs for the flights you wish to alter.", "user id reservation"),
        ("I need the reason for cancellation so I can proceed.", "reason cancellation"),
        ("Please provide: - First Name - Date of birth 2. Zip code", "first name date birth zip code"),
        ("Which flight would you like?", "flight"),
        ("To proceed, I'll need your email address. What is the zip code of the order?", "email address zip code"),
    ],
)
def test_the_facts_that_are_asked_for(text, asked):
    assert asked_for(text) == set(asked.split())


@pytest.mark.parametrize(
    "text",
    ["", "Your order has been cancelled.", "Let me know if I can help with that.", "Would you like me to proceed?"],
)
def test_where_nothing_is_asked_for(text):
    assert asked_for(text) == frozenset()


def test_two_ways_to_ask_for_the_same():
    first = asked_for("I can help you with that. Could you please provide your user ID and reservation ID?")
    second = asked_for("To change your flight, I'll need your user ID and reservation ID. Can you share those details?")
    assert first == second == {"user", "id", "reservation"}


def test_the_time_grows_with_the_length_and_no_faster():
    def seconds(words):
        began = time.process_time()
        asked_for("provide which you for " * words)
        return time.process_time() - began

    assert seconds(80_000) < 12 * max(seconds(20_000), 0.01)
