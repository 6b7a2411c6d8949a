from __future__ import annotations

import gc
import weakref

import pytest

from likewise.cli.cycles import OBJECTS, rare_cycle_search


class Node:
    pass


def searches_while(build):
    """How often Python looked for cycles."""
    begun = []
    gc.callbacks.append(lambda phase, _: begun.append(phase) if phase == "start" else None)
    try:
        build()
    finally:
        gc.callbacks.pop()
    return len(begun)


def test_one_large_result_is_built_with_hardly_a_search():
    def built():
        return [[i] for i in range(OBJECTS - 5_000)]  # kept: a list each

    often = searches_while(built)
    with rare_cycle_search():
        rarely = searches_while(built)
    assert often > 50  # 95,000 lists at 700 a search, fewer where Python waits for its oldest ones
    assert rarely <= 1


def test_cycles_are_still_found_in_the_end():
    with rare_cycle_search():
        first = Node()
        first.itself = first
        gone = weakref.ref(first)
        del first
        kept = [[i] for i in range(2 * OBJECTS)]
        assert gone() is None
    assert len(kept) == 2 * OBJECTS


def test_the_former_threshold_holds_again_even_after_a_fault():
    before = gc.get_threshold()
    with rare_cycle_search():
        assert gc.get_threshold() == (OBJECTS, *before[1:])
    assert gc.get_threshold() == before
    with pytest.raises(KeyError), rare_cycle_search():
        raise KeyError
    assert gc.get_threshold() == before
