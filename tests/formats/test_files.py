import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.formats.fields import child, nesting
from likewise.formats.files import outline


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
