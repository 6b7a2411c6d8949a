"""What several processes see is in test_grpo.py, where there are several."""

from __future__ import annotations

import pytest

from likewise.training import siblings
from likewise.training.siblings import apart, everywhere


def test_one_process_has_all_there_is():
    items, own = everywhere(["a", "b"])
    assert items[own] == items == ["a", "b"]


class Ranks:
    """torch.distributed of the second of three processes, as far as it is asked."""

    asked = 0

    def is_available(self):
        return True

    def is_initialized(self):
        return True

    def get_world_size(self):
        return 3

    def get_rank(self):
        return 1

    def all_gather_object(self, parts, own):
        self.asked += 1
        parts[:] = [[], own, ["2-0", "2-1"]]


@pytest.fixture
def ranks(monkeypatch):
    there = Ranks()
    monkeypatch.setitem(siblings.sys.modules, "torch.distributed", there)
    return there


def test_items_of_other_processes_come_in_order_of_rank(ranks):
    items, own = everywhere(["1-0"])
    assert items == ["1-0", "2-0", "2-1"]
    assert items[own] == ["1-0"]
    assert ranks.asked == 1


def fails():
    with apart():
        everywhere(["a"])
        raise ValueError("so")


def test_apart_no_other_process_is_asked_and_behind_it_they_are_again_whatever_happened(ranks):
    with apart():
        assert everywhere(["a"]) == (["a"], slice(0, 1))
    with pytest.raises(ValueError, match="so"):
        fails()
    assert ranks.asked == 0
    everywhere(["a"])
    assert ranks.asked == 1
