from __future__ import annotations

import json
import sys

import pytest

from likewise.reliability.fields import MalformedOutputError, parse_fields
from likewise.reliability.loose_json import LONGEST, MOST_STEPS, read_loose, repaired

ANSWER = {"main_answer": "It grew by 2%.", "key_findings": ["GDP rose.", "Exports rose."], "sources_used": ["a.org"]}
WRITTEN = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"Sure: {WRITTEN}",
        f"Sure: {WRITTEN[:-1]}",  # not closed
        f"Sure: {WRITTEN[:-1]},}}",  # a comma too many
        WRITTEN.replace('"', "'"),
        WRITTEN.replace('", "', '" "'),  # a comma too few
    ],
)
def test_what_was_meant_is_read(text):
    assert read_loose(text, "{") == ANSWER


@pytest.mark.parametrize(("text", "opening"), [("no idea", "{"), ("", "["), ("a {b} c", "[")])
def test_a_text_without_json_gives_nothing(text, opening):
    assert read_loose(text, opening) is None


# Each takes json-repair minutes at the length of an answer: it goes back to the start for every one of them.
HOSTILE = {
    "open objects": '{"main_answer": ' + "{" * 5_000,
    "objects without values": '{"main_answer": ' + "{main_answer}," * 2_000,
    "brackets of both kinds": '{"main_answer": ' + " (]{," * 3_000,
    "parentheses": '{"main_answer": ' + "(" * 20_000,
    "objects begun": '{"main_answer" ' * 2_000,
}


def steps(function, text):
    """Calls that reading takes: what takes time, whatever else the machine does."""
    count = 0

    def one(*_):
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(one)
    try:
        function(text)
    except MalformedOutputError:
        pass
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_repair_has_an_end_whatever_the_text(name):
    """The event loop of all queries waits meanwhile."""
    text = HOSTILE[name]
    assert repaired(text) is None
    with pytest.raises(MalformedOutputError):
        parse_fields(text)


def test_a_text_is_given_up_by_steps_and_those_that_count_are_still_counted_afterwards():
    """By steps, so that a busy machine reads what a quiet one reads; and who profiles goes on profiling."""
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: seen.append(event))
    try:
        repaired(HOSTILE["parentheses"])
        len("after")
    finally:
        sys.setprofile(before)
    assert seen[-1] == "c_call"  # setprofile itself; len before it
    assert steps(repaired, f"Sure: {WRITTEN[:-1]}") < MOST_STEPS / 50


def test_what_is_too_long_to_be_repaired_is_read_where_it_is_whole():
    long = json.dumps({"main_answer": "x" * LONGEST})
    assert parse_fields(f"Sure: ```json\n{long}\n```").main_answer == "x" * LONGEST
    with pytest.raises(MalformedOutputError):
        parse_fields(long[:-1])


def test_many_blocks_of_code_cost_the_repair_of_one():
    blocks = "main_answer\n" + "```\n{oops\n```\n" * 2_000
    assert steps(parse_fields, blocks) < 3 * MOST_STEPS
