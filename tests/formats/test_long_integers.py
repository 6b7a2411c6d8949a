"""The integer that Python will not convert, found by hand-written JSON whose place is known."""

import json
import sys

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.formats import read_rollouts
from likewise.formats.files import parse_json
from likewise.formats.long_integers import _WALKED, long_integer

LIMIT = sys.get_int_max_str_digits()
LONG = "9" * (LIMIT + 1)
FINE = "9" * LIMIT


@pytest.mark.parametrize(
    ("text", "line", "pointer"),
    [
        (LONG + " ", 1, ""),
        (f"[1, {LONG}]", 1, "/1"),
        (f"[1, -{LONG}]", 1, "/1"),
        (f'{{"a": 1,\n "b": [0, {{"c": {LONG}}}]}}', 2, "/b/1/c"),
        (f'{{"a/b~": {LONG}}}', 1, "/a~1b~0"),
        (f'{{"text": "no, {LONG}",\n"x": [[], {{}}, {LONG}]}}', 2, "/x/2"),
        (f'{{"quoted \\" {LONG}": [{FINE}, {LONG}]}}', 1, f'/quoted \\" {LONG}/1'),
    ],
)
def test_its_line_place_and_digits_are_found_and_strings_passed_over(text, line, pointer):
    found = long_integer(text if text[0] in "[{" else f" {text}")
    assert (found.line, found.pointer, found.digits, found.limit) == (line, pointer, LIMIT + 1, LIMIT)


@pytest.mark.parametrize(
    "text", ["[]", f"[{FINE}]", f"[{LONG}.5]", f"[{LONG}e1]", f'["{LONG}"]', "[" * 50_000, f"{{{LONG}"]
)
def test_what_python_converts_or_is_no_integer_is_none(text):
    found = long_integer(text)
    assert found is None or text[0] == "{"  # no JSON, so nothing is promised but an end


def test_far_into_a_file_only_the_line_is_told():
    text = '["' + "x" * _WALKED + f'",\n{LONG}]'
    assert (long_integer(text).line, long_integer(text).pointer) == (2, "")


def test_the_error_names_line_and_place_and_what_may_stand_there(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text(f'[{{"task_id": 1, "trial": 0, "reward": 1.0, "traj": [],\n"info": {{"cost": {LONG}}}}}]')
    with pytest.raises(RolloutFormatError) as caught:
        read_rollouts(path)
    assert str(caught.value) == (
        f"{path}, line 2, at /0/info/cost: an integer of {LIMIT + 1:,} digits (expected at most {LIMIT:,}, or a string)"
    )


def test_a_line_with_such_an_integer_is_excluded_with_its_place(tmp_path):
    good = json.dumps({"task_id": "t", "messages": [{"role": "assistant", "content": "x"}]})
    path = tmp_path / "runs.jsonl"
    path.write_text(f'{good}\n{{"task_id": "t", "messages": [], "x": [{LONG}]}}\n')
    found = read_rollouts(path)
    assert len(found) == 1
    assert [(each.line, each.pointer) for each in found.excluded] == [(2, "/x/0")]
    assert found.excluded[0].reason == f"an integer of {LIMIT + 1:,} digits (expected at most {LIMIT:,}, or a string)"


def test_without_a_limit_there_is_no_such_integer(tmp_path):
    sys.set_int_max_str_digits(0)
    try:
        assert long_integer(f"[{LONG}]") is None
        assert parse_json(f"[{LONG}]", tmp_path) == [int(LONG)]
    finally:
        sys.set_int_max_str_digits(LIMIT)
