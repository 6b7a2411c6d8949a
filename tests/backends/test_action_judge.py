"""The embedded judge of actions: what it weighs, by hand; what must hold whatever its opinions are; the plain cases."""

import json
import math

import numpy as np
import pytest

from likewise.backends.action_features import FEATURES
from likewise.backends.action_judge import WITNESSES, ActionJudge, are_other_names, embedded_judge, witness_features
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.backends.onnx_nli import Comparison, embedded_nli
from likewise.core.errors import BackendError
from likewise.core.labels import Relation

PAIRS = [
    ("I have cancelled your booking.", "Your booking has been cancelled."),
    ("The refund is $120.", "The refund is $80."),
    ("The refund is $120.", "Which seat would you like?"),
    ("May I have your user ID?", "Could you give me your user ID, please?"),
]


@pytest.fixture(scope="module")
def judge():
    return embedded_judge()


def head_file(path, **changes):
    content = {
        "features": list(WITNESSES),
        "mean": [0.0] * len(WITNESSES),
        "scale": [1.0] * len(WITNESSES),
        "weights": [[0.0] * len(WITNESSES) for _ in range(3)],
        "bias": [0.0, 0.0, 0.0],
        "temperature": 1.0,
    }
    path.write_text(json.dumps(content | changes))
    return path


def test_witnesses_of_a_comparison_by_hand():
    comparison = Comparison((0.7, 0.2, 0.1), (0.5, 0.1, 0.4), (0.6, 0.3, 0.1))
    found = dict(zip(WITNESSES, witness_features(comparison, 0.25, "Yes.", "No."), strict=True))
    assert found["network-equivalent"] == pytest.approx(math.log(0.6))
    assert found["least-entails"] == pytest.approx(math.log(0.5))
    assert found["most-entails"] == pytest.approx(math.log(0.7))
    assert found["least-contradicts"] == pytest.approx(math.log(0.1))
    assert found["most-contradicts"] == pytest.approx(math.log(0.4))
    assert found["cosine"] == 0.25
    assert set(FEATURES) < set(found)


def test_an_impossible_class_is_no_infinite_witness():
    found = witness_features(Comparison((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)), 1.0, "a", "a")
    assert np.isfinite(found).all()


def test_a_comparison_of_parts_contradicts_by_either_side_and_entails_by_both():
    parts = Comparison.of_parts((0.7, 0.2, 0.1), (0.2, 0.2, 0.6))
    assert parts.relation == pytest.approx((0.2, 0.2, 0.6))


@pytest.mark.model
def test_a_head_that_weighs_one_witness_gives_its_softmax(tmp_path):
    # logits: 3 * cosine for equivalent, 0, 0; of a text with itself the cosine is 1
    weights = [[0.0] * len(WITNESSES) for _ in range(3)]
    weights[0][WITNESSES.index("cosine")] = 3.0
    made = ActionJudge(embedded_nli(), embedded_encoder(), head_file(tmp_path / "head.json", weights=weights))
    judgement = next(made.judge([("Hello there.", "Hello there.")]))
    share = math.exp(3) / (math.exp(3) + 2)
    assert judgement.forward == pytest.approx((share, (1 - share) / 2, (1 - share) / 2), abs=1e-4)
    assert judgement.relation is Relation.EQUIVALENT


@pytest.mark.model
def test_a_temperature_makes_the_head_less_sure_and_moves_no_relation(tmp_path):
    # the same head at temperature 2: logits 1.5, 0, 0
    weights = [[0.0] * len(WITNESSES) for _ in range(3)]
    weights[0][WITNESSES.index("cosine")] = 3.0
    head = head_file(tmp_path / "head.json", weights=weights, temperature=2.0)
    judgement = next(ActionJudge(embedded_nli(), embedded_encoder(), head).judge([("Hello there.", "Hello there.")]))
    share = math.exp(1.5) / (math.exp(1.5) + 2)
    assert judgement.forward == pytest.approx((share, (1 - share) / 2, (1 - share) / 2), abs=1e-4)
    assert judgement.relation is Relation.EQUIVALENT


@pytest.mark.model
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"features": [*WITNESSES[:-1], "moon-phase"]}, "moon-phase"),
        ({"features": list(WITNESSES[::-1])}, "their order"),
        ({"weights": "many"}, "head"),
        ({"bias": None}, "head"),
        ({"weights": [[0.0, 1.0]]}, "head"),
        ({"scale": [0.0] * len(WITNESSES)}, "head"),
        ({"temperature": 0.0}, "temperature"),
        ({"temperature": float("nan")}, "head"),
        ({"temperature": None}, "head"),
    ],
)
def test_a_head_that_does_not_fit_is_refused_by_name(tmp_path, changes, named):
    with pytest.raises(BackendError, match=named):
        ActionJudge(embedded_nli(), embedded_encoder(), head_file(tmp_path / "head.json", **changes))


@pytest.mark.model
def test_a_missing_or_broken_head_is_refused(tmp_path):
    with pytest.raises(BackendError, match="nowhere"):
        ActionJudge(embedded_nli(), embedded_encoder(), tmp_path / "nowhere.json")
    (tmp_path / "head.json").write_text("{")
    with pytest.raises(BackendError, match=r"head\.json"):
        ActionJudge(embedded_nli(), embedded_encoder(), tmp_path / "head.json")


@pytest.mark.model
def test_the_answer_for_a_pair_does_not_depend_on_the_pairs_beside_it(judge):
    together = list(judge.judge(PAIRS))
    assert [next(embedded_judge().judge([pair])) for pair in PAIRS] == together
    assert list(judge.judge(PAIRS[::-1])) == together[::-1]


@pytest.mark.model
def test_the_relation_does_not_depend_on_which_text_comes_first(judge):
    flipped = [(b, a) for a, b in PAIRS]
    for one, other in zip(judge.judge(PAIRS), judge.judge(flipped), strict=True):
        assert one.relation is other.relation
        assert one.forward == one.backward == pytest.approx(other.forward, abs=5e-3)


@pytest.mark.model
def test_probabilities_sum_to_one_and_the_likeliest_is_the_relation(judge):
    for judgement in judge.judge(PAIRS):
        assert sum(judgement.forward) == pytest.approx(1.0)
        assert judgement.relation == int(np.argmax(judgement.forward))


@pytest.mark.model
def test_another_head_has_another_id(judge, tmp_path):
    other = ActionJudge(embedded_nli(), embedded_encoder(), head_file(tmp_path / "head.json"))
    assert other.judge_id != judge.judge_id
    ours, theirs = judge.judge_id.split("-"), other.judge_id.split("-")
    assert [i for i, (x, y) in enumerate(zip(ours, theirs, strict=True)) if x != y] == [3]


@pytest.mark.model
@pytest.mark.parametrize(
    ("a", "b", "relation"),
    [
        ("Could you please provide your user ID?", "Please share your user ID with me.", Relation.EQUIVALENT),
        ("Your reservation has been cancelled.", "I have cancelled your reservation.", Relation.EQUIVALENT),
        ("Your flight can be cancelled.", "Your flight cannot be cancelled.", Relation.CONTRADICTORY),
        ("Could you please provide your user ID?", "I have booked flight HAT169 for you.", Relation.NEUTRAL),
    ],
)
def test_what_nobody_would_doubt(judge, a, b, relation):
    assert next(judge.judge([(a, b)])).relation is relation


@pytest.mark.parametrize(
    ("a", "b"), [("Paris", "London"), ("Albert Einstein", "Isaac Newton"), ("Monday", "Friday"), ("Paris.", "Rome.")]
)
def test_names_that_share_no_word_are_never_equivalent(a, b):
    (judgement,) = embedded_judge().judge([(a, b)])
    assert judgement.relation is not Relation.EQUIVALENT
    assert sum(judgement.forward) == pytest.approx(1)


@pytest.mark.parametrize(
    ("a", "b"), [("Paris", "paris."), ("Yes.", "Sure."), ("", "Paris"), ("The city of Paris", "Rome")]
)
def test_other_short_answers_are_left_to_the_witnesses(a, b):
    assert not are_other_names(a, b)
