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
        assert "tiny was asked 12 times: 1,200 tokens read, 120 written" in result.stderr
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
        ({"--max-cost": 1}, 2, "give --input-price and --output-price"),
        ({"--max-cost": "nan"}, 2, "nan is out of range"),
    ],
)
def test_what_cannot_be_done_is_told(invoke, files, change, code, message):
    runs, notes, out = files
    options = {"--notes": notes, "--judge": "llm:tiny", "--judge-url": "http://localhost:1/v1", "--out": out} | change
    result = invoke("grade", runs, *(part for option in options.items() for part in option))
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())


def grade(invoke, files, server, *more):
    runs, notes, out = files
    options = ("--votes", 3, "--parallel", 1, *more)
    return invoke(
        "grade", runs, "--notes", notes, "--judge", "llm:tiny", "--judge-url", server.url, "-o", out, *options
    )


def test_the_same_command_goes_on_where_an_endpoint_broke_down_and_asks_nothing_twice(invoke, files):
    replies, answered = 7, []

    def breaks_down(request):
        if len(answered) == replies:
            return refused(401)
        answered.append(request)
        return answer(request)

    with serving(breaks_down) as server:
        assert grade(invoke, files, server).exit_code == 4
        assert not files[2].exists()
        replies = 100
        result = grade(invoke, files, server)
        assert result.exit_code == 0, result.stderr
        assert "3 question(s) each (7 answer(s) known from before)" in " ".join(result.stderr.split())
        assert len(answered) == 12  # two runs, two notes, three votes
        assert grade(invoke, files, server, "--force").exit_code == 0
        assert len(answered) == 12
        assert grade(invoke, files, server, "--force", "--no-store").exit_code == 0
        assert len(answered) == 24
    assert [each.meta.get("progress") for each in read_rollouts(files[2])] == [[0, 0.5, 1], [0, 0.5], None]


def test_a_limit_on_cost_leaves_the_rest_ungraded_and_a_higher_one_goes_on(invoke, files):
    prices = ("--input-price", 1000, "--output-price", 1000)  # 0.11 an answer; one may cost some 1.3
    with serving(answer) as server:
        result = grade(invoke, files, server, *prices, "--max-cost", 2.0)
        asked = len(server.requests)
        said = " ".join(result.stderr.split())
        assert 0 < asked < 12
        assert "budget of 2 spent" in said
        assert "the budget is spent; with a higher --max-cost (and --force) the same command goes on" in said
        result = grade(invoke, files, server, *prices, "--max-cost", 100, "--force")
        assert result.exit_code == 0, result.stderr
        assert len(server.requests) == 12
        assert f"cost {0.11 * (12 - asked):.4f}" in result.stderr
