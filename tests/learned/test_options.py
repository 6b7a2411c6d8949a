from __future__ import annotations

import math

import pytest

from likewise.learned.options import FitOptions, Loss, SameState, parse_options


def test_the_angle_weighs_one_over_one_minus_gamma_unless_said_otherwise():
    assert FitOptions().angle_weight == 5.0
    assert FitOptions(gamma=0.5).angle_weight == 2.0
    assert FitOptions(beta=0.3).angle_weight == 0.3
    assert FitOptions(angle=False).angle_weight == 0.0


def test_options_come_from_texts():
    found = parse_options(["n=5", "loss=huber", "angle=false", "beta=mico", "same_state=equivalent"], seed=3)
    assert (found.n, found.loss, found.angle, found.same_state, found.seed) == (
        5, Loss.HUBER, False, SameState.EQUIVALENT, 3,
    )  # fmt: skip
    assert found.beta == pytest.approx(0.1 * math.pi)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("speed=1", "sets no option; there are gamma, n"),
        ("n", "sets no option"),
        ("seed=2", "seed is given twice"),
        ("n=two", "n cannot be 'two'"),
        ("loss=cubic", "loss cannot be 'cubic'"),
        ("angle=perhaps", "angle cannot be"),
        ("n=0", "n is at least 1"),
        ("rate=nan", "rate is a number above 0"),
        ("beta=-1", "beta is a number of at least 0"),
        ("mix=2", "mix lies in"),
        ("components=-1", "components lies in"),
        ("hold_out=1", "hold_out lies in"),
        ("own=1.5", "own lies in"),
        ("gamma=1", "lies in"),
    ],
)
def test_refuses_by_name(setting, said):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        parse_options([setting], seed=1)


def test_an_annealed_rate_falls_by_half_a_cosine_and_another_stays():
    options = FitOptions(rate=0.2, steps=60, anneal=True)
    assert [options.rate_at(step) for step in (0, 20, 30, 40, 60)] == pytest.approx([0.2, 0.15, 0.1, 0.05, 0.0])
    assert {FitOptions(rate=0.2, steps=60).rate_at(step) for step in (0, 30, 60)} == {0.2}
