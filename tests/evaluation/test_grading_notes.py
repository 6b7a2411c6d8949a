"""Progress by a judge over grading notes: a real server stands for the model."""

import json

import pytest

from likewise.backends.chat_client import ChatSettings
from likewise.backends.progress_judge import ProgressJudge
from likewise.core.errors import ConfigError, GroupError
from likewise.evaluation.grading_notes import grade_progress, questions_of, read_notes, record_text
from likewise.evaluation.paper_tables import paper_tables
from llm_server import said, serving
from scoring.runs import INVALID, call, calls, returned, run
from scoring.runs import said as user_said


@pytest.fixture
def judge(monkeypatch):
    """A judge over a server that finds the first turn whose record has the note's words."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")

    def answer(request):
        note = request.user.partition("Sub-goal: ")[2].partition("\n")[0]
        if note == "unclear":
            return said("Who knows.")
        turn = None
        for line in request.user.splitlines():
            if turn is None and line.startswith("Turn ") and note in line:
                turn = int(line.split()[1].rstrip(","))
        return said(json.dumps({"reason": "so", "turn": turn}))

    with serving(answer) as server:
        yield ProgressJudge("tiny", ChatSettings(server.url, 10.0, retries=0), votes=3)


RUNS = [
    run("0", (user_said("Hi."), "found it"), "booked it", "told them", task="a"),
    run("1", "booked it", "found it", task="a"),
    run("2", "found it", task="a", stop=INVALID),
    run("3", "anything", task="b"),
]


def test_a_record_tells_each_turn_and_what_was_answered_to_it():
    rollout = run("0", (user_said("Hi."), calls(call("get", id=1))), (returned("ok"), "Done."))
    assert (
        record_text(rollout) == '[user] Hi.\nTurn 1, the agent: get({"id":1})\n[tool get] ok\nTurn 2, the agent: Done.'
    )
    assert record_text(run("0")) == ""


def test_runs_get_the_share_of_notes_met_after_each_turn(judge):
    notes = {"a": ["found", "booked", "told", "refunded"]}
    graded = grade_progress(RUNS, notes, judge)
    assert len(questions_of(RUNS, notes)) == 8  # two valid runs, four notes
    assert [each.meta.get("progress") for each in graded.rollouts] == [
        [0, 0.25, 0.5, 0.75],
        [0, 0.25, 0.5],
        None,
        None,
    ]
    assert graded.rollouts[0].meta["progress_judge"] == "tiny, 3 votes"
    assert (graded.graded, graded.without_notes, graded.problems) == (2, ("b",), ())


def test_a_run_of_which_a_note_could_not_be_graded_has_no_curve(judge):
    graded = grade_progress(RUNS[:2], {"a": ["found", "unclear"]}, judge)
    assert [each.meta.get("progress") for each in graded.rollouts] == [None, None]
    assert graded.graded == 0
    assert graded.problems[0] == "run '0' of task 'a', note 'unclear': the model's answer states no turn"


def test_graded_runs_make_tables(judge):
    graded = grade_progress(RUNS[:2], {"a": ["found", "booked"]}, judge).rollouts
    tables = paper_tables({"m": graded}, base="m", turn_limit=4)
    # 0 .5 1 1 1 and 0 .5 1 1 1: (.25 + .75 + 1 + 1)/4
    assert tables.performance.rows[0].cells["auc"].value.value == pytest.approx(0.75)
    assert tables.notes == ()


def test_notes_of_no_task_at_hand_are_refused(judge):
    with pytest.raises(GroupError, match="task ids must be equal"):
        grade_progress(RUNS, {"z": ["found"]}, judge)


def test_notes_are_read_from_toml(tmp_path):
    path = tmp_path / "notes.toml"
    path.write_text('[notes]\n"a b" = ["One.", "Two."]\n', encoding="utf-8")
    assert read_notes(path) == {"a b": ("One.", "Two.")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "no table"),
        ("[notes]", "no table"),
        ("[notes]\na = []", "the notes of task 'a' are no list of sentences"),
        ('[notes]\na = "One."', "the notes of task 'a'"),
        ('[notes]\na = ["One.", " "]', "the notes of task 'a'"),
        ("[notes", "cannot be read"),
    ],
)
def test_what_are_no_notes_is_refused(tmp_path, text, message):
    path = tmp_path / "notes.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_notes(path)


def test_missing_notes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_notes(tmp_path / "notes.toml")
