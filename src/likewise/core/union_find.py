"""Disjoint sets: which things have been said to belong together."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

__all__ = ["UnionFind"]

Item = TypeVar("Item", bound=Hashable)


class UnionFind(Generic[Item]):
    """Disjoint sets with path halving and union by size; an item not yet seen is a set of its own."""

    def __init__(self) -> None:
        """Nothing belongs together yet."""
        self._parent: dict[Item, Item] = {}
        self._size: dict[Item, int] = {}

    def find(self, item: Item) -> Item:
        """The item that stands for the set of `item`; the same for all of its members."""
        parent = self._parent
        parent.setdefault(item, item)
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    def union(self, first: Item, second: Item) -> Item:
        """Make one set of the sets of two items, and return the item that stands for it.

        The larger set keeps the item that stands for it; of two equal ones, that of `first`.
        """
        a, b = self.find(first), self.find(second)
        if a == b:
            return a
        if self._size.get(a, 1) < self._size.get(b, 1):
            a, b = b, a
        self._parent[b] = a
        self._size[a] = self._size.get(a, 1) + self._size.pop(b, 1)
        return a
