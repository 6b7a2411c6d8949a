"""Names in a sentence."""

import pytest

from likewise.core.listing import some_of


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (["a", "b", "c"], "a, b and 1 more"),
        (["a", "b", "c", "d", "e"], "a, b and 3 more"),
    ],
)
def test_names_beyond_the_first_two_are_counted(names, said):
    assert some_of(names, 2) == said


def test_a_tuple_of_names_will_do():
    assert some_of(("x", "y"), 1) == "x and 1 more"
