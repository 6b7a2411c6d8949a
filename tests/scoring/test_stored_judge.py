from __future__ import annotations

import pytest

from judges import FailingJudge, LeaningJudge, NeverJudge, StoppingJudge, TableJudge
from likewise.backends.label_store import LabelStore
from likewise.core.errors import BackendError, LabelError
from likewise.core.labels import Judgement, Relation
from likewise.scoring.stored_judge import STORE_BATCH, StoredJudge, ordered

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
MANY = [(f"a{i:03}", "b") for i in range(STORE_BATCH + 10)]


@pytest.fixture
def store():
    with LabelStore(None) as store:
        yield store


def test_a_pair_has_one_orientation():
    assert ordered("b", "a") == ordered("a", "b") == ("a", "b")
    assert ordered("a", "a") == ("a", "a")


def test_answers_come_in_the_orientation_asked_for():
    answers = StoredJudge(LeaningJudge()).ask([("a", "b"), ("b", "a")])
    assert answers["b", "a"] == answers["a", "b"].flipped
    assert answers["a", "b"].forward == (0.75, 0.25, 0.0)


def test_asking_for_nothing_asks_nobody():
    assert StoredJudge(NeverJudge()).ask([]) == {}


def test_the_store_answers_what_it_knows_and_the_judge_the_rest(store):
    StoredJudge(TableJudge({("a", "b"): CO}), store).ask([("a", "b")])
    judge = TableJudge()
    stored = StoredJudge(judge, store)
    answers = stored.ask([("b", "a"), ("a", "c")])
    assert answers["b", "a"].relation is CO
    assert judge.calls == {("a", "c"): 1}
    assert (stored.from_store, stored.from_judge) == (1, 1)


def test_another_judge_is_asked_anew(store):
    StoredJudge(TableJudge({("a", "b"): CO}), store).ask([("a", "b")])
    other = StoredJudge(LeaningJudge(), store)
    other.ask([("a", "b")])
    assert (other.from_store, other.from_judge) == (0, 1)


def test_a_failure_is_never_stored(store):
    failed = StoredJudge(FailingJudge(on={"b"}, problem="too long"), store).ask([("a", "b"), ("a", "c")])
    assert failed["a", "b"] == "too long"
    assert len(store) == 1
    assert StoredJudge(TableJudge(), store).ask([("a", "b")])["a", "b"] == Judgement.certain(NE, "nli")


def test_what_a_judge_said_instead_of_an_answer_is_kept_as_evidence(store):
    StoredJudge(FailingJudge(on={"b"}, problem="states no relation"), store).ask([("b", "a"), ("a", "c")])
    (kept,) = store.answers("table", ("a", "b"))
    assert (kept.answer, kept.problem) == ("?", "states no relation")
    assert store.answers("table", ("a", "c")) == []


def test_pairs_before_and_after_a_failure_are_each_asked_once():
    judge = FailingJudge(on={"a002"})
    stored = StoredJudge(judge)
    answers = stored.ask(MANY[:5])
    assert [pair for pair, answer in answers.items() if isinstance(answer, str)] == [("a002", "b")]
    assert set(judge.calls.values()) == {1}
    assert stored.from_judge == 4


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), BackendError("the model is gone"), MemoryError()])
@pytest.mark.parametrize("after", [3, STORE_BATCH, STORE_BATCH + 5])
def test_what_a_judge_said_before_it_stopped_is_in_the_store(store, stop, after):
    with pytest.raises(type(stop)):
        StoredJudge(StoppingJudge(after, stop), store).ask(MANY)
    known = store.get_many("table", MANY)
    assert list(known) == MANY[:after]
    rest = StoredJudge(TableJudge(), store)
    assert len(rest.ask(MANY)) == len(MANY)
    assert (rest.from_store, rest.from_judge) == (after, len(MANY) - after)


def test_a_batch_is_written_while_the_judge_still_works(store):
    seen = []

    class Watching(TableJudge):
        def judge(self, pairs, progress=None):
            for judgement in super().judge(pairs, progress):
                seen.append(len(store))
                yield judgement

    StoredJudge(Watching(), store).ask(MANY)
    assert seen[STORE_BATCH - 1 : STORE_BATCH + 1] == [0, STORE_BATCH]
    assert len(store) == len(MANY)


def test_a_failure_on_a_pair_that_was_not_asked_for_is_no_answer():
    class Confused(TableJudge):
        def judge(self, pairs, progress=None):
            raise LabelError("lost", "x", "y")
            yield

    with pytest.raises(LabelError, match="lost"):
        StoredJudge(Confused()).ask([("a", "b")])


def test_a_judge_that_gives_too_few_answers_is_found_out():
    class Short(TableJudge):
        def judge(self, pairs, progress=None):
            yield from super().judge(pairs[:-1], progress)

    with pytest.raises(ValueError, match="shorter"):
        StoredJudge(Short()).ask([("a", "b"), ("a", "c")])


def test_progress_counts_every_pair_failed_ones_too():
    steps = []

    class Bar:
        def __init__(self, what, total):
            self.total = total

        def __enter__(self):
            return self

        def __exit__(self, *problem):
            steps.append((sum(steps), self.total))

        def advance(self, steps_done=1):
            steps.append(steps_done)

    StoredJudge(FailingJudge(on={"a001"}), progress=Bar).ask(MANY[:4])
    assert steps[-1] == (4, 4)
