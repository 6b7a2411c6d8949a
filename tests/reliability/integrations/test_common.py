from __future__ import annotations

import pytest

from likewise.reliability.integrations.common import output_of, text_query, tokens
from likewise.reliability.runs import Usage, WrongOutputError


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ((100, 10), Usage(100, 10)),
        ((100, 0), Usage(100, 0)),
        ((0, 0), Usage()),  # frameworks start at 0: nothing was counted
        ((None, None), Usage()),
        (("many", 3), Usage(None, 3)),
        ((-1, 3), Usage(None, 3)),
    ],
)
def test_tokens_that_were_not_counted_are_not_measured(counts, usage):
    assert tokens(*counts) == usage


def test_only_texts_are_asked_where_a_framework_takes_no_more():
    assert text_query("?", "X") == "?"
    with pytest.raises(TypeError, match="an agent of X is asked a text, got dict"):
        text_query({}, "X")


def test_outputs_keep_their_tokens_and_facts():
    found = output_of({"main_answer": "Paris."}, Usage(1, 2), last_agent="clerk")
    assert (found.fields.main_answer, found.usage, found.meta) == ("Paris.", Usage(1, 2), {"last_agent": "clerk"})
    with pytest.raises(WrongOutputError, match="NoneType"):
        output_of(None, Usage())
