"""The small parts that the pages are laid out with."""

import pytest

from likewise.core.rollout import StopReason
from likewise.report.fork_tree import bundles, fork_tree
from likewise.report.side_by_side import observation_cap, turn_rows
from likewise.report.text import clip, middle, one_line, visible
from likewise.report.word_diff import marked
from likewise.report.words import Quadrant, largest_k, pass_hat, percent, quadrant
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
    assert largest_k(evaluation()) == 2


def test_quadrants_need_both_numbers_unless_runs_diverge():
    assert quadrant(task(rsd=0.2, success=None)) is Quadrant.UNKNOWN
    assert quadrant(task(rsd=3.0, success=None)) is Quadrant.INCONSISTENT
    assert quadrant(task(rsd=None)) is Quadrant.UNKNOWN
    assert quadrant(task(rsd=1.3, success=1.0)) is Quadrant.INCONSISTENT
