from __future__ import annotations

import pytest

from likewise.core.errors import CheckpointError
from likewise.learned.calibrated import Calibration

FOUND = Calibration(1.0, 0.1, 0.95, 60, 0.7, None, 0.08, 0.5, 1.2, (0.0, 1.0), (0.5, 2.5))


def test_it_survives_the_way_through_json():
    assert Calibration.from_json(FOUND.as_json(), "here") == FOUND


def test_the_claim_is_one_sentence_or_the_reason():
    assert FOUND.claim == (
        "with confidence 95%, at most 10.00% of the run pairs of a new task are let through (score at most 0.700) and "
        "differ by more than 1; 60 held-out tasks"
    )
    none = Calibration(1.0, 0.01, 0.95, 5, None, "299 are needed", None, 0.0, None, (0.0,), (0.0,))
    assert none.claim == "no claim: 299 are needed"


def test_the_correction_is_straight_between_knots_and_level_beyond():
    assert [FOUND.correct(x) for x in (-1, 0.25, 9)] == [0.5, 1.0, 2.5]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"delta": "1"}, "delta"),
        ({"confidence": float("inf")}, "confidence"),
        ({"tasks": 0}, "tasks"),
        ({"threshold": None}, "reason"),
        ({"knots": [1.0, 0.0]}, "knots"),
        ({"knots": []}, "knots"),
        ({"corrected": [0.0]}, "knots"),
        ({"more": 1}, "more"),
    ],
)
def test_refuses_by_name(changes, field):
    with pytest.raises(CheckpointError, match=f"calibration.{field}"):
        Calibration.from_json(FOUND.as_json() | changes, "here")
