from __future__ import annotations

import json

import numpy as np
import pytest

from judges import LetterEncoder
from learned.samples import checkpoint, run_of
from likewise.core.errors import CheckpointError
from likewise.core.rollout import Observation
from likewise.learned.calibrated import Calibration
from likewise.learned.forward import forward
from likewise.learned.model import RSDModel

RUN = run_of(("abc", "de"), ("fgh", "ij"), ("kk", "l"))


class CountingEncoder(LetterEncoder):
    asked = 0

    def encode(self, texts):
        self.asked += len(texts)
        return super().encode(texts)


def model(**changes):
    return RSDModel(checkpoint(**changes), LetterEncoder())


def calibration(**changes):
    whole = {
        "delta": 1.0, "at_most": 0.1, "confidence": 0.95, "tasks": 60, "threshold": 0.5, "reason": None, "limit": 0.1,
        "let_through": 0.5, "margin": 0.2, "knots": [0.0, 5.0], "corrected": [1.0, 2.0],
    }  # fmt: skip
    return whole | changes


def test_a_score_is_twice_alpha_times_the_squared_norm():
    learned = model(alpha=0.7)
    states = learned.states.states(RUN)
    norms = (forward(learned.weights, states)[0] ** 2).sum(axis=1)
    scores = learned.score_turns(RUN)
    assert [score.value for score in scores] == pytest.approx(np.minimum(1.4 * norms, 5.0).tolist(), rel=1e-5)
    assert [score.normalised * 5 for score in scores] == pytest.approx([score.value for score in scores])


def test_a_history_scored_as_it_grows_has_the_scores_of_the_whole_run():
    learned = model()
    whole = [score.value for score in learned.score_turns(RUN)]
    grown = [learned.score(RUN.turns[:t], RUN.turns[t].observations).value for t in range(len(RUN.turns))]
    assert grown == pytest.approx(whole, abs=1e-6)
    # Out of order, and from another run between, all the same.
    learned.score(run_of(("zz", "z")).turns, [Observation("user", "q")])
    assert learned.score(RUN.turns[:1], RUN.turns[1].observations).value == pytest.approx(whole[1], abs=1e-6)


def test_a_new_turn_asks_the_encoder_for_its_own_texts_only():
    encoder = CountingEncoder()
    learned = RSDModel(checkpoint(), encoder)
    turns = run_of(*[(f"said {k}", f"done {k}") for k in range(50)]).turns
    for t in range(1, 51):
        before = encoder.asked
        learned.score(turns[:t])
        assert encoder.asked - before == 2


def test_heads_give_a_spread_and_one_head_none():
    assert model().score(RUN).spread is None
    learned = model(heads=5)
    values = learned.values(learned.states.states(RUN))
    assert values.shape == (5, 3)
    assert learned.score_turns(RUN)[0].spread == pytest.approx(values[:, 0].std(ddof=1))
    assert learned.score_turns(RUN)[0].value == pytest.approx(min(values[:, 0].mean(), 5.0))


def test_strange_states_are_called_strange():
    states = RSDModel(checkpoint(), LetterEncoder()).states.states(RUN)
    learned = model(references=states, familiar=1e-3)
    assert all(score.familiar for score in learned.score_turns(RUN))
    strange = learned.score_turns(run_of(("zzz", "qqq")))[0]
    assert not strange.familiar
    assert strange.distance > 0.5


def test_calibration_gives_a_limit_a_correction_and_conservative_bounds():
    learned = model(calibration=calibration())
    score = learned.score(RUN)
    assert score.upper == pytest.approx(min(score.value + 0.2, 5.0))
    assert score.corrected == pytest.approx(1 + score.value / 5)
    assert score.let_through == (score.value <= 0.5)
    assert score.bounds()["immediate_contradiction"].basis == "upper confidence limit of the estimate"
    bare = model().score(RUN)
    assert bare.bounds()["immediate_contradiction"].basis == "estimate"
    assert bare.upper is bare.corrected is bare.let_through is None
    json.dumps(score.as_json(), allow_nan=False)


def test_a_model_survives_the_way_to_disk(tmp_path):
    learned = model(heads=2)
    learned.calibration = Calibration.from_json(calibration(), "")
    learned.save(tmp_path / "m")
    again = RSDModel.load(tmp_path / "m", LetterEncoder())
    assert again.calibration == learned.calibration
    assert [s.value for s in again.score_turns(RUN)] == [s.value for s in learned.score_turns(RUN)]


def test_distances_between_states_are_symmetric():
    learned = model()
    states = learned.states.states(RUN)
    assert learned.between(states[:1], states[1:2]) == pytest.approx(learned.between(states[1:2], states[:1]))
    assert learned.between(states, states) == pytest.approx(learned.values(states)[0], abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"encoder": "another"}, "encoder"), ({"dimensions": 25}, "width"), ({"calibration": {}}, "calibration")],
)
def test_refuses_what_does_not_fit_the_encoder(changes, field):
    with pytest.raises(CheckpointError) as caught:
        model(**changes)
    assert caught.value.field.startswith(field)


def test_refuses_vectors_of_another_width():
    with pytest.raises(CheckpointError, match="width"):
        model().score_states(np.zeros((1, 3), dtype=np.float32))


def test_an_empty_history_has_no_score():
    with pytest.raises(ValueError, match="empty history"):
        model().score([])
