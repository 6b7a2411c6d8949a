"""The traps of real logs, by number: each is held by a test whose name says it, here or beside the reader concerned."""

import ast
import re
from pathlib import Path

import pytest

from formats.test_mapped import MEDICAL, visit
from judges import NeverJudge
from likewise.evaluation.evaluate import evaluate
from likewise.formats import read_rollouts
from scoring.runs import call, calls, run

TESTS = Path(__file__).parents[1]

TRAPS = {
    1: "one call id several times: results pair by position",
    2: "a run at the step cap is cut, not answered wrong",
    3: "trials that repeat the task id number nothing",
    4: "runs that crashed in the harness are no failures of the agent",
    5: "files of different agents are not pooled",
    6: "unknown keys are ignored",
    7: "arguments that differ in the order of a list alone",
    8: "trials out of order",
    9: "every run is trial 0: the file is the run",
    10: "parallel calls against the same calls in a row",
    11: "texts in JSON envelopes",
    12: "a tool call written as text",
    13: "a scripted first message is no action",
    14: "fields that are there and null",
    15: "every file says trial 1",
    16: "inputs of tools as Python literals",
    17: "what a model was shown, as a repr",
    18: "an empty output where a tool was called",
    19: "a status that says success of a run that did nothing",
    20: "a missing key or package is the harness's failure",
    21: "the model stands in the folder's name alone",
    22: "observations hold random ids and times",
    23: "addresses differ by an appended format and the order of parameters",
    24: "agreement is not correctness",
    25: "bodies differ by the order of their keys",
    26: "long texts",
    27: "sessions that were not run",
    28: "runs without an outcome",
    29: "an empty reply inside a run",
    30: "texts cut by the other's speech",
    31: "a cap on turns is a cut",
    32: "epochs that are declared and not there",
    33: "members of an archive out of order",
    34: "a sample without an assistant",
    35: "texts that are attached",
    36: "samples that were retried or written twice",
    37: "epochs that part at their second action",
    38: "a file with history alone",
    39: "function calls, and observations as the user's",
    40: "one deed in two dialects of tools",
    41: "line ends of Windows",
    42: "observations out of order of time",
    43: "every generation repeats the history",
    44: "messages and tool use as text",
    45: "one trace exported twice",
    46: "parallel calls taken apart",
    47: "null input and output",
    48: "one message over several lines",
    49: "lines that are no messages",
    50: "sub-agents, and runs over several files",
    51: "a run that goes on in a further file",
    52: "JSON Lines named .json, typed values, one call reported twice",
}


def _named(name):
    """The numbers in the name of a test: `trap_7`, `trap_42_and_43`, `traps_27_to_31`."""
    for numbers in re.findall(r"(?<![a-z])traps?_(\d+(?:_(?:and|to)_\d+)*)", name):
        if "_to_" in numbers:
            first, last = map(int, numbers.split("_to_"))
            yield from range(first, last + 1)
        else:
            yield from map(int, numbers.split("_and_"))


def test_every_trap_has_a_test_whose_name_says_it():
    named = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named.update(_named(node.name))
    assert list(TRAPS) == list(range(1, 53))
    assert set(TRAPS) - named == set()


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("test_trap_7_x", {7}),
        ("test_trap_42_and_43_x", {42, 43}),
        ("test_traps_27_to_31_of_y", {27, 28, 29, 30, 31}),
        ("test_issue_3907_and_trap_36_a", {36}),
        ("test_bootstrap_50", set()),
    ],
)
def test_numbers_are_read_off_names(name, numbers):
    assert set(_named(name)) == numbers


def test_trap_7_arguments_that_differ_in_the_order_of_a_list_alone_are_neither_equal_nor_contradictory():
    """Whether the order says something is the tool's affair (flights: yes, items: no): neutral, under a rule's name."""
    first = call("book", flights=["HAT001", "HAT002"])
    other = call("book", flights=["HAT002", "HAT001"])
    rollouts = [run("0", calls(first)), run("1", calls(other))]
    (task,) = evaluate(rollouts, judge=NeverJudge()).tasks
    assert task.rsd.value == pytest.approx(0.5)  # one neutral turn of two runs
    assert evaluate([run("0", calls(first)), run("1", calls(first))], judge=NeverJudge()).tasks[0].rsd.value == 0


def test_trap_22_random_ids_and_times_in_observations_make_no_two_runs_differ(write):
    path = write("model-a/log.json", [visit(1), visit(2), visit(3)])  # the id and the time are new in each
    rollouts = read_rollouts(path, mapping=write("map.toml", MEDICAL)).rollouts
    seen = {o.text for each in rollouts for turn in each.turns for o in turn.observations if "lastUpdated" in o.text}
    assert (len(rollouts), len(seen)) == (3, 3)
    (task,) = evaluate(rollouts, judge=NeverJudge()).tasks
    assert (task.rsd.value, task.total_variance.value) == (0, 0)
