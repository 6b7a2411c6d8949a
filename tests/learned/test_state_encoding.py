from __future__ import annotations

import numpy as np
import pytest

from judges import LetterEncoder
from learned.samples import WIDTH, run_of
from likewise.core.errors import BackendError
from likewise.core.rollout import Action, Observation, Rollout, StopReason, ToolCall, Turn
from likewise.learned.state_encoding import COUNTS, KEEPS, StateEncoder, state_width


class CountingEncoder(LetterEncoder):
    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked += texts
        return super().encode(texts)


def user(text):
    return Observation("user", text)


def test_a_state_of_two_turns_matches_the_vector_worked_by_hand():
    live = StateEncoder(LetterEncoder()).start()
    live.observe([user("a")])
    live.act(Action("b"))
    live.observe([user("c")])
    vector = live.vector
    a, b, c = np.eye(26, dtype=np.float32)[:3]
    # The action closes its turn: what came before it weighs KEEPS.
    pool = (KEEPS * a + b + c) / (KEEPS + 2)
    assert vector[:26] == pytest.approx(pool)
    assert vector[26:52] == pytest.approx(c)
    assert vector[52:78] == pytest.approx(b)
    assert vector[78:] == pytest.approx([np.log1p(1) / 4, 0, np.log1p(3) / 12, 0, 0, 0])
    assert len(vector) == WIDTH == state_width(26) == 78 + len(COUNTS)


def test_a_new_turn_costs_its_own_texts_and_a_known_text_costs_nothing():
    encoder = CountingEncoder()
    live = StateEncoder(encoder).start()
    for text in ("abc", "de", "abc"):
        live.observe([user(text)])
        live.act(Action("f"))
    assert encoder.asked == ["abc", "f", "de"]


def test_turn_by_turn_and_all_at_once_give_the_same_states():
    states = StateEncoder(LetterEncoder())
    run = run_of(("aa", "b"), ("cd", "e"), ("f", "g"))
    whole = states.states(run)
    live, rows = states.start(), []
    for turn in run.turns:
        live.observe(turn.observations)
        rows.append(live.vector)
        live.act(turn.action)
    assert np.array_equal(whole, np.stack(rows))


def test_the_texts_of_one_turn_may_come_in_one_call_or_in_several():
    states = StateEncoder(LetterEncoder())
    one, two = states.start(), states.start()
    one.observe([user("a"), user("b")])
    two.observe([user("a")])
    two.observe([user("b")])
    assert one.vector[:26] == pytest.approx(two.vector[:26])


def test_a_system_prompt_is_not_what_was_said_last():
    live = StateEncoder(LetterEncoder()).start()
    live.observe([Observation("system", "zz"), user("a")])
    assert live.vector[26] == 1.0
    assert live.vector[51] == 0.0


def test_histories_of_any_length_have_finite_states_of_one_width():
    live = StateEncoder(LetterEncoder()).start()
    for turn in range(2000):
        live.observe([user("abc"[turn % 3] * 5)])
        live.act(Action("d", (ToolCall("x", {}),)))
    assert live.vector.shape == (WIDTH,)
    assert np.isfinite(live.vector).all()


def test_a_cut_run_has_one_more_state_where_what_followed_is_known():
    states = StateEncoder(LetterEncoder())
    assert len(states.states(run_of(("a", "b"), stop=StopReason.CUT, last=("c",)))) == 2
    assert len(states.states(run_of(("a", "b"), stop=StopReason.CUT))) == 1
    assert len(states.states(run_of(("a", "b"), last=("c",)))) == 1


def test_a_copy_goes_on_apart():
    live = StateEncoder(LetterEncoder()).start()
    live.observe([user("a")])
    other = live.copy()
    other.act(Action("b"))
    assert live.turns == 0
    assert not np.array_equal(live.vector, other.vector)


def test_refuses_an_empty_history_and_a_broken_encoder():
    states = StateEncoder(LetterEncoder())
    with pytest.raises(ValueError, match="empty history"):
        _ = states.start().vector
    with pytest.raises(ValueError, match="no turns"):
        states.states(Rollout("t", "r", ()))

    class Broken(LetterEncoder):
        def encode(self, texts):
            return super().encode(texts) * np.nan

    with pytest.raises(BackendError, match="no finite vector"):
        StateEncoder(Broken()).start().observe([user("a")])


def test_a_log_that_begins_with_an_action_has_states_all_the_same():
    run = Rollout("t", "r", (Turn((), Action("b")), Turn((user("c"),), Action("d"))))
    assert StateEncoder(LetterEncoder()).states(run).shape == (2, WIDTH)
