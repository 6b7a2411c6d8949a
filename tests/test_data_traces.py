"""Inspect, Langfuse and OpenTelemetry readers against the real samples. Expected values come from the raw JSON."""

import json
import zipfile
from collections import Counter

import pytest

from data_folder import data_folder
from likewise.core.errors import UnknownFormatError
from likewise.core.rollout import StopReason
from likewise.formats import FORMATS, read_rollouts
from likewise.formats.message_shapes import messages_of, parsed
from likewise.formats.registry import claims

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def samples():
    return data_folder() / "rollouts"


def raw(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_sample_of_every_format_is_claimed_by_exactly_one(samples):
    files = [path for path in sorted(samples.rglob("*")) if path.is_file() and not path.name.startswith("NOTICE")]
    assert len(files) > 70
    claimed = {path: [name for name, reason in claims(path).items() if reason is None] for path in files}
    none = {path for path, names in claimed.items() if not names}
    assert none == set((samples / "langfuse").glob("*.chatml.json"))  # expected answers, not runs
    assert {len(names) for path, names in claimed.items() if path not in none} == {1}


# Inspect


def inspect_samples(path):
    """The samples of a log, and its header, read without the package."""
    if path.suffix == ".json":
        top = raw(path)
        return top, top["samples"]
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("samples/")]
        return json.loads(archive.read("header.json")), [json.loads(archive.read(name)) for name in names]


def test_every_inspect_log_is_read_with_all_its_samples_turns_and_calls(samples):
    paths = [path for path in sorted((samples / "inspect").iterdir()) if path.suffix in (".json", ".eval")]
    assert len(paths) == 7
    for path in paths:
        header, logged = inspect_samples(path)
        found = read_rollouts(path, strict=True)
        assert found.files == ((str(path), "inspect"),)
        by_id = {(f"{header['eval']['task']}/{each['id']}", str(each["epoch"])): each for each in logged}
        assert {(rollout.task_id, rollout.meta["epoch"]) for rollout in found} == by_id.keys()
        for rollout in found:
            sample = by_id[rollout.task_id, rollout.meta["epoch"]]
            acted = [message for message in sample["messages"] if message["role"] == "assistant"]
            assert len(rollout.turns) == len(acted)
            calls = [call for message in acted for call in message.get("tool_calls") or []]
            assert [(c.name, c.arguments) for a in rollout.actions for c in a.tool_calls] == [
                (call["function"], call["arguments"]) for call in calls
            ]
            grades = [score["value"] for score in (sample.get("scores") or {}).values()]
            assert rollout.success == ({"C": True, "I": False, 0.0: False}[grades[0]] if grades else None)
            assert rollout.meta["model"] == header["eval"]["model"]


def test_trap_33_and_37_epochs_are_sorted_and_in_ctf_part_at_their_second_action(samples):
    streaming = read_rollouts(samples / "inspect" / "log_streaming.eval")
    assert [rollout.run_id.rsplit("/")[-1] for rollout in streaming] == ["1#1", "1#2", "2#1", "2#2"]
    first, second = read_rollouts(samples / "inspect" / "ctf.json")
    tools = [[call.name for action in run.actions for call in action.tool_calls][:2] for run in (first, second)]
    assert tools == [["bash", "bash"], ["bash", "python"]]
    assert first.actions[0].tool_calls == second.actions[0].tool_calls
    assert (first.success, second.success) == (True, False)


def test_trap_34_eleven_tool_errors_without_an_assistant_make_an_invalid_run(samples):
    (rollout,) = read_rollouts(samples / "inspect" / "log_tool_call_error.json")
    assert (rollout.stop, rollout.problem) == (StopReason.INVALID, "no action of the agent")
    assert (rollout.meta["epoch"], len(rollout.last_observations)) == ("4", 11)


def test_the_log_that_lies_there_as_archive_and_as_json_counts_once(samples):
    folder = samples / "inspect"
    found = read_rollouts([folder / "log_formats.eval", folder / "log_formats.json"])
    assert len(found) == 1
    assert "duplicate of run" in found.excluded[0].reason


# Langfuse

ROLES = {"model": "assistant", "developer": "system"}


def expected_message(message):
    """(role, text, calls) of a message as Langfuse's own normalisation gives it."""
    content = message.get("content")
    calls = [(call["name"], parsed(call["arguments"])) for call in message.get("tool_calls", [])]
    if isinstance(content, list) and all(isinstance(part, dict) and "type" in part for part in content):
        calls += [(part["name"], part["input"]) for part in content if part["type"] == "tool_use"]
        content = "\n".join(part["text"] for part in content if part["type"] == "text")
    elif content is not None and not isinstance(content, str):
        content = json.dumps(content)
    return ROLES.get(message.get("role"), message.get("role")), content or "", calls


def our_message(message):
    calls = [(call["name"], parsed(call["arguments"])) for call in message["tool_calls"]]
    return message["role"], message["content"], calls


def comparisons(folder):
    """Each side of each observation for which an answer is expected: where, ours, expected (None: no answer)."""
    for path in sorted(folder.glob("*.trace.json")):
        answers = raw(path.with_name(path.name.replace(".trace.", ".chatml.")))
        for observation in raw(path)["observations"]:
            for side, role in (("input", "user"), ("output", "assistant")):
                answer = answers.get(observation["id"], {}).get(side)
                if answer is not None:
                    ours = [our_message(each) for each in messages_of(observation[side], role) or []]
                    wanted = [expected_message(each) for each in answer["data"]] if answer["success"] else None
                    yield (path.name.split("-20")[0], observation["type"], observation["name"], side), ours, wanted


EMPTY = (None, "", [])
"""What Langfuse makes of an object that is no message."""

DISAGREEMENTS = {
    # We take messages out of Python's repr; Langfuse finds one without role and text for each.
    ("agno", "GENERATION", "OpenAIChat.invoke", "input"): 2,
    # pydantic-ai logs a `gen_ai.choice` event; we read the message in it, Langfuse keeps the event as data.
    ("pydantic-ai", "GENERATION", "chat gpt-4o", "output"): 1,
    ("pydantic-ai-tools", "GENERATION", "chat gpt-4o", "output"): 1,
    # A result of a tool stands in a user's message of Gemini; we call it the tool's, Langfuse the user's.
    ("google-adk", "GENERATION", "call_llm", "input"): 1,
    # What tools and steps gave is no message of an assistant: we read it as a result, where it is one.
    ("agno", "SPAN", "duckduckgo_search", "output"): 1,
    ("claude-agent", "TOOL", "mcp__weather__get_weather", "output"): 2,
    ("crewai", "SPAN", "Crew.kickoff", "output"): 1,
    ("google-adk", "TOOL", "execute_tool say_hello", "output"): 1,
    ("vercel-aisdk", "TOOL", "getWeather", "output"): 1,
}
"""Sides on which Langfuse gives an answer and we give another, with the reason; everything else must agree."""

ONLY_OURS = {
    # Plain texts: Langfuse wants a list of objects. They are what agno, autogen and crewai log.
    ("agno", "GENERATION", "chat gpt-4o-mini", "input"): 2,
    ("agno", "GENERATION", "chat gpt-4o-mini", "output"): 2,
    ("autogen", "GENERATION", "chat gpt-4o", "input"): 1,
    ("autogen", "GENERATION", "chat gpt-4o", "output"): 1,
    ("crewai", "GENERATION", "completion", "output"): 1,
    ("langgraph-python", "SPAN", "Web-Search", "input"): 1,
    ("langgraph-python", "SPAN", "should_continue", "output"): 2,
    ("openai-agents", "TOOL", "get_weather", "output"): 1,
    # One message that is not in a list, a prompt with its system text, a response with its content.
    ("claude-agent", "GENERATION", "claude.assistant.turn", "input"): 1,
    ("claude-agent", "SPAN", "claude.conversation", "input"): 1,
    ("vercel-aisdk", "GENERATION", "ai.generateText", "input"): 1,
    ("agno", "SPAN", "Agent.run", "output"): 1,
}
"""Sides on which Langfuse's normalisation fails and we find messages."""


def test_agreement_with_langfuses_own_normalisation_is_40_of_51_and_every_difference_has_its_reason(samples):
    agreed, differed, ours_only, neither = Counter(), Counter(), Counter(), 0
    for where, ours, wanted in comparisons(samples / "langfuse"):
        if wanted is None:
            neither += not ours
            ours_only[where] += bool(ours)
        else:
            (agreed if ours == wanted else differed)[where] += 1
    assert (agreed.total(), differed.total()) == (40, 11)
    assert +differed == DISAGREEMENTS
    assert (+ours_only, neither) == (ONLY_OURS, 12)


def test_where_langfuse_and_we_differ_its_answer_says_less_or_another_role(samples):
    for where, ours, wanted in comparisons(samples / "langfuse"):
        if wanted is None or ours == wanted:
            continue
        if where[1] in ("TOOL", "SPAN"):
            assert {role for role, _, _ in wanted} == {None}
        elif where[0] == "google-adk":
            assert [role for role, _, _ in ours if role != "tool"] == [role for role, _, _ in wanted[:-1]]
            assert json.loads(ours[-1][1]) == json.loads(wanted[-1][1])
        else:
            assert set(map(repr, wanted)) == {repr(EMPTY)}


CALLS = {
    "agno": ["duckduckgo_search"],
    "autogen": [],
    "claude-agent": ["mcp__weather__get_weather", "mcp__weather__get_weather"],
    "crewai": [],
    "google-adk": ["say_hello"],
    "langgraph-python": ["Web-Search"],
    "openai-agents": ["get_weather"],
    "pydantic-ai": [],
    "pydantic-ai-tools": [],
    "vercel-aisdk": ["getWeather"],
}
"""Tools that each sample's agent called, read by eye off the traces."""


def test_every_langfuse_trace_is_one_run_with_the_calls_and_the_answer_that_it_shows(samples):
    paths = sorted((samples / "langfuse").glob("*.trace.json"))
    assert len(paths) == len(CALLS)
    for path in paths:
        found = read_rollouts(path, strict=True)
        assert found.files == ((str(path), "langfuse"),)
        (rollout,) = found
        assert [call.name for a in rollout.actions for call in a.tool_calls] == CALLS[path.name.split("-20")[0]]
        assert all(isinstance(call.arguments, dict) for a in rollout.actions for call in a.tool_calls)
        assert rollout.stop is StopReason.FINISHED
        assert rollout.meta["record_id"] == raw(path)["trace"]["id"]
        if not path.name.startswith("vercel"):  # its one generation is a call
            assert rollout.answer
            assert rollout.answer[:12] in path.read_text(encoding="utf-8")


def test_trap_42_most_exports_are_not_in_order_of_time(samples):
    shuffled = 0
    for path in (samples / "langfuse").glob("*.trace.json"):
        starts = [observation["startTime"] for observation in raw(path)["observations"]]
        shuffled += starts != sorted(starts)
    assert shuffled >= 5


def test_trap_43_history_is_seen_once(samples):
    for name in ("agno-2025-06-11", "langgraph-python-2025-08-22", "openai-agents-2025-09-30"):
        (rollout,) = read_rollouts(samples / "langfuse" / f"{name}.trace.json")
        seen = [o for turn in rollout.turns for o in turn.observations]
        assert [o.source for o in seen].count("tool") == 1
        assert len({(o.source, o.text) for o in seen}) == len(seen)


def test_trap_45_the_trace_that_was_exported_twice_counts_once(samples):
    found = read_rollouts(sorted((samples / "langfuse").glob("pydantic-ai*.trace.json")))
    assert len(found) == 1
    assert [item.reason.split(" of run")[0] for item in found.excluded] == ["duplicate"]
    assert "counted once" in found.warnings[0]


def test_trap_46_parallel_calls_that_the_claude_export_took_apart_are_one_action(samples):
    (rollout,) = read_rollouts(samples / "langfuse" / "claude-agent-2025-12-22.trace.json")
    assert [[call.arguments["city"] for call in action.tool_calls] for action in rollout.actions] == [
        ["Berlin", "New York"],
        [],
    ]
    assert [o.text.split(":")[0] for o in rollout.turns[1].observations] == ["Weather in Berlin", "Weather in New York"]


def test_the_expected_answers_beside_the_traces_are_no_runs(samples):
    for path in (samples / "langfuse").glob("*.chatml.json"):
        with pytest.raises(UnknownFormatError):
            read_rollouts(path)
        assert set(claims(path)) == FORMATS.keys()


# OpenTelemetry


def test_trap_52_of_ten_vercel_spans_in_ten_traces_four_calls_are_runs_and_the_embedding_is_none(samples):
    path = samples / "otel" / "all-spans.json"
    spans = raw(path)
    assert len({span["spanContext"]["traceId"] for span in spans}) == len(spans) == 10
    found = read_rollouts(path)
    assert [name for _, name in found.files] == ["otel"]
    wanted = {span["attributes"]["ai.response.id"] for span in spans if "ai.response.id" in span["attributes"]}
    assert {each for rollout in found for each in rollout.meta["response_ids"]} == wanted
    assert len(found) == len(wanted) == 4
    answers = {
        span["attributes"].get("ai.response.text") or span["attributes"].get("ai.response.object") for span in spans
    }
    assert {rollout.answer for rollout in found} == answers - {None}
    assert [len(rollout.turns) for rollout in found] == [1, 1, 1, 1]
    assert [item.reason for item in found.excluded] == ["1 trace without a model call"]


def test_trap_52_the_collectors_file_is_lines_though_it_is_named_json_and_holds_no_model_call(samples):
    path = samples / "otel" / "test-traces.json"
    assert len(path.read_text().splitlines()) == 2
    found = read_rollouts(path)
    assert (len(found), [name for _, name in found.files]) == (0, ["otel"])
    (item,) = found.excluded
    assert item.reason.startswith("2 traces without a model call, the first ")
