from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges import NeverJudge, TableJudge
from likewise.core.group import LengthPolicy
from likewise.core.labels import Relation
from likewise.core.rollout import Action
from likewise.metrics.alignment import Block
from likewise.scoring import turn_alignment
from likewise.scoring.label import Labeller
from likewise.scoring.score import ScoringOptions, needed_pairs, score_group
from likewise.scoring.stored_judge import StoredJudge
from likewise.scoring.turn_alignment import align_actions, block_actions
from scoring.runs import CUT, FINISHED, call, calls, group, run

HALF = ScoringOptions(gamma=0.5)
LOOK = [call("get", id=i) for i in range(5)]
TOOLS = {name: calls(call(name)) for name in "ABCDE"}


def scored(runs, judge=None, options=HALF):
    labels = Labeller(StoredJudge(judge or NeverJudge())).settle(needed_pairs(runs))
    return score_group(runs, labels, options=options)


def spans(first, second):
    return [(block.first, block.second) for block in align_actions(tuple(first), tuple(second))]


def test_five_calls_in_one_message_are_five_messages_of_one_call():
    parallel, sequential = [calls(*LOOK)], [calls(one) for one in LOOK]
    assert spans(parallel, sequential) == [((0, 1), (0, 5))]
    assert spans(sequential, parallel) == [((0, 5), (0, 1))]
    score = scored(group(run("0", *parallel), run("1", *sequential)))
    assert score.aligned_rsd.value == 0.0
    # Turn 0: five calls against one of them, an unmatched call, 0.5; turns 1 to 4: ended against a call, 1 each.
    assert score.rsd.value == 0.5 + 0.5 + 0.25 + 0.125 + 0.0625


def test_what_follows_the_merged_turns_is_compared_with_its_partner():
    parallel, sequential = [calls(*LOOK[:2]), "done"], [calls(LOOK[1]), calls(LOOK[0]), "done"]
    runs = group(run("0", *parallel), run("1", *sequential))
    assert spans(*(r.actions for r in runs.rollouts)) == [((0, 1), (0, 2)), ((1, 2), (2, 3))]
    score = scored(runs)
    assert score.aligned_rsd.value == 0.0
    # 0.5 (unmatched call), 0.5 * 0.5 (words against a call), 0.25 * 1 (ended against words)
    assert score.rsd.value == 0.5 + 0.25 + 0.25


def test_a_merged_message_keeps_the_words_between_its_calls():
    first = Action("I look.", (LOOK[0],)), Action("And again.", (LOOK[1],))
    together = block_actions(Block((0, 2), (0, 1)), first, (calls(*LOOK[:2]),))
    assert together == (Action("I look.\nAnd again.", (LOOK[0], LOOK[1])), calls(*LOOK[:2]))


def test_merging_stops_at_words_and_at_another_number_of_calls():
    assert spans([calls(*LOOK[:2])], [calls(LOOK[0]), "wait", calls(LOOK[1])][:1]) == [((0, 1), (0, 1))]
    sequential = [calls(LOOK[0]), Action("wait"), calls(LOOK[1])]
    assert all(b[1] - b[0] <= 1 for _, b in spans([calls(*LOOK[:2])], sequential))


def test_one_other_call_is_substituted_and_the_later_steps_are_aligned():
    """google/adk-python#1591: A B C A against A D C A."""
    first, second = [TOOLS[x] for x in "ABCA"], [TOOLS[x] for x in "ADCA"]
    assert spans(first, second) == [((i, i + 1), (i, i + 1)) for i in range(4)]
    score = scored(group(run("0", *first), run("1", *second)))
    assert score.aligned_rsd.value == score.rsd.value == 0.25  # gamma * 0.5 for two different tools
    assert score.first_fork.turn == 1
    assert score.tool_use.sequence_similarity.value == 0.75


def test_an_inserted_step_costs_one_gap_and_not_all_that_follows():
    first, second = [TOOLS[x] for x in "ABCD"], [TOOLS[x] for x in "AEBCD"]
    assert spans(first, second)[:2] == [((0, 1), (0, 1)), ((1, 1), (1, 2))]
    score = scored(group(run("0", *first), run("1", *second)))
    assert score.aligned_rsd.value == 0.25  # one extra action at block 1
    # time-aligned: 0, then three turns of other tools, then ended against a call
    assert score.rsd.value == 0.25 + 0.125 + 0.0625 + 0.0625


@pytest.mark.parametrize(
    ("stop", "policy", "value"),
    [
        (FINISHED, LengthPolicy.ABSORB, 0.5),
        (FINISHED, LengthPolicy.TRUNCATE, 0.0),
        (CUT, LengthPolicy.ABSORB, 0.0),
        (CUT, LengthPolicy.TRUNCATE, 0.0),
    ],
)
def test_a_step_after_the_other_runs_end_counts_by_the_length_policy(stop, policy, value):
    runs = group(run("0", TOOLS["A"], stop=stop), run("1", TOOLS["A"], TOOLS["B"]))
    assert scored(runs, options=ScoringOptions(0.5, policy)).aligned_rsd.value == value


@pytest.mark.parametrize(("lengths", "value"), [((0, 0), 0.0), ((0, 2), 1.5), ((2, 0), 1.5)])
def test_empty_runs_are_aligned_too(lengths, value):
    runs = group(*(run(str(i), *[TOOLS["A"]] * n) for i, n in enumerate(lengths)))
    score = scored(runs)
    assert score.aligned_rsd.value == score.rsd.value == value


def test_a_block_of_a_gap_has_no_actions():
    assert block_actions(Block((0, 0), (0, 1)), (), (TOOLS["A"],)) is None
    assert block_actions(Block((0, 1), (0, 0)), (TOOLS["A"],), ()) is None


def test_distances_come_from_the_judge_and_not_from_shared_words():
    runs = group(run("0", "the flag is enabled now"), run("1", "the flag is disabled now"))
    judge = TableJudge(default=Relation.CONTRADICTORY)
    assert scored(runs, judge).aligned_rsd.value == 1.0


def test_soft_distances_are_soft_in_the_aligned_form_too():
    runs = group(run("0", "x"), run("1", "y"))
    options = ScoringOptions(0.5, soft=True)

    class Unsure(TableJudge):
        def judge(self, pairs, progress=None):
            for answer in super().judge(pairs, progress):
                yield type(answer)(answer.relation, (0.5, 0.25, 0.25), (0.5, 0.25, 0.25), "nli")

    score = scored(runs, Unsure(), options)
    assert score.rsd.value == score.aligned_rsd.value == 0.25 + 0.5 * 0.25  # p_c + 0.5 (1 - p_c - p_e)


def test_runs_too_long_to_align_are_undefined_with_a_reason(monkeypatch):
    monkeypatch.setattr(turn_alignment, "MAX_CELLS", 3)
    assert align_actions((TOOLS["A"], TOOLS["B"]), (TOOLS["C"], TOOLS["D"])) is None
    score = scored(group(run("0", TOOLS["A"], TOOLS["B"]), run("1", TOOLS["C"], TOOLS["D"])))
    assert score.aligned_rsd.value is None
    assert "too long to align" in score.aligned_rsd.reason
    assert score.rsd.value == 0.5 + 0.25


def test_equal_turns_at_both_ends_need_no_search(monkeypatch):
    monkeypatch.setattr(turn_alignment, "MAX_CELLS", 1)
    first, second = [TOOLS[x] for x in "ABCA"], [TOOLS[x] for x in "ABDA"]
    assert spans(first, second) == [((t, t + 1), (t, t + 1)) for t in range(4)]


actions = st.lists(
    st.one_of(
        st.sampled_from(["yes", "no", "let me see"]).map(Action),
        st.lists(st.sampled_from(LOOK), min_size=1, max_size=3).map(lambda made: calls(*made)),
    ),
    max_size=6,
).map(tuple)


@given(actions, actions)
def test_blocks_cover_all_turns_of_both_runs_in_order(first, second):
    blocks = align_actions(first, second)
    assert [t for block in blocks for t in range(*block.first)] == list(range(len(first)))
    assert [t for block in blocks for t in range(*block.second)] == list(range(len(second)))


@given(actions, actions)
def test_which_run_comes_first_changes_nothing(first, second):
    assert spans(second, first) == [(b, a) for a, b in spans(first, second)]


def test_equally_cheap_alignments_do_not_depend_on_the_side():
    a, b = run("0", *"aabb"), run("1", *"abab")
    assert scored(group(a, b), TableJudge()).aligned_rsd == scored(group(b, a), TableJudge()).aligned_rsd


@given(actions)
def test_a_run_is_aligned_with_itself_turn_by_turn(first):
    assert spans(first, first) == [((t, t + 1), (t, t + 1)) for t in range(len(first))]
