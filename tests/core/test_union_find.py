from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from likewise.core.union_find import UnionFind


def test_what_was_never_joined_is_a_set_of_its_own():
    assert UnionFind().find("a") == "a"


def test_joining_is_transitive():
    sets = UnionFind()
    sets.union("a", "b")
    sets.union("c", "d")
    assert sets.find("a") == sets.find("b") != sets.find("c") == sets.find("d")
    sets.union("b", "d")
    assert len({sets.find(item) for item in "abcd"}) == 1
    assert sets.find("e") == "e"


def test_the_larger_set_names_the_whole_and_of_equal_ones_the_first():
    sets = UnionFind()
    assert sets.union("a", "b") == "a"
    assert sets.union("c", "a") == "a"
    assert sets.union("x", "y") == "x"
    assert sets.union("x", "c") == "a"


def test_joining_what_is_joined_changes_nothing():
    sets = UnionFind()
    sets.union(1, 2)
    assert sets.union(2, 1) == 1
    assert sets.union(2, 2) == 1


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30))
def test_two_items_are_together_exactly_where_a_path_of_links_joins_them(links):
    sets = UnionFind()
    for a, b in links:
        sets.union(a, b)
    for start in range(13):
        reached, frontier = {start}, [start]
        while frontier:
            item = frontier.pop()
            new = {b for a, b in links if a == item} | {a for a, b in links if b == item}
            frontier += new - reached
            reached |= new
        assert {item for item in range(13) if sets.find(item) == sets.find(start)} == reached
