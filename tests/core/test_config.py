from __future__ import annotations

import pytest

from likewise.core.config import LARGEST, SECTIONS, Table, find_config, nearest, quoted_key, read_config
from likewise.core.errors import ConfigError


@pytest.fixture
def written(tmp_path):
    def _written(text):
        path = tmp_path / "likewise.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return _written


def refused(call, *words):
    with pytest.raises(ConfigError) as caught:
        call()
    message = str(caught.value)
    assert all(word in message for word in words), message
    return message


# The file


def test_a_missing_section_reads_as_empty_and_values_come_as_toml_gives_them(written):
    top = read_config(written('[tools]\nx = "reads"\n'))
    assert top.table("tools").values == {"x": "reads"}
    assert top.table("rules").values == {}
    assert read_config(written("")).values == {}
    assert read_config("/dev/null").values == {}


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(written):
    assert read_config(written(b'\xef\xbb\xbf[rules]\r\nx = "y"\r\n')).table("rules").values == {"x": "y"}


def test_an_unknown_section_is_refused_with_the_nearest_known_one(written):
    refused(lambda: read_config(written("[tool]\n")), "likewise.toml: unknown section 'tool'", "did you mean 'tools'?")
    assert "did you mean" not in refused(lambda: read_config(written("zzz = 1\n")), "'zzz'", "gates")


def test_sections_of_others_are_not_looked_into(written):
    assert read_config(written("[gates]\nanything = [1, {}]\n")).table("gates").values == {"anything": [1, {}]}
    assert len(set(SECTIONS)) == len(SECTIONS)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[rules", ["not TOML", "end of document"]),
        ("[rules]\nx = 1\nx = 2\n", ["not TOML", "line 3"]),
        (b"\xff\xfe", ["not UTF-8"]),
        ("x = " + "[" * 100_000, ["nested too deeply"]),
        ("x = " + "9" * 5_000, ["not TOML"]),
        (b"#" * (LARGEST + 1), ["over 1,048,576 bytes"]),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(written, content, words):
    message = refused(lambda: read_config(written(content)), "likewise.toml", *words)
    assert len(message) < 400


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path):
    refused(lambda: read_config(tmp_path / "gone.toml"), "gone.toml: no such file")
    refused(lambda: read_config(tmp_path), "cannot be read: Is a directory")
    refused(lambda: read_config("a\x00b"), "cannot be read")


def test_only_the_folder_itself_is_searched(tmp_path, written):
    assert find_config(tmp_path) is None
    path = written("")
    (tmp_path / "inner").mkdir()
    assert find_config(tmp_path) == path
    assert find_config(tmp_path / "inner") is None


# A table


def test_every_refusal_names_file_and_key():
    table = Table("f.toml", "gates", {"a b": 1, "flag": True, "many": ["x", 2], "when": None})
    for call, words in [
        (lambda: table.table("a b"), ['at gates."a b": a number', "expected a table"]),
        (lambda: table.choice("a b", {"yes": 1}), ['at gates."a b": a number', 'expected "yes"']),
        (lambda: table.texts("many"), ["at gates.many: a list", "expected a list of strings"]),
        (lambda: table.number("flag"), ["at gates.flag: a boolean", "expected a number"]),
        (lambda: table.only(("a b", "flag", "many", "whenn")), ["at gates: unknown key 'when'", "'whenn'?"]),
    ]:
        assert refused(call, *words).startswith("f.toml, at gates")


def test_a_word_out_of_a_choice_gets_the_nearest_and_all_that_would_be_right():
    table = Table("f.toml", "tools", {"x": "read"})
    known = {"reads": 1, "changes": 2}
    refused(lambda: table.choice("x", known), "'read' (did you mean 'reads'?)", '"reads" or "changes"')
    assert Table(values={"x": "reads"}).choice("x", known) == 1


@pytest.mark.parametrize(("value", "fits"), [(0, True), (1.0, True), (0.5, True), (-0.1, False), (1.1, False)])
def test_a_number_lies_within_its_limits(value, fits):
    table = Table(values={"x": value})
    if fits:
        assert table.number("x", 0, 1) == value
    else:
        refused(lambda: table.number("x", 0, 1), "out of range", "from 0 to 1")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_a_number_is_finite(value):
    refused(lambda: Table(values={"x": value}).number("x"), "out of range")


def test_keys_are_written_as_toml_writes_them():
    assert [quoted_key(key) for key in ("a-b_1", "a.b", 'a"b', "")] == ["a-b_1", '"a.b"', '"a\\"b"', '""']


def test_a_word_like_none_gets_no_suggestion():
    assert nearest("tools", ["rules", "tool"]) == " (did you mean 'tool'?)"
    assert nearest("zebra", ["rules", "tool"]) == ""
