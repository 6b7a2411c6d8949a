"""A prediction in the terminal, as JSON and HTML: the same numbers, nothing of a log interpreted."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from likewise.core.estimate import Estimate
from likewise.evaluation.predict import predict
from likewise.evaluation.task_numbers import NUMBERS, TaskNumbers
from likewise.report.predict_html import prediction_html
from likewise.report.predict_json import prediction_as_json
from likewise.report.predict_terminal import render_prediction
from likewise.report.predict_words import answer, remarks, share_text, signed_text
from report_factory import HOSTILE

FEW = {"resamples": 300, "permutations": 400}


def task(name, failures, successes, **values):
    return TaskNumbers(name, dict.fromkeys(NUMBERS, 0.5) | values, failures, successes)


def prediction(rsd, turns, failed, **more):
    rows = enumerate(zip(rsd, turns, failed, strict=True))
    return predict([task(f"t{i}", f, 4 - f, rsd=r, turns=t) for i, (r, t, f) in rows], **FEW, **more)


FAILED = [0, 0, 0, 1, 1, 2, 3, 3, 4, 4, 4, 4]
# RSD rising: 26 failed and 22 successful runs make 26 * 22 - 16 pairs of two tasks, 18 the wrong way round: 97%.
RISING, NOISE = list(range(12)), [5, 2, 9, 1, 7, 3, 8, 0, 6, 4, 11, 10]


def printed(found, width=100):
    file = StringIO()
    render_prediction(found, Console(file=file, width=width))
    return file.getvalue()


def test_numbers_are_written_with_their_intervals():
    assert share_text(Estimate(0.7, 0.58, 0.81)) == "70% [58% to 81%]"
    assert share_text(Estimate(0.7, reason="few")) == "70%"
    assert signed_text(Estimate(-0.4, -0.6, 0.1)) == "−0.40 [−0.60 to +0.10]"
    assert signed_text(Estimate(-0.04, -0.06, 0.1), points=True) == "−4 [−6 to +10]"
    assert share_text(Estimate.undefined("no")) == signed_text(None) == "–"


def test_the_answer_says_where_consistency_wins_where_length_wins_and_where_neither():
    wins = " ".join(answer(prediction(RISING, NOISE, FAILED)))
    assert "higher RSD in 97%" in wins
    assert "it predicts failure better than run length does" in wins
    assert "still go with failure: RSD" in wins
    loses = " ".join(answer(prediction(NOISE, RISING, FAILED)))
    assert "for run length it is 97%" in loses
    assert "run length predicts failure better" in loses
    assert "goes with failure beyond chance" in loses
    even = " ".join(answer(prediction(NOISE, NOISE[::-1], FAILED)))
    assert "that may be luck" in even


def test_all_faces_show_the_same_numbers():
    found = prediction(RISING, NOISE, FAILED)
    rsd = next(each for each in found.predictors if each.name == "rsd")
    data = json.loads(json.dumps(prediction_as_json(found), allow_nan=False))
    assert data["schema"] == "likewise.predict/1"
    number = next(each for each in data["numbers"] if each["name"] == "rsd")
    assert number["auroc"] == rsd.auroc.as_json()
    assert number["given_length_p_value"] == rsd.partial_p
    assert data["tasks"][3] == {"task_id": "t3", "failures": 1, "successes": 3, "values": {**found.tasks[3].values}}
    page, text = unescape(prediction_html(found)), printed(found)
    for shown in (share_text(rsd.auroc), signed_text(rsd.partial)):
        assert shown in page
        assert shown.split(" ")[0] in text


def test_a_strip_places_the_value_in_its_interval():
    text = printed(prediction(RISING, NOISE, FAILED))
    (row,) = (line for line in text.splitlines() if line.strip().startswith("RSD ") and "●" in line)
    strip = re.search("[·┆─●]{21}", row)[0]
    assert strip.index("●") == 19  # 97% of 20 steps
    assert strip[10] == "┆"


def test_what_is_left_out_is_said():
    tasks = [task(f"t{i}", i % 2, 1 - i % 2, rsd=i) for i in range(6)]
    found = predict([*tasks, task("mute", 0, 0), task("single", 1, 0, rsd=None)], **FEW, notes=["a warning"])
    said = "\n".join(remarks(found))
    assert "Without any known outcome, left out: 1 task (mute)" in said
    assert "Without RSD: 1 task (single)" in said
    assert "the number or the failure rate is the same for all tasks" in said
    assert "a warning" in said


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_a_hostile_name_stays_text_on_the_page_and_in_the_terminal():
    tasks = [task(name, n % 2, 1 - n % 2, rsd=n) for n, name in enumerate(HOSTILE)]
    found = predict([*tasks, task(HOSTILE[0] + "x", 0, 0)], **FEW, notes=HOSTILE)
    parser = _Tags()
    parser.feed(prediction_html(found))
    tags = {tag for tag, _ in parser.seen}
    assert not tags & {"script", "img", "iframe", "link", "object"}
    assert all(not name.startswith("on") for _, attributes in parser.seen for name in attributes)
    assert "\x1b" not in printed(found)


def test_the_page_loads_nothing():
    page = unescape(prediction_html(prediction(RISING, NOISE, FAILED)))
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#)', page)


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_terminal_is_not_written_past_its_edge(width):
    assert max(map(len, printed(prediction(RISING, NOISE, FAILED), width).splitlines())) <= max(width, 45)


def test_a_p_value_is_called_as_in_a_comparison():
    """`p_value`, and `p_adjusted` for the same among several: the words of `likewise compare --json`."""
    data = prediction_as_json(prediction(RISING, NOISE, FAILED))
    for number in data["numbers"]:
        named = {key for key in number if "_p_" in key or key.endswith("_p")}
        assert named == {
            "auroc_p_value", "auroc_p_adjusted", "rank_correlation_p_value", "given_length_p_value",
            "given_length_p_adjusted",
        }  # fmt: skip
