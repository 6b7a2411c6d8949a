from __future__ import annotations

import pytest

from likewise.training.tiny_settings import ARMS, TinySettings


def test_the_arms_are_those_of_the_comparison_and_each_once():
    assert len(set(ARMS)) == len(ARMS)
    assert {"base", "sft", "token-entropy", "semantic-entropy", "rsd", "rsd-in-group", "shuffled"} < set(ARMS)
    assert {"hybrid-0", "hybrid-0.25", "hybrid-0.5", "hybrid-0.75"} < set(ARMS)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"steps": 0}, "steps is at least 1"),
        ({"trials": 1}, "trials is at least 2"),
        ({"rate": 0.0}, "rate is above 0"),
        ({"rate": float("nan")}, "rate is above 0"),
        ({"hidden": 60}, "hidden is a multiple of 8"),
        ({"gamma": 1.0}, r"gamma lies in \[0, 1\)"),
        ({"anchor": -1.0}, "anchor is at least 0"),
        ({"states": "all"}, "states is decisions, score or end"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(setting, told):
    with pytest.raises(ValueError, match=told):
        TinySettings(**setting)
