from __future__ import annotations

import tomllib

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.tool_names import ToolClass
from likewise.cli.pins import parse_pins, pinned_text, write_pins
from likewise.core.errors import ConfigError

READS, CHANGES = ToolClass.READS, ToolClass.CHANGES


@pytest.mark.parametrize(
    ("typed", "pins"),
    [
        ([], {}),
        (["think=reads", "x= changes"], {"think": READS, "x": CHANGES}),
        (["a=b=reads"], {"a=b": READS}),
        (["mcp__x__y=reads", "mcp__x__y=reads"], {"mcp__x__y": READS}),
    ],
)
def test_pins_are_read_as_typed(typed, pins):
    assert parse_pins(typed) == pins


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["think"], "'think': expected TOOL=reads or TOOL=changes"),
        (["=reads"], "'=reads': expected"),
        (["think=read"], "(did you mean 'reads'?)"),
        (["think="], "'think=': expected"),
        (["x=reads", "x=changes"], "'x' is pinned both ways"),
    ],
)
def test_what_is_no_pin_is_refused(typed, words):
    with pytest.raises(typer.BadParameter) as caught:
        parse_pins(typed)
    assert words in caught.value.message


COMMENTED = """# top
[rules]
list-order = "equivalent"  # why

[tools]
# mine
think = "reads"  # a note

[gates]
x = 1
"""


def test_only_the_pins_lines_change():
    assert pinned_text(COMMENTED, {"think": CHANGES, "x.y": READS}, "f") == (
        COMMENTED.replace('think = "reads"', 'think = "changes"').replace("# a note\n", '# a note\n"x.y" = "reads"\n')
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "[gates]\nx = 1",
        '[tools]\na = "reads"',
        '[tools]\r\na = "reads" # z\r\n',
        '[tools.a]\nlist-order = "neutral"\n\n[tools.a.arguments]\nx = "set" # c\n',
        '[tools.a]\nlist-order = "neutral"\n[rules]\nx = "y"\n[tools.b]\nclass = "reads" # c\n',
        '[tools.b]\n[tools]\na = "reads"\n',
        'tools = { a = "reads" }\n',
        "tools = {}\n",
        'tools.a = "reads"\ntools.b.class = "reads"\n[rules]\n',
        '[tools]\nb = { class = "reads", arguments = { x = "ignore" } } # k\n',
        "[[gates]]\nx = 1\n[tools.b]\n",
    ],
)
def test_a_file_of_any_layout_says_the_same_afterwards_but_for_the_pins(text):
    pins = {"a": CHANGES, "b": READS, "odd name": READS}
    edited = pinned_text(text, pins, "f")
    before, after = tomllib.loads(text), tomllib.loads(edited)
    tools = after.pop("tools")
    assert {name: each["class"] if isinstance(each, dict) else each for name, each in tools.items()} | pins == pins
    for name, each in before.pop("tools", {}).items():
        if isinstance(each, dict):
            assert tools[name] == {**each, "class": str(pins[name])}
    assert after == before
    assert all(comment in edited for comment in ("# only a comment", "# z", "# c", "# k") if comment in text)
    assert ("\r\n" in text) == ("\r\n" in edited)
    assert edited.count("\r\n") in (0, edited.count("\n"))
    assert pinned_text(edited, pins, "f") == edited


names = st.text(min_size=1, max_size=8)


@given(st.dictionaries(names, st.sampled_from(list(ToolClass)), min_size=1, max_size=3))
def test_any_name_can_be_pinned(pins):
    assert tomllib.loads(pinned_text(COMMENTED, pins, "f"))["tools"] == {"think": "reads", **pins}


def test_a_file_that_is_not_there_is_made_and_one_that_is_keeps_its_rights(tmp_path):
    path = tmp_path / "likewise.toml"
    write_pins(path, {"x": READS})
    assert tomllib.loads(path.read_text()) == {"tools": {"x": "reads"}}
    path.chmod(0o600)
    write_pins(path, {"y": CHANGES})
    assert tomllib.loads(path.read_text()) == {"tools": {"x": "reads", "y": "changes"}}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["likewise.toml"]


def test_what_cannot_be_edited_safely_is_left_alone_and_says_what_to_write(monkeypatch, tmp_path):
    path = tmp_path / "likewise.toml"
    path.write_text(COMMENTED)
    monkeypatch.setattr("tomlkit.dumps", lambda document: "[tools]\n")
    with pytest.raises(ConfigError, match=r'write "x" = "reads" under \[tools\] by hand'):
        write_pins(path, {"x": READS})
    assert path.read_text() == COMMENTED
