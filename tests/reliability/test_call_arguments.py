"""Which calls of a tool are one call: spelled out pair by pair, as a person would say."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import pytest

from likewise.reliability.call_arguments import ToolArguments, tool_name

if TYPE_CHECKING:
    from nowhere import Client  # type: ignore[import-not-found]


class Currency(Enum):
    EUR = "eur"


class Shop:
    def refund(self, order_id: str, amount: float = 10):
        """A method."""


@dataclass
class Order:
    number: int


def typed(order_id: str, amount: float = 10, note: str | None = None, items: list[int] = [], urgent: bool = False):  # noqa: B006
    """A tool with types."""


def untyped(order_id, amount=10, *more, **named):
    """A tool without."""


def old_style(order_id: Optional[int], currency: Literal["eur", "usd"] = "eur"):  # noqa: UP045
    """As older code writes it."""


def half_known(client: Client, amount: Annotated[Decimal, "in euros"]):
    """One annotation that only a checker can read."""


def call(*args, **kwargs):
    return args, kwargs


def key(tool, given, changes=True, schema=None):
    shape = ToolArguments.of(tool, schema)
    return shape.key(shape.named(*given), changes=changes)


ONE_CALL = [
    (typed, call("7"), call(order_id="7", amount=10)),
    (typed, call("7"), call("7", 10.0, None, [], False)),
    (typed, call("7"), call(7)),
    (typed, call("7", 12.5), call("7", "12.50")),
    (typed, call("7", items=[1, 2]), call("7", items=("1", "2"))),
    (typed, call("7", urgent=True), call("7", urgent="True")),
    (typed, call("7", note="8"), call("7", note=8)),
    (untyped, call("7"), call(7, 10)),
    (untyped, call({"id": "7", "of": [1.0]}), call({"of": [1], "id": 7})),
    (untyped, call(1, 2, 3, x=4), call("1", "2", "3", x="4")),
    (old_style, call(7), call("7", "eur")),
    (half_known, call(None, Decimal("10.10")), call(None, "10.1")),
    (half_known, call(None, Decimal("10.10")), call(None, 10.1)),
    (Shop().refund, call("7"), call(7, "10")),
    (partial(typed, amount=12), call("7"), call(7, amount="12")),
    (partial(partial(typed, "7"), amount=12), call(), call(amount=12)),
    (untyped, call(Currency.EUR), call("eur")),
    (untyped, call(datetime.date(2024, 5, 25)), call("2024-05-25")),
    (untyped, call(Order(7)), call(Order(7))),
    (untyped, call({3, 1, 2}), call({2, 3, 1})),
    (untyped, call({1: "a", "b": 2}), call({"b": 2, 1: "a"})),
]
TWO_CALLS = [
    (typed, call("7"), call("8")),
    (typed, call("7"), call("7", 12)),
    (typed, call("7"), call("07")),
    (typed, call("7", urgent=True), call("7")),
    (typed, call("7", note="None"), call("7")),
    (typed, call("7", items=[1, 2]), call("7", items=[2, 1])),
    (untyped, call("1.1"), call("1.10")),  # of versions, two
    (untyped, call("10"), call("10.0")),
    (untyped, call(True), call(1)),
    (untyped, call(None), call("null")),
    (untyped, call(1, 2, 3), call(1, 2)),
    (untyped, call(Order(7)), call(Order(8))),
    (untyped, call(Decimal("0.1")), call(Decimal("0.10000000000000000001"))),
    (untyped, call(10**40), call(10**40 + 1)),
    (untyped, call("1" * 41), call("1" * 40 + "2")),
    (partial(typed, "7"), call(), call(amount=11)),
    (untyped, call(object()), call(object())),  # nobody can tell
]


@pytest.mark.parametrize(("tool", "one", "other"), ONE_CALL)
def test_calls_that_differ_in_spelling_alone_are_one(tool, one, other):
    assert key(tool, one) == key(tool, other)


@pytest.mark.parametrize(("tool", "one", "other"), TWO_CALLS)
def test_calls_that_mean_different_things_are_two(tool, one, other):
    assert key(tool, one) != key(tool, other)


def test_readers_are_asked_again_where_types_are_not_known_and_not_where_they_are():
    assert key(untyped, call("7"), changes=False) != key(untyped, call(7), changes=False)
    assert key(typed, call("7"), changes=False) == key(typed, call(7), changes=False)


def test_partials_of_one_function_with_different_values_are_two_calls():
    by_mail, by_text = partial(untyped, "mail"), partial(untyped, "text")
    assert key(by_mail, call("hello")) != key(by_text, call("hello"))


SCHEMA = {
    "type": "object",
    "properties": {
        "order": {"type": "string"},
        "amount": {"type": ["number", "null"], "default": 10},
        "items": {"type": "array", "items": {"type": "integer"}},
        "code": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "kind": {"enum": ["a"]},
    },
}


def anything(**arguments):
    """A tool whose arguments its schema alone tells."""


def test_a_schema_tells_types_and_defaults_that_the_signature_does_not():
    wanted = key(anything, call(order="7", amount=10, items=[1], code="3"), False, SCHEMA)
    assert key(anything, call(order=7, items=["1"], code=3), False, SCHEMA) == wanted
    assert key(anything, call(order=7, amount="10", items=["1"], code=3), False, SCHEMA) == wanted
    assert key(anything, call(order=7, amount=11, items=["1"], code=3), False, SCHEMA) != wanted
    assert key(anything, call(order=7, amount=None, items=["1"], code=3), False, SCHEMA) != wanted


@pytest.mark.parametrize("schema", [{"properties": 3}, {"properties": {"a": 3}}, "object"])
def test_a_schema_that_is_none_of_arguments_is_refused(schema):
    with pytest.raises(ValueError, match="a schema of arguments"):
        ToolArguments.of(anything, schema)


def test_who_is_asked_sees_the_defaults_and_no_empty_rest():
    assert ToolArguments.of(untyped).named(("7",), {}) == {"order_id": "7", "amount": 10}
    assert ToolArguments.of(untyped).named(("7", 1, 2), {"x": 3}) == {
        "order_id": "7",
        "amount": 1,
        "more": (2,),
        "x": 3,
    }


def test_arguments_that_the_tool_does_not_take_are_a_type_error_as_ever():
    with pytest.raises(TypeError, match="missing a required argument"):
        ToolArguments.of(typed).named((), {})


def test_a_function_that_tells_no_signature_is_called_by_places():
    shape = ToolArguments.of({}.update)
    assert shape.shape is None
    assert shape.named(({"a": 1},), {"b": 2}) == {"0": {"a": 1}, "b": 2}


def test_what_holds_itself_ends_all_the_same():
    around = []
    around += [around, around]
    assert key(untyped, call(around)) == key(untyped, call(around))
    deep = []
    for _ in range(200):
        deep = [deep]
    assert key(untyped, call(deep)) == key(untyped, call(deep))


def test_a_tool_is_called_as_its_function_is():
    assert tool_name(partial(partial(typed, "7"), amount=1)) == "typed"
    assert tool_name(Shop().refund) == "refund"
    with pytest.raises(ValueError, match="type Shop has no name of its own"):
        tool_name(Shop())
