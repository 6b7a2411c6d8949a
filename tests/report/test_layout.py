"""The small parts that the pages are laid out with."""

import re
from dataclasses import replace

import pytest

from likewise.core.estimate import Estimate
from likewise.core.rollout import StopReason
from likewise.report.charts import Dot, scatter
from likewise.report.fork_tree import bundles, fork_tree
from likewise.report.side_by_side import observation_cap, turn_rows
from likewise.report.text import clip, middle, one_line, visible
from likewise.report.word_diff import marked
from likewise.report.words import (
    Quadrant,
    band_ends,
    headline_k,
    headline_success,
    location,
    luck_line,
    pass_hat,
    percent,
    quadrant,
    rsd_scale,
    unplaced_reason,
)
from report_factory import evaluation, rollout, task


def test_runs_stay_together_until_they_part_and_never_meet_again():
    classes = ((0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 0))
    assert bundles(classes, [4, 4, 4, 4]) == [
        [(0, 1, 2, 3)],
        [(0, 1, 3), (2,)],
        [(0, 3), (1,), (2,)],
        [(0, 3), (1,), (2,)],
    ]


def test_a_cut_run_stands_alone_and_an_unjudged_one_stays():
    assert bundles(((0, 0, 0), (0, -1, -1)), [2, 2, 1]) == [[(0, 1, 2)], [(0, 1), (2,)]]
    assert bundles(((-1,), (-1,)), [2]) == [[(0,)], [(0,)]]
    assert bundles((), []) == []


def test_the_tree_names_each_run_and_how_it_came_out():
    runs = [
        rollout("t", "a", ["x", "y"]),
        rollout("t", "b", ["x", "z"], success=False),
        rollout("t", "c", ["x"], stop=StopReason.CUT, success=None),
    ]
    tree = fork_tree(task("t", runs))
    for words in ("a: success after 2 turns", "b: fail after 2 turns", "c: cut, outcome unknown after 1 turns"):
        assert words in tree
    assert "first fork: turn 1, claim, by agent" in tree


def test_the_grid_shows_ended_cut_and_same_observations():
    runs = [
        rollout("t", "a", ["x", "y"]),
        rollout("t", "b", ["x"]),
        rollout("t", "c", ["x"], stop=StopReason.CUT, success=None),
    ]
    first, second = turn_rows(task("t", runs), 1000)
    assert [cell.same_as for cell in first.cells] == ["", "a", "a"]
    assert [cell.state for cell in second.cells] == ["acted", "ended", "cut"]
    assert [cell.letter for cell in second.cells] == ["A", "B", ""]
    assert second.fork
    assert not first.fork


def test_long_observations_are_levelled_from_above():
    runs = [rollout("t", "a", ["x"] * 10, seen="long " * 100_000), rollout("t", "b", ["x"] * 10, seen="short")]
    cap = observation_cap(evaluation([task("t", runs)]).tasks)
    assert 80 <= cap <= 20_000
    assert observation_cap([task()]) == 20_000


def test_words_that_differ_are_marked_and_escaped():
    left, right = marked("pay <b>10</b> now", "pay <b>20</b> now")
    assert left == "pay &lt;b&gt;<mark>10</mark>&lt;/b&gt; now"
    assert right == "pay &lt;b&gt;<mark>20</mark>&lt;/b&gt; now"
    assert marked("same", "same") == ("same", "same")


def test_a_word_that_two_unlike_texts_share_by_chance_is_no_agreement():
    left, _ = marked("give me your id please", "no refund is due to your account and none will follow")
    assert left == "<mark>give me your id please</mark>"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07rest", "rest"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("a\x00b\x08c\x7f", "abc"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("rtl \u202egnp", "rtl gnp"),
        ("lone \ud800", "lone \ufffd"),
        ("tab\tline\n", "tab\tline\n"),
        ("\x1b(Bx\x1bcy", "xy"),
        ("👩‍🚒 é", "👩‍🚒 é"),
    ],
)
def test_visible_text_holds_no_escape(raw, shown):
    assert visible(raw) == shown


def test_no_character_slips_past_the_first_look(monkeypatch):
    shown = [visible(f"a{chr(code)}b") for code in range(0x10000)]
    monkeypatch.setattr("likewise.report.text._ODD", re.compile(""))  # look at every text in full
    assert [visible(f"a{chr(code)}b") for code in range(0x10000)] == shown


def test_texts_are_shortened_where_asked():
    assert one_line("a\n b", 10) == "a b"
    assert one_line("abcdef", 4) == "abc…"
    assert middle("gpt-4o-airline#12", 9) == "gpt…ne#12"
    assert clip("x" * 30, preview=10, cap=20).left_out == 10
    assert clip("x" * 12, preview=10).short == ""


def test_shares_never_round_a_difference_away():
    assert [percent(x) for x in (None, 0.0, 0.001, 0.5, 0.999, 1.0)] == ["–", "0%", "<1%", "50%", ">99%", "100%"]


def test_pass_hat_of_a_task_counts_all_draws():
    runs = [rollout("t", str(i), ["x"], success=i < 3) for i in range(4)]
    one = task("t", runs)
    assert [pass_hat(one, k) for k in (1, 2, 4, 5)] == [0.75, 0.5, 0.0, None]


def runs_of(count):
    return [rollout("t", str(i), ["x"]) for i in range(count)]


@pytest.mark.parametrize(
    ("counts", "k"), [((2,), 2), ((4,) * 11 + (5,), 4), ((1, 1, 3, 3), 3), ((2, 2, 3), 2), ((0, 0, 3), 3), ((0,), None)]
)
def test_the_headline_k_is_one_that_half_of_the_tasks_have(counts, k):
    estimates = {k: Estimate(0.5, 0.4, 0.6) for k in range(1, max(counts) + 1)}
    result = evaluation([task("t", runs_of(count)) for count in counts])
    assert headline_k(replace(result, summary=replace(result.summary, pass_hat_k=estimates))) == k


def test_quadrants_need_both_numbers_unless_runs_diverge():
    assert quadrant(task(rsd=0.2, success=None)) is Quadrant.UNKNOWN
    assert quadrant(task(rsd=3.0, success=None)) is Quadrant.INCONSISTENT
    assert quadrant(task(rsd=None)) is Quadrant.UNKNOWN
    assert quadrant(task(rsd=1.3, success=1.0)) is Quadrant.INCONSISTENT


@pytest.mark.parametrize(
    ("band", "placed"),
    [
        ((0.0, 1.0), True),
        ((0.0, 1.3), False),
        ((0.0, 5.0), False),
        ((1.3, 5.0), True),
        ((float("nan"), 1.0), True),
        ((0.0, float("nan")), False),
        ((0.0, float("inf")), False),
    ],
)
def test_a_task_is_placed_only_where_its_whole_band_lies_on_one_side(band, placed):
    one = task(rsd=0.0, success=1.0, rsd_band=band)
    assert (quadrant(one) is not Quadrant.UNKNOWN) is placed
    assert (unplaced_reason(one) is None) is placed


def test_one_turn_runs_that_never_agree_are_inconsistent():
    apart = task(rsd=1.0, success=1.0, rsd_largest=1.0, rsd_share=Estimate(1.0, 0.3, 1.0))
    assert quadrant(apart) is Quadrant.INCONSISTENT
    assert quadrant(task(rsd=0.2, success=1.0, rsd_largest=1.0, rsd_share=Estimate(0.2, 0.1, 0.9))) is Quadrant.RIGHT
    cut = task(rsd=0.2, success=1.0, rsd_largest=1.0, rsd_share=Estimate(0.2, 0.1, 0.9), rsd_band=(0.2, 0.3))
    assert quadrant(cut) is Quadrant.UNKNOWN


def test_the_scale_of_rsd_is_that_of_the_tasks():
    short, long = task("a", rsd_largest=1.0), task("b", rsd_largest=5.0)
    assert rsd_scale(evaluation([short])) == "0 alike, 1 apart throughout"
    assert rsd_scale(evaluation([short, long])) == "0 alike, 1 to 5, by the turns of a task, apart throughout"
    assert rsd_scale(evaluation([task("c", rsd=None)])) == "0 alike, 5 apart throughout"


def test_the_headline_counts_broken_runs_as_failures():
    whole = evaluation()
    broken = replace(
        whole.summary,
        success_rate=Estimate(1.0, n=1, reason="one task"),
        success_rate_all=Estimate(0.25, n=4, reason="4"),
    )
    assert headline_success(replace(whole, summary=broken)).value == 0.25
    assert headline_success(whole).value == 0.5


def test_what_luck_does_is_said_where_outcomes_repeat():
    whole = evaluation()
    assert luck_line(whole) == ""
    lucky = replace(
        whole.summary,
        outcomes_flip=Estimate(0.36, 0.24, 0.5, n=50),
        single_run_gap=Estimate(0.124, n=50, reason="a limit"),
    )
    assert luck_line(replace(whole, summary=lucky)) == (
        "36% of 50 tasks both succeed and fail; two scores from a single run of each task differ by up to 12.4 points "
        "by luck"
    )


def test_why_a_task_is_not_placed():
    assert unplaced_reason(task(rsd=None)) == "too little was measured to say"
    assert unplaced_reason(task(rsd=0.2, success=None)) == "no outcome is known"


def test_the_ends_of_a_band_read_differently():
    assert band_ends((0.1, 0.7)) == "0.10 to 0.70"
    assert band_ends((2.2201, 2.2239)) == "2.220 to 2.224"


def test_a_location_names_what_is_known():
    assert location("runs.jsonl", 3, "/messages/0") == "runs.jsonl:3 /messages/0"
    assert location("runs.jsonl", None, None) == "runs.jsonl"
    assert location("", None, None) == ""


def dots_at(x, count, y=0.1):
    return [Dot(f"t{n}", f"task-{n}", x, y, "q-wrong") for n in range(count)]


@pytest.mark.parametrize("x", [0.0, 0.49, 0.5, 2 / 3, 1.0])
def test_dots_stay_near_their_success_rate_and_on_their_side(x):
    frame = 460.0
    (true,) = centres(dots_at(x, 1))
    (split,) = centres(dots_at(0.5, 1))
    found = centres(dots_at(x, 21))
    assert max(abs(spot - true) for spot in found) <= 0.02 * frame + 0.1
    assert all((spot >= split) is (x >= 0.5) for spot in found)


def test_only_dots_that_overlap_are_faint():
    assert 'class="dot q-wrong over"' in scatter(dots_at(0.7, 21), 0.5, 0.25)
    apart = [*dots_at(0.2, 1), *dots_at(0.8, 1)]
    assert " over" not in scatter(apart, 0.5, 0.25)


def centres(dots):
    return [float(x) for x in re.findall(r'<circle cx="([0-9.]+)"', scatter(dots, 0.5, 0.25))]
