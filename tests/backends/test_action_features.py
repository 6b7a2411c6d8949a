"""Surface features: worked out by hand, symmetric, bounded."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.backends.action_features import ACTS, FEATURES, action_features


def named(a, b):
    return dict(zip(FEATURES, action_features(a, b).tolist(), strict=True))


def test_overlap_of_two_short_sentences_by_hand():
    # content words: {cancelled, booking} and {cancelled, hotel, booking}; words in all: 5 and 6
    found = named("I have cancelled your booking", "I have cancelled your hotel booking")
    assert found["shared-words"] == pytest.approx(2 / 3)
    assert found["shared-of-longer"] == pytest.approx(2 / 3)
    assert found["shared-of-shorter"] == 1.0
    assert found["length-ratio"] == pytest.approx(5 / 6)
    assert found["length"] == pytest.approx(math.log(7))
    assert found["length-difference"] == pytest.approx(math.log(2))
    assert found["same-order"] == pytest.approx(10 / 11)  # 2 * 5 matching words / 11 words


def test_a_value_and_a_name_that_differ_are_told_apart():
    found = named("Order #W123 costs $30.", "Order #W124 costs $40.")
    assert (found["values-differ"], found["names-differ"]) == (1.0, 1.0)
    assert (found["shared-values"], found["shared-names"]) == (0.0, 0.0)
    assert found["values-of-a-kind-differ"] == 1.0
    assert found["unshared-values"] == found["unshared-names"] == pytest.approx(math.log(3))


def test_a_value_on_one_side_only_is_no_clash():
    found = named("It costs $30.", "It costs something.")
    assert (found["values-on-one-side"], found["values-differ"]) == (1.0, 0.0)


def test_asking_for_more_is_not_asking_for_the_same():
    found = named("Please provide your user ID.", "Please provide your user ID and zip code.")
    assert (found["both-ask"], found["asked-of-more"], found["asked-the-same"]) == (1.0, 1.0, 0.0)
    assert found["shared-of-asked"] == pytest.approx(2 / 4)  # user, id of user, id, zip, code
    assert named("Your name?", "Please tell me your name.")["one-asks"] == 1.0  # the first has no word that asks
    assert named("I need your name.", "Please tell me your name.")["asked-the-same"] == 1.0


@pytest.mark.parametrize(
    ("act", "text"),
    [
        ("questions", "And your name?"),
        ("requests", "Please provide the order number."),
        ("asks-consent", "Would you like me to cancel it?"),
        ("reports-done", "Your order has been cancelled."),
        ("refuses", "Unfortunately this cannot be changed."),
        ("hands-over", "I am transferring you to a human agent."),
        ("closes", "Is there anything else?"),
        ("announces", "Let me look that up."),
        ("negates", "That was not booked."),
    ],
)
def test_each_act_is_seen_where_it_is_and_only_there(act, text):
    assert act in ACTS
    plain = "The red shoes arrive on Tuesday."
    assert named(text, plain)[f"one-{act}"] == 1.0
    assert named(text, text)[f"both-{act}"] == 1.0
    assert named(plain, plain)[f"both-{act}"] == named(plain, plain)[f"one-{act}"] == 0.0


texts = st.text(max_size=60) | st.sampled_from(["I can't do that.", "It is $5 on May 3.", "Order #A12 is done?", ""])


@settings(max_examples=150, deadline=None)
@given(texts, texts)
def test_features_are_finite_and_do_not_depend_on_the_order(a, b):
    there, back = action_features(a, b), action_features(b, a)
    assert there.shape == (len(FEATURES),)
    assert np.isfinite(there).all()
    np.testing.assert_array_equal(there, back)


def test_a_text_with_itself_shares_everything():
    found = named("Please send $20 to account 4471.", "Please send $20 to account 4471.")
    assert found["shared-words"] == found["same-order"] == found["length-ratio"] == 1.0
    assert not any(value for name, value in found.items() if name.startswith("one-") or name.endswith("-differ"))


def test_a_very_long_text_takes_no_long_time():
    action_features("word " * 40_000, "other " * 40_000)  # the time limit of the suite is the check
