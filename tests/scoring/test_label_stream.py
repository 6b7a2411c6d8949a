from __future__ import annotations

import hashlib
import resource
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import FailingJudge, LeaningJudge, NeverJudge, TableJudge
from likewise.backends.label_store import LabelStore
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action
from likewise.core.version import VERSION
from likewise.scoring import label_stream as module
from likewise.scoring.label import Labeller
from likewise.scoring.label_stream import (
    KEPT_REASONS,
    OTHER_REASONS,
    SourcePair,
    StreamCounts,
    action_id,
    label_signature,
    label_stream,
)
from likewise.scoring.stored_judge import StoredJudge
from scoring.runs import call, calls

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY


def source(a, b, line=0, scope=None):
    made = [Action(side) if isinstance(side, str) else side for side in (a, b)]
    return SourcePair(*made, {"line": line}, scope)


def labelled(pairs, judge=None, store=None, by_classes=False, **more):
    labeller = Labeller(StoredJudge(judge or TableJudge(), store), by_classes=by_classes)
    return list(
        label_stream([pair if isinstance(pair, SourcePair) else source(*pair) for pair in pairs], labeller, **more)
    )


class Bar:
    def __init__(self):
        self.steps = []

    def advance(self, steps=1):
        self.steps.append(steps)


def test_each_distinct_pair_comes_out_once_in_order_of_appearance():
    judge = TableJudge()
    out = labelled([("b", "a"), ("a", "b"), (" b ", "a"), ("a", "c"), ("b", "a")], judge)
    assert [(s.first_id, s.second_id) for s in out] == [
        (action_id(Action("b")), action_id(Action("a"))),
        (action_id(Action("a")), action_id(Action("c"))),
    ]
    assert judge.calls == {("a", "b"): 1, ("a", "c"): 1}


def test_an_id_is_the_digest_of_the_canonical_action():
    expected = hashlib.blake2b(b"Hello there", digest_size=16).hexdigest()  # no calls: the canonical text alone
    assert action_id(Action(" Hello  there\n")) == expected
    assert action_id(calls(call("f", x=1))) == action_id(calls(call("f", x=1.0))) != action_id(Action('f({"x":1})'))


def test_directions_are_those_of_the_first_appearance():
    (out,) = labelled([("b", "a")], LeaningJudge())
    assert (out.outcome.forward, out.outcome.backward) == ((0.0, 0.75, 0.25), (0.75, 0.25, 0.0))
    (out,) = labelled([("a", "b"), ("b", "a")], LeaningJudge())
    assert out.outcome.forward == (0.75, 0.25, 0.0)


def test_the_place_is_that_of_the_first_appearance():
    out = labelled([source("a", "b", 1), source("b", "a", 2), source("a", "c", 3)])
    assert [dict(s.place) for s in out] == [{"line": 1}, {"line": 3}]


def test_a_failure_comes_out_as_its_reason():
    out = labelled([("a", "b"), ("a", "c")], FailingJudge(on=["b"], problem="too long"))
    assert [getattr(s.outcome, "relation", s.outcome) for s in out] == ["too long", NE]


def test_nothing_in_nothing_out():
    counts = StreamCounts()
    assert labelled([], NeverJudge(), counts=counts) == []
    assert (counts.pairs, counts.distinct) == (0, 0)


def test_counts_tell_what_came_by():
    counts = StreamCounts()
    pairs = [("a", "a"), ("a", "b"), ("b", "a"), ("a", "c"), ("a", "d")]
    labelled(pairs, FailingJudge(on=["d"], relations={("a", "b"): CO}, problem="no"), counts=counts)
    assert (counts.pairs, counts.distinct) == (5, 4)
    assert counts.relations == {"equivalent": 1, "contradictory": 1, "neutral": 1}
    assert counts.rules == {"identical": 1, "nli": 2}
    assert counts.failures == {"no": 1}


def test_reasons_that_differ_from_pair_to_pair_do_not_pile_up():
    class Talkative(TableJudge):
        def judge(self, pairs, progress=None):
            raise LabelError(f"cannot judge {pairs[0]}", *pairs[0])
            yield

    counts = StreamCounts()
    labelled([("a", f"b{i}") for i in range(KEPT_REASONS + 5)], Talkative(), counts=counts)
    assert len(counts.failures) == KEPT_REASONS + 1
    assert counts.failures[OTHER_REASONS] == 5


texts = st.sampled_from(["", "a", "b", "c", "I pay $5.", "I pay $6.", "I cannot do it.", "d"])
pair_lists = st.lists(st.tuples(texts, texts), max_size=25)


@given(pair_lists, st.integers(1, 6), st.integers(1, 5))
def test_no_label_depends_on_how_many_are_settled_together(pairs, chunk, lookahead):
    expected = {(s.first_id, s.second_id): s.outcome for s in labelled(pairs, LeaningJudge())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SLICE", lookahead)
        out = labelled(pairs, LeaningJudge(), chunk=chunk)
    assert [((s.first_id, s.second_id), s.outcome) for s in out] == list(expected.items())


@given(pair_lists)
def test_a_stream_labels_as_a_labeller_does(pairs):
    labels = Labeller(StoredJudge(LeaningJudge())).settle((Action(a), Action(b)) for a, b in pairs)
    expected = {}
    for a, b in pairs:
        ids = (action_id(Action(a)), action_id(Action(b)))
        if ids not in expected and ids[::-1] not in expected:
            expected[ids] = labels.of(Action(a), Action(b)) or labels.failure(Action(a), Action(b))
    assert {(s.first_id, s.second_id): s.outcome for s in labelled(pairs, LeaningJudge())} == expected


@given(pair_lists, st.integers(1, 4))
def test_progress_counts_every_pair_that_goes_in(pairs, chunk):
    bar = Bar()
    labelled(pairs, TableJudge(), chunk=chunk, progress=bar)
    assert sum(bar.steps) == len(pairs)


def test_progress_moves_while_the_judge_works():
    bar, seen = Bar(), []

    class Watching(TableJudge):
        def judge(self, pairs, progress=None):
            for judgement in super().judge(pairs, progress):
                seen.append(sum(bar.steps))
                yield judgement

    labelled([("a", "b"), ("a", "c"), ("a", "d")], Watching(), progress=bar)
    assert seen == [0, 1, 2]


def test_what_a_store_knows_is_not_asked_again():
    pairs = [("a", "b"), ("a", "c")]
    with LabelStore(None) as store:
        first = labelled(pairs, LeaningJudge(), store)
        assert labelled(pairs, NeverJudge(LeaningJudge.judge_id), store) == first


def test_the_stream_is_read_only_as_far_as_needed():
    read = []

    def endless():
        for i in range(10**9):
            read.append(i)
            yield source("a", f"b{i}")

    stream = label_stream(endless(), Labeller(StoredJudge(TableJudge())), chunk=10)
    assert next(stream).outcome.relation is NE
    assert len(read) == module._SLICE
    stream.close()


# Settled from other pairs


def transitive(a, b):
    return EQ if a[0] == b[0] else CO


class Kinds(TableJudge):
    def judge(self, pairs, progress=None):
        for a, b in pairs:
            self.calls[a, b] += 1
            yield Judgement.certain(transitive(a, b), "nli")


def test_by_classes_fewer_are_asked_and_a_transitive_judges_labels_stay():
    pairs = list(combinations([f"{kind} {word}" for kind in "xy" for word in ("one", "two", "three", "four")], 2))
    judge, labeller = Kinds(), Labeller(StoredJudge(Kinds()), by_classes=True)
    full = labelled(pairs, judge)
    short = list(label_stream([source(*pair) for pair in pairs], labeller))
    assert [s.outcome.relation for s in short] == [s.outcome.relation for s in full]
    assert judge.calls.total() == len(pairs) == 28
    assert labeller.judge.from_judge == 7 + 3  # one text of each kind against all that is left
    assert labeller.by_class == 28 - 10


def test_by_classes_a_scope_is_settled_as_a_whole_whatever_the_chunk():
    scopes = [list(combinations([f"{kind} {word} {n}" for kind in "xy" for word in "ab"], 2)) for n in range(4)]
    pairs = [source(a, b, scope=n) for n, scope in enumerate(scopes) for a, b in scope]
    results = [labelled(pairs, Kinds(), by_classes=True, chunk=chunk) for chunk in (1, 7, 100)]
    assert results[0] == results[1] == results[2]
    assert sum(s.outcome.rule == "class" for s in results[0]) == 4 * 2  # of 6 pairs of a scope 3 + 1 are asked


def test_the_signature_tells_judge_rules_and_the_option():
    labeller = Labeller(StoredJudge(TableJudge()))
    plain = label_signature(labeller)
    assert plain == f"likewise:{VERSION}|judge:table|rules:{labeller.rules.rules_id}|state_text:1"
    labeller.by_classes = True
    assert label_signature(labeller) == plain + "|by:classes"


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream():
    def pairs(total):
        for i in range(total):
            yield source(
                f"I booked flight {i} for the customer, and sent the papers by mail. " * 4, "Anything else?", i
            )

    labeller = Labeller(StoredJudge(TableJudge()))
    assert sum(1 for _ in label_stream(pairs(6_000), labeller)) == 6_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in label_stream(pairs(60_000), labeller)) == 60_000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 40
