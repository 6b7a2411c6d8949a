import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.errors import RolloutFormatError
from likewise.formats.fields import child, nesting
from likewise.formats.files import outline, read_values


@pytest.mark.parametrize(
    ("head", "kind", "keys"),
    [
        ('{"a": 1, "b": {"c": "x"}}', "object", {"a", "b", "b.c"}),
        ('[{"a": [{"b": 1}]}, {"z": 1}]', "list", {"[].a", "[].a[].b", "[].z"}),
        (' \n{"a": "text with \\" and { and , \\"k\\": ", "b": 1}', "object", {"a", "b"}),
        ('{"a": 1}\n{"second": 1}', "object", {"a"}),
        (
            '{"messages": [{"role": "user", "content": "xxxxxx',
            "object",
            {"messages", "messages[].role", "messages[].content"},
        ),
        ('{"a": tru', "object", {"a"}),
        ('{"a', "object", set()),
        ("hello", "other", set()),
        ("", "other", set()),
        ("[[1, 2], [", "list", set()),
    ],
)
def test_the_outline_shows_the_keys_of_a_head_cut_anywhere(head, kind, keys):
    seen = outline(head)
    assert (seen.kind, set(seen.keys)) == (kind, keys)


def test_the_outline_keeps_short_texts():
    assert outline('{"schema": "likewise.rollout/1", "n": 1, "a": {"schema": "inner"}}').texts == {
        "schema": "likewise.rollout/1",
        "a.schema": "inner",
    }


@given(st.text('{}[]:,"\\a 1\n'))
def test_the_outline_of_any_text_is_made_without_an_error(head):
    outline(head)
    outline("{" + head)


def test_a_pointer_escapes_slash_and_tilde():
    assert child(child("", "a/b~c"), 3) == "/a~1b~0c/3"


@pytest.mark.parametrize(
    ("value", "depth"), [(1, 0), ("a", 0), ([], 1), ({}, 1), ([1], 1), ({"a": [1]}, 2), ([[], 1], 2)]
)
def test_nesting_counts_levels(value, depth):
    assert nesting(value) == depth


def test_the_outline_of_a_head_that_only_opens_lists_is_made_at_once():
    assert outline("[" * 65_536).keys == frozenset()
    assert outline('{"a":[' * 10_000).kind == "object"


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ('{"a": 1}', [({"a": 1}, None)]),
        ("[1,\n2]", [([1, 2], None)]),
        ('{"a": 1}\n', [({"a": 1}, None)]),
        ('{"a": 1}\n\n{"b": 2}\n', [({"a": 1}, 1), ({"b": 2}, 3)]),
        ('{\n "a": 1\n}\n{\n "b": 2\n}', [({"a": 1}, 1), ({"b": 2}, 4)]),
        ('{"a": 1} {"b": 2}', [({"a": 1}, 1), ({"b": 2}, 1)]),
        ("\ufeff[]\n", [([], None)]),
        ('{"a": 1}\n{"b"', [({"a": 1}, 1)]),
    ],
)
def test_values_are_one_or_one_a_line_or_one_after_another(tmp_path, content, values):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="utf-8")
    found = read_values(path)
    assert [(value, line) for value, line, _ in found.values] == values
    assert [item.line for item in found.excluded] == ([2] if content.endswith('{"b"') else [])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ("hello", "not JSON"),
        ('{"a": 1', "the JSON ends too early"),
        (
            '{\n "a": 1\n}\n{\n "b"',
            "line 4: a second JSON value begins here, column 1; write one value a line, or a list of all",
        ),
        ("[" * 100_000, "nested too deeply|ends too early"),
    ],
)
def test_a_file_without_a_value_or_with_a_broken_one_is_an_error(tmp_path, content, problem):
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(RolloutFormatError, match=problem):
        read_values(path)
