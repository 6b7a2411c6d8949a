"""Inputs built by hand in the form of Claude Code's session files; test_data_agent_logs.py reads real ones."""

import json

import pytest

from likewise.core.rollout import Action, Observation, StopReason, ToolCall
from likewise.formats import read_rollouts

TIME = "2026-01-01T10:00:{:02d}.000Z"


class Session:
    """Lines of one session, with rising times."""

    def __init__(self, session="s1", start=0, **common):
        self.lines, self.common, self.clock = [], {"sessionId": session, **common}, start

    def add(self, kind, message, **more):
        self.clock += 1
        base = {"type": kind, "uuid": f"u{self.clock}", "timestamp": TIME.format(self.clock), "isSidechain": False}
        self.lines.append(base | self.common | {"message": message} | more)
        return self

    def user(self, content, **more):
        return self.add("user", {"role": "user", "content": content}, **more)

    def agent(self, *blocks, message_id=None, stop="end_turn", **more):
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {"id": message_id or f"m{self.clock}", "role": "assistant", "model": "m", "content": content}
        return self.add("assistant", message | {"stop_reason": stop}, **more)

    def text(self):
        return "".join(json.dumps(line) + "\n" for line in self.lines)


def use(call_id, name, **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id, content):
    return [{"type": "tool_result", "tool_use_id": call_id, "content": content}]


def read_one(write, session):
    (rollout,) = read_rollouts(write("s.jsonl", session.text()))
    return rollout


def test_a_session_is_a_run_of_the_task_that_its_first_prompt_names(write):
    session = (
        Session(version="2.0").user("Fix the bug.").agent("On it.", use("1", "Bash", command="ls"), stop="tool_use")
    )
    path = write("s.jsonl", session.user(result("1", "a.py")).agent("Done.").text())
    found = read_rollouts(path)
    (rollout,) = found
    assert found.files == ((str(path), "claude-code"),)
    assert (rollout.task_id, rollout.run_id, rollout.stop, rollout.success) == (
        "Fix the bug.",
        "s",
        StopReason.FINISHED,
        None,
    )
    assert rollout.actions == (Action("On it.", (ToolCall("Bash", {"command": "ls"}),)), Action("Done."))
    assert rollout.turns[1].observations == (Observation("tool", "a.py", "Bash"),)
    assert rollout.meta["model"] == "m"
    assert (rollout.meta["started"], rollout.meta["ended"]) == (TIME.format(1), TIME.format(4))
    assert rollout.meta["response_ids"] == ["m1", "m3"]


def test_repeats_of_a_prompt_are_runs_of_one_task(write, tmp_path):
    for name in "ab":
        write(f"{name}.jsonl", Session(name).user("Do it.\n").agent(name, message_id=name).text())
    found = read_rollouts(tmp_path)
    assert [(each.task_id, each.run_id) for each in found] == [("Do it.", "a"), ("Do it.", "b")]
    assert found.warnings == ()


def test_issue_5034_partial_lines_of_one_message_are_one_message_and_keep_all_its_calls(write):
    session = Session().user("Go.")
    session.agent("Let me", message_id="m", stop=None)
    session.agent("Let me look.", use("1", "Read", path="a"), message_id="m", stop=None)
    session.user(result("1", "A"))
    session.agent(use("2", "Read", path="b"), message_id="m", stop="tool_use")
    session.user(result("2", "B")).agent("Seen.")
    rollout = read_one(write, session)
    assert rollout.actions[0] == Action(
        "Let me look.", (ToolCall("Read", {"path": "a"}), ToolCall("Read", {"path": "b"}))
    )
    assert [o.text for o in rollout.turns[1].observations] == ["A", "B"]
    assert len(rollout.turns) == 2


def test_trap_48_the_last_line_of_a_call_wins(write):
    session = (
        Session().user("Go.").agent(use("1", "Read"), message_id="m").agent(use("1", "Read", path="a"), message_id="m")
    )
    assert read_one(write, session).actions[0].tool_calls == (ToolCall("Read", {"path": "a"}),)


def test_two_texts_of_one_message_stay_two_parts(write):
    session = Session().user("Go.").agent("First.", message_id="m").agent("Second.", message_id="m")
    assert read_one(write, session).actions == (Action("First.\nSecond."),)


def test_trap_49_lines_that_are_no_messages_are_excluded_and_a_raw_string_is_text(write):
    session = Session().user([{"type": "text", "text": "Go."}, "quickly"]).agent("Gone.")
    bad = ['"massive error"', "42", "[1]", '{"silly": "this"}']
    bad += [json.dumps({"type": "user", "sessionId": "s1", "uuid": "x", "message": "error"})]
    bad += [json.dumps({"type": "user", "sessionId": "s1", "uuid": "x", "message": {"contenst": []}})]
    found = read_rollouts(write("s.jsonl", session.text() + "\n".join(bad)))
    (rollout,) = found
    assert (rollout.task_id, rollout.actions) == ("Go.", (Action("Gone."),))
    assert rollout.turns[0].observations == (Observation("user", "Go.\nquickly"),)
    places = [(item.line, item.pointer) for item in found.excluded]
    assert places == [(3, ""), (4, ""), (5, ""), (6, "/type"), (7, "/message"), (8, "/message/content")]


def test_a_file_that_begins_with_a_summary_or_with_rubbish_is_recognised(write):
    session = Session().user("Go.").agent("Gone.").text()
    summary = json.dumps({"type": "summary", "summary": "x", "leafUuid": "u"}) + "\n"
    for name, text in (("a.jsonl", summary + session), ("b.jsonl", '"error"\n' + session.replace("Gone", "Left"))):
        path = write(name, text)
        assert read_rollouts(path).files == ((str(path), "claude-code"),)


def test_trap_50_lines_of_sub_agents_are_left_out_and_counted(write):
    session = Session().user("Go.")
    session.user("You are a helper.", isSidechain=True).agent("Helping.", isSidechain=True)
    path = write("s.jsonl", session.agent("Gone.").text())
    found = read_rollouts(path)
    assert [rollout.actions for rollout in found] == [(Action("Gone."),)]
    assert found.warnings == (f"{path}: 2 lines of sub-agents left out",)


def test_a_file_of_a_sub_agent_has_no_run(write):
    path = write("agent-1.jsonl", Session().user("Help.", isSidechain=True).agent("Yes.", isSidechain=True).text())
    found = read_rollouts(path)
    assert (len(found), found.excluded) == (0, ())
    assert found.warnings == (f"{path}: 2 lines of sub-agents left out",)


CLEAR = "<command-name>/clear</command-name>\n<command-args></command-args>"


def test_trap_50_clear_begins_a_new_run_under_the_id_of_the_file(write):
    session = Session().user("One.").agent("First.").user(CLEAR).user("Two.").agent("Second.")
    found = read_rollouts(write("s.jsonl", session.text()))
    assert [(each.task_id, each.run_id, each.answer) for each in found] == [
        ("One.", "s", "First."),
        ("Two.", "s#1", "Second."),
    ]


def test_a_prompt_after_clear_that_nobody_answered_is_no_run_of_the_agent(write):
    found = read_rollouts(write("s.jsonl", Session().user("One.").agent("First.").user(CLEAR).user("Two.").text()))
    assert [(each.task_id, each.problem) for each in found] == [("One.", None), ("Two.", "no action of the agent")]


def test_a_session_that_opens_with_clear_has_one_run(write):
    session = Session().user("Caveat: The messages below were ...", isMeta=True).user(CLEAR).user("Do.").agent("Done.")
    assert read_one(write, session).task_id == "Do."


def test_trap_50_a_session_that_goes_on_in_another_file_is_one_run(write, tmp_path):
    write("b.jsonl", Session("two", 10, slug="calm-otter").user("Carry it out.").agent("Built.").text())
    first = Session("one", 0, slug="calm-otter").user("Plan it.").agent("The plan.")
    write("a.jsonl", first.user(CLEAR).user("Aside.").agent("By the way.").text())
    found = read_rollouts(tmp_path)
    assert [(each.task_id, each.run_id) for each in found] == [("Plan it.", "a"), ("Aside.", "a#1")]
    joined = found.rollouts[0]
    assert joined.actions == (Action("The plan."), Action("Built."))
    assert joined.turns[1].observations == (Observation("user", "Carry it out."),)
    assert "joined from several files" in joined.notes
    assert [warning.split(": ", 1)[1] for warning in found.warnings] == [
        "goes on with run 'a' (slug calm-otter); one run"
    ]


@pytest.mark.parametrize(
    "second",
    [
        Session("two", 10, slug="other").user("Go on.").agent("B."),
        Session("two", 0, slug="calm-otter").user("Go on.").agent("B."),
        Session("two", 10, slug="calm-otter").user("Go.").agent("A.", message_id="same"),
    ],
    ids=["another slug", "at the same time", "a copy that repeats its messages"],
)
def test_sessions_that_do_not_go_on_with_each_other_stay_apart(write, tmp_path, second):
    write("a.jsonl", Session("one", 0, slug="calm-otter").user("Go.").agent("A.", message_id="same").text())
    write("b.jsonl", second.text())
    assert len(read_rollouts(tmp_path)) == 2


def test_compaction_does_not_end_a_run(write):
    session = Session().user("Long work.").agent("Begun.")
    session.lines.append({"type": "system", "subtype": "compact_boundary", "sessionId": "s1", "uuid": "c"})
    session.user("Summary: begun.", isCompactSummary=True).agent("Done.")
    rollout = read_one(write, session)
    assert (rollout.task_id, len(rollout.turns)) == ("Long work.", 2)
    assert rollout.turns[1].observations == (Observation("user", "Summary: begun."),)
    assert "context compacted" in rollout.notes


def test_an_api_error_is_no_action_and_makes_the_run_invalid_where_it_is_the_last_word(write):
    error = {"isApiErrorMessage": True}
    session = Session().user("Go.").agent("API Error: 529 Overloaded", **error)
    rollout = read_one(write, session)
    assert (rollout.problem, rollout.turns) == ("infra_error: API Error: 529 Overloaded", ())
    recovered = read_one(write, session.agent("Gone."))
    assert (recovered.stop, recovered.actions) == (StopReason.FINISHED, (Action("Gone."),))


@pytest.mark.parametrize(
    ("build", "stop", "note"),
    [
        (lambda s: s.agent("x", stop="max_tokens"), StopReason.CUT, "stopped by the token limit"),
        (
            lambda s: s.agent(use("1", "a"), stop="tool_use"),
            StopReason.CUT,
            "the log ends before the agent's next action",
        ),
        (lambda s: s.agent("x").user("And?"), StopReason.CUT, "the log ends before the agent's next action"),
        (lambda s: s.agent("x").user("[Request interrupted by user]"), StopReason.CUT, "interrupted by the user"),
        (lambda s: s.agent("x", stop=None), StopReason.FINISHED, "the log does not say how the run ended"),
    ],
)
def test_how_a_run_ended_is_read_off_its_last_lines(write, build, stop, note):
    rollout = read_one(write, build(Session().user("Go.")))
    assert (rollout.stop, rollout.notes) == (stop, (note,))


def test_two_sessions_in_one_file_are_two_runs(write):
    text = Session("one").user("Go.").agent("A.", message_id="a").text() + Session("two").user("Go.").agent("B.").text()
    assert [each.run_id for each in read_rollouts(write("s.jsonl", text))] == ["s", "s#1"]
