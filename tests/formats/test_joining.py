"""Runs over several files, with more of them than are kept: what comes out must not depend on how much is kept."""

import json

import pytest

from formats.test_claude_code import Session
from likewise.core.errors import RolloutFormatError
from likewise.core.protocols import no_progress
from likewise.core.rollout import Action, Rollout, Turn
from likewise.formats import joining, read_rollouts
from likewise.formats.joining import Parts
from likewise.formats.registry import stream_rollouts


def said(run_id, *texts):
    return Rollout("t", run_id, tuple(Turn((), Action(text)) for text in texts))


class Pairs:
    """A format in which runs of one letter are one."""

    def chains(self, runs):
        assert all(run.turns == () for run in runs)
        found = {}
        for place, run in enumerate(runs):
            found.setdefault(run.run_id[0], []).append(place)
        return [tuple(chain) for chain in found.values()], [f"{len(runs)} parts"]

    def joined(self, parts):
        return said(parts[0].run_id, *(turn.action.text for part in parts for turn in part.turns))


FILES = {"1": [said("a1", "A"), said("b1", "B")], "2": [said("a2", "C")], "3": [said("b2", "D"), said("c", "E")]}


@pytest.mark.parametrize("held", [0, 1200, joining.HELD])
def test_chains_are_the_same_whatever_is_kept_and_read_again(tmp_path, held):
    again = []

    def read(path, label):
        again.append(label)
        return FILES[label]

    parts = Parts(Pairs(), read, held)
    for name, runs in FILES.items():
        (tmp_path / name).write_text("x")
        parts.take(tmp_path / name, name, runs)
    warnings = []
    found = list(parts.runs(warnings, no_progress))
    assert [(run.run_id, [a.text for a in run.actions]) for run in found] == [
        ("a1", ["A", "C"]),
        ("b1", ["B", "D"]),
        ("c", ["E"]),
    ]
    assert warnings == ["5 parts"]
    # a run of one turn takes 1 + 2 * 500 characters: of 1,200 one run is kept
    assert again == {0: ["1", "2", "1", "3"], 1200: ["2", "1", "3"], joining.HELD: []}[held]


@pytest.mark.parametrize("later", [[], [said("b1", "A")]])
def test_a_file_that_changed_in_between_is_an_error_with_its_name(tmp_path, later):
    (tmp_path / "1").write_text("x")
    parts = Parts(Pairs(), lambda path, label: later, 0)
    parts.take(tmp_path / "1", "1", [said("a1", "A")])
    with pytest.raises(RolloutFormatError, match="1: changed while it was read; run again"):
        list(parts.runs([], no_progress))


@pytest.fixture
def sessions(tmp_path):
    """A folder of Claude Code sessions: one over two files, one with an aside, one of a single file, a chat beside."""
    folder = tmp_path / "sessions"
    folder.mkdir()
    clear = "<command-name>/clear</command-name>"
    first = Session("one", 0, slug="calm").user("Plan.").agent("The plan.").user(clear).user("Aside.").agent("Hm.")
    (folder / "a.jsonl").write_text(first.text())
    (folder / "b.jsonl").write_text(Session("two", 10, slug="calm").user("Go.").agent("Built.").text())
    (folder / "c.jsonl").write_text(Session("three", 20).user("Else.").agent("Done.").text() + "broken\n")
    chat = {"task_id": "chat", "messages": [{"role": "assistant", "content": "Hi."}]}
    (folder / "d.jsonl").write_text(json.dumps(chat) + "\n")
    return folder


def everything(found):
    rollouts = tuple(found)
    return rollouts, tuple(found.excluded), tuple(found.files), tuple(found.warnings)


def test_a_folder_of_sessions_reads_alike_kept_and_read_again(sessions, monkeypatch):
    kept = everything(read_rollouts(sessions))
    monkeypatch.setattr(Parts, "take", _take_keeping_nothing(Parts.take))
    again = everything(stream_rollouts(sessions))
    assert again == kept
    assert [run.run_id for run in kept[0]] == ["d#chat#0", "a", "a#1", "c"]
    assert len(kept[1]) == 1  # the broken line is told once, though its file is read twice


def _take_keeping_nothing(take):
    def _take(self, path, label, runs):
        self.held = 0
        take(self, path, label, runs)

    return _take


def test_the_second_reading_has_a_progress_bar_of_its_own_that_ends_at_its_end(sessions, monkeypatch):
    bars = {}

    class Bar:
        def __init__(self, what, total):
            self.row = bars[what] = [total, 0, False]

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.row[2] = True

        def advance(self, n=1):
            self.row[1] += n

    monkeypatch.setattr(Parts, "take", _take_keeping_nothing(Parts.take))
    list(stream_rollouts(sessions, progress=Bar))
    assert bars == {"reading": [4, 4, True], "reading a second time": [3, 3, True]}
