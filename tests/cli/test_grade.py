"""`likewise grade` as a user types it, against a real server."""

import json

import pytest

from likewise import read_rollouts
from llm_server import refused, said, serving


@pytest.fixture
def files(runs_file, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    notes = tmp_path / "notes.toml"
    notes.write_text('[notes]\na = ["It is booked.", "It is told."]\n', encoding="utf-8")
    runs = runs_file({"a": {"0": ["booked", "told"], "1": ["told"]}, "b": {"0": ["x"]}})
    return runs, notes, tmp_path / "graded.jsonl"


def answer(request):
    word = "booked" if "It is booked." in request.user else "told"
    turn = next((n for n in (1, 2) if f"Turn {n}, the agent: {word}" in request.user), None)
    return said(json.dumps({"reason": "so", "turn": turn}))


def test_runs_are_graded_and_written(invoke, files):
    runs, notes, out = files
    with serving(answer) as server:
        result = invoke(
            "grade",
            runs,
            "--notes",
            notes,
            "--judge",
            "llm:tiny",
            "--judge-url",
            server.url,
            "--out",
            out,
            "--votes",
            3,
        )
        assert result.exit_code == 0, result.output
        assert f"4 sub-goal(s) of runs, 3 question(s) each: runs are sent to {server.url}" in result.stderr
        assert "graded 2 of 3 run(s); 1 task(s) without notes stay as they were" in result.stderr
        assert len(server.requests) == 12
    assert [each.meta.get("progress") for each in read_rollouts(out)] == [[0, 0.5, 1], [0, 0.5], None]
    tables = json.loads(invoke("tables", f"m={out}", "--json", "-").stdout)
    assert tables["turn_limit"] == 2


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (lambda request: said("?"), "no run could be graded; nothing is written"),
        (lambda request: refused(401), "refuses the key"),
    ],
)
def test_a_model_that_does_not_work_ends_with_4_and_writes_nothing(invoke, files, reply, message):
    runs, notes, out = files
    with serving(reply) as server:
        result = invoke("grade", runs, "--notes", notes, "--judge", "llm:tiny", "--judge-url", server.url, "-o", out)
    assert result.exit_code == 4
    assert message in " ".join(result.stderr.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"--judge": "embedded"}, 2, "is no chat model; name one as in llm:gpt-4.1"),
        ({"--votes": 4}, 2, "odd number of votes"),
        ({"--judge-url": "no url"}, 2, "is no endpoint's URL"),
        ({"--notes": "missing.toml"}, 2, "missing.toml"),
    ],
)
def test_what_cannot_be_done_is_told(invoke, files, change, code, message):
    runs, notes, out = files
    options = {"--notes": notes, "--judge": "llm:tiny", "--judge-url": "http://localhost:1/v1", "--out": out} | change
    result = invoke("grade", runs, *(part for option in options.items() for part in option))
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())
