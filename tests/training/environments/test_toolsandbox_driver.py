from __future__ import annotations

from types import SimpleNamespace

import pytest

from likewise.training.environments import toolsandbox_driver
from likewise.training.environments.toolsandbox_driver import identifier, readable_calls


@pytest.mark.parametrize("name", ["call-1", "chatcmpl-tool-0.7", "", "7", "é", "a b"])
def test_ids_may_begin_the_name_of_a_variable(name):
    assert identifier(name, 3).isidentifier()
    assert identifier(name, 3) != identifier(name, 4)


def test_calls_can_be_made_of_known_tools_with_an_object_alone():
    known = {"find"}
    assert readable_calls([("find", "{}"), ("find", '{"a": 1}')], known)
    for broken in ('{"a": ', "[1]", ""):
        assert not readable_calls([("find", "{}"), ("find", broken)], known)
    assert not readable_calls([("lose", "{}")], known)


class Function(SimpleNamespace):
    def model_dump(self):
        return dict(self.__dict__)


def message(content, *calls):
    made = [SimpleNamespace(id="c-1", function=Function(name=name, arguments=text)) for name, text in calls]
    return SimpleNamespace(content=content, tool_calls=made)


def test_calls_that_can_be_made_are_left_with_ids_that_can_be_variables():
    given = message(None, ("find", "{}"))
    toolsandbox_driver._mend(given, {"find"})
    assert given.tool_calls[0].id == "call_0_c_1"


def test_calls_that_cannot_be_made_become_the_text_that_they_are():
    given = message("Now.", ("lose", '{"a": '))
    toolsandbox_driver._mend(given, {"find"})
    assert given.tool_calls is None
    assert given.content == 'Now.\n{"name": "lose", "arguments": "{\\"a\\": "}'


def test_an_answer_of_nothing_is_an_empty_text():
    given = message(None)
    toolsandbox_driver._mend(given, {"find"})
    assert (given.content, given.tool_calls) == ("", None)
