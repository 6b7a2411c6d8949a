"""The chart of a figure over time."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from likewise.core.estimate import Estimate
from likewise.service.dashboard.trend_chart import ChartPoint, ShiftMark, spark_line, trend_chart


def point(place, value, low=None, high=None, label=None):
    estimate = (
        Estimate.undefined("none")
        if value is None
        else (Estimate(value, low, high) if low is not None else Estimate(value, reason="one verdict"))
    )
    return ChartPoint(float(place), label or f"day {place}", estimate, "3 verdicts")


def shapes(chart):
    """Elements by class: parsing it as XML proves that it is well-formed."""
    root = ElementTree.fromstring(str(chart))
    found = {}
    for element in root.iter():
        for name in (element.get("class") or "").split():
            found.setdefault(name, []).append(element)
    return root, found


def test_a_value_stands_as_high_as_it_is_on_its_own_axis():
    chart = trend_chart("r", [point(0, 0.2), point(1, 0.8), point(2, 0.5)], [], share=False)
    _, found = shapes(chart)
    lines = {text.text: float(text.get("y")) - 4 for text in found["end"]}
    heights = [float(dot.get("cy")) for dot in found["point"]]
    assert heights[0] == pytest.approx(lines["0.2"], abs=0.11)
    assert heights[1] == pytest.approx(lines["0.8"], abs=0.11)
    assert heights[2] == pytest.approx((heights[0] + heights[1]) / 2, abs=0.11)


def test_a_narrow_range_is_not_blown_up_until_noise_looks_like_a_fall():
    chart = trend_chart("r", [point(day, 0.95 + 0.01 * (day % 2)) for day in range(9)], [], share=False)
    _, found = shapes(chart)
    heights = [float(dot.get("cy")) for dot in found["point"]]
    assert max(heights) - min(heights) < 10
    assert {text.text for text in found["end"]} >= {"1.0", "0.7"}


def test_intervals_are_a_band_and_a_single_one_is_a_line():
    band = trend_chart("r", [point(0, 0.5, 0.4, 0.6), point(1, 0.6, 0.5, 0.7)], [], share=False)
    assert len(shapes(band)[1]["area"]) == 1
    single = trend_chart("r", [point(0, 0.5, 0.4, 0.6)], [], share=False)
    assert "area" not in shapes(single)[1]
    assert len(shapes(single)[1]["whisker"]) == 1


def test_days_without_a_value_are_left_out_and_long_gaps_break_the_line():
    chart = trend_chart(
        "r", [point(0, 0.5), point(1, None), point(2, 0.5), point(30, 0.6), point(31, 0.6)], [], share=False
    )
    _, found = shapes(chart)
    assert len(found["point"]) == 4
    assert len(found["curve"]) == 2


def test_a_change_is_told_in_words_to_who_cannot_see_it():
    chart = trend_chart(
        "Reliability", [point(0, 0.9), point(5, 0.4)], [ShiftMark(3.0, True, "worse since day 3")], share=False
    )
    root, found = shapes(chart)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Reliability: 2 points, last 0.40; worse since day 3"
    assert any(text.text == "▼ worse" for text in found["shift-note"])


def test_shares_are_percentages_and_nothing_to_show_is_nothing():
    chart = str(trend_chart("c", [point(0, 0.25, 0.1, 0.4)], [], share=True))
    assert "25% [10 to 40%]" in chart
    assert trend_chart("c", [point(0, None)], [], share=True) == ""
    assert trend_chart("c", [], [], share=True) == ""


def test_labels_are_escaped_and_do_not_cover_each_other():
    points = [point(i, 0.5, label=f"<b>{i}</b>") for i in range(60)]
    _, found = shapes(trend_chart("<script>", points, [], share=False))
    places = [(float(text.get("x")), len(text.text)) for text in found["mid"]]
    assert 1 < len(places) < 20
    assert all(b - a > 6 * width for (a, width), (b, _) in pairwise(places))


def test_the_small_line_needs_two_values_and_marks_changes_inside_it():
    points = [point(0, 1.0), point(1, None), point(4, 0.0)]
    small = str(spark_line(points, [ShiftMark(2.0, True, "x"), ShiftMark(9.0, False, "y")]))
    assert re.search(r'd="M2\.0 2\.0 L118\.0 26\.0"', small)
    assert "shift-worse" in small
    assert "shift-better" not in small
    assert spark_line(points[:1], []) == ""


@pytest.mark.parametrize("values", [[0.0], [1.0], [0.0, 1.0], [0.001], [0.999], [0.3, 0.3], [0.05, 0.95], [0.1, 0.42]])
def test_every_point_lies_inside_the_frame(values):
    _, found = shapes(trend_chart("r", [point(i, value) for i, value in enumerate(values)], [], share=False))
    for dot in found["point"]:
        assert 27 <= float(dot.get("cy")) <= 191
        assert 54 <= float(dot.get("cx")) <= 466
