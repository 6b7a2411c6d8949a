"""Whatever a file holds, reading ends in rollouts, Excluded entries, or an error of ours; never in another one."""

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.errors import LikewiseError, RolloutFormatError, UnknownFormatError
from likewise.formats import FORMATS, read_rollouts, summarise
from likewise.formats.registry import claims

MESSAGES = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
LINE = json.dumps({"task_id": "t", "messages": MESSAGES})
NATIVE = '{"schema": "likewise.rollout/1", "task_id": "t", "run_id": "r", "turns": []}'


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
@pytest.mark.parametrize("name", [None, *FORMATS])
def test_an_empty_file_is_an_error(write, content, name):
    with pytest.raises(RolloutFormatError, match="the file is empty"):
        read_rollouts(write("a.json", content), format=name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
@pytest.mark.parametrize("format", [None, "table", "native"])
def test_a_pipe_or_a_device_is_refused_at_once_and_left_out_of_a_folder(write, tmp_path, format):
    good = write("runs/a.jsonl", NATIVE.replace("[]", '[{"action": {"text": "x"}}]') + "\n")
    os.mkfifo(good.parent / "b.jsonl")  # nobody writes to it: whoever opens it waits for ever
    for path in (good.parent / "b.jsonl", Path("/dev/zero")):
        with pytest.raises(RolloutFormatError, match="a pipe or a device, not a file; write what it gives to a file"):
            read_rollouts(path, format=format)
        with pytest.raises(RolloutFormatError, match="a pipe or a device"):
            claims(path)
    found = read_rollouts(good.parent)
    assert len(found) == 1
    assert [item.path for item in found.excluded] == [str(good.parent / "b.jsonl")]


def test_an_empty_folder_is_an_error(tmp_path):
    with pytest.raises(RolloutFormatError, match="no rollout file in this folder"):
        read_rollouts(tmp_path)
    (tmp_path / "readme.txt").write_text("x")
    with pytest.raises(RolloutFormatError, match="no rollout file in this folder"):
        read_rollouts(tmp_path)


def test_no_path_is_an_error():
    with pytest.raises(RolloutFormatError, match="nothing to read"):
        read_rollouts([])


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_a_missing_file_and_a_broken_link_are_errors_that_name_the_file(tmp_path, name):
    (tmp_path / "link.json").symlink_to(tmp_path / "gone.json")
    for file in ("missing.json", "link.json"):
        with pytest.raises(RolloutFormatError, match=f"{file}: no such file"):
            read_rollouts(tmp_path / file, format=name)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_an_error(write):
    path = write("a.jsonl", LINE)
    path.chmod(0)
    with pytest.raises(RolloutFormatError, match="cannot be read: Permission denied"):
        read_rollouts(path)


@pytest.mark.parametrize("reader", FORMATS.values(), ids=FORMATS)
def test_a_folder_where_a_file_was_promised_is_an_error(tmp_path, reader):
    with pytest.raises(RolloutFormatError, match="cannot be read: Is a directory"):
        reader.read(tmp_path, "x")


@pytest.mark.parametrize("path", ["a\x00b.json", "x" * 5000 + ".json"])
def test_a_path_that_no_file_can_have_is_an_error(path):
    with pytest.raises(RolloutFormatError):
        read_rollouts(path)


@pytest.mark.parametrize("content", ["hello", "task,run\n1,2\n", "<html>", "\x00\x00\x00", "3", '"text"', b"\x80\x81"])
def test_a_file_that_is_not_json_is_unknown_and_an_error_where_a_format_is_forced(write, content):
    path = write("a.json", content)
    with pytest.raises(UnknownFormatError):
        read_rollouts(path)
    places = []
    for name in FORMATS:
        try:
            found = read_rollouts(path, format=name)
        except RolloutFormatError as error:
            places.append(error.path)
        else:
            places += [item.path for item in found.excluded]
            assert len(found) == 0
    assert places == [str(path)] * len(FORMATS)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_an_error_that_says_so(write, tau_run, tau2_file, simulation, share):
    for content in ([tau_run(n) for n in range(5)], tau2_file(*(simulation(str(n)) for n in range(5)))):
        text = json.dumps(content)
        path = write("a.json", text[: int(len(text) * share)])
        with pytest.raises(RolloutFormatError, match="line 1: the JSON ends too early"):
            read_rollouts(path)


def test_an_error_in_the_middle_of_a_file_names_the_line(write, tau_run):
    text = json.dumps([tau_run(0), tau_run(1)], indent=1).replace('"trial": 0', '"trial": oops', 1)
    with pytest.raises(RolloutFormatError, match="line 4: not JSON"):
        read_rollouts(write("a.json", text))


@pytest.mark.parametrize(("line", "name"), [(LINE, "openai-chat"), (NATIVE, "native")])
def test_a_half_written_last_line_is_excluded_with_its_number_and_an_error_if_strict(write, line, name):
    path = write("a.jsonl", f"{line}\n\n{line[:-9]}")
    found = read_rollouts(path)
    assert (len(found), found.files) == (1, ((str(path), name),))
    ((item,),) = (found.excluded,)
    assert (item.path, item.line) == (str(path), 3)
    assert item.reason.startswith("the JSON ends too early")
    with pytest.raises(RolloutFormatError, match=r"a\.jsonl, line 3: the JSON ends too early"):
        read_rollouts(path, strict=True)


def test_a_file_of_lines_of_which_none_is_json_is_an_error(write):
    with pytest.raises(RolloutFormatError, match="line 1: the JSON ends too early"):
        read_rollouts(write("a.jsonl", LINE[:-5]))


def test_invalid_utf_8_is_an_error_in_a_whole_file_and_excludes_one_line(write, tau_run):
    whole = json.dumps([tau_run()], indent=0).encode().replace(b"Cancel", b"Canc\xe9l")
    with pytest.raises(RolloutFormatError, match=r"line \d+: not UTF-8: byte 0xe9"):
        read_rollouts(write("a.json", whole))
    found = read_rollouts(write("a.jsonl", LINE.encode() + b"\n" + LINE.encode().replace(b"Hi", b"\xff")))
    assert [(item.line, item.reason) for item in found.excluded] == [(2, "not UTF-8: byte 0xff")]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(write, tau_run):
    mark = b"\xef\xbb\xbf"
    assert len(read_rollouts(write("a.json", mark + json.dumps([tau_run()]).encode()))) == 1
    found = read_rollouts(write("b.jsonl", mark + f"{LINE}\r\n{LINE}\r\n".encode()))
    assert (len(found), found.excluded) == (2, ())


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_nested_too_deeply_is_an_error_or_excludes_its_line(write, opening):
    closing = {"[": "]", '{"a":': "}"}[opening]
    deep = opening * 100_000 + "1" + closing * 100_000
    whole = f'[{{"task_id": 1, "trial": 0, "info": {{}}, "traj": {deep}}}]'
    with pytest.raises(RolloutFormatError, match="nested too deeply"):
        read_rollouts(write("a.json", whole))
    found = read_rollouts(write("b.jsonl", f'{LINE}\n{{"messages": {deep}}}\n'))
    assert [(item.line, item.reason) for item in found.excluded] == [(2, "JSON nested too deeply")]


def test_arguments_in_a_string_nested_too_deeply_stay_text(write):
    deep = '{"a":' * 50_000 + "1" + "}" * 50_000
    call = {"function": {"name": "f", "arguments": deep}}
    record = {"task_id": "t", "messages": [{"role": "assistant", "tool_calls": [call]}]}
    (rollout,) = read_rollouts(write("b.jsonl", json.dumps(record)))
    assert rollout.actions[0].tool_calls[0].arguments == deep
    assert rollout.notes == ("arguments that do not parse",)


def nested(levels):
    return '{"a":' * levels + "1" + "}" * levels


def test_arguments_of_ours_nested_too_deeply_exclude_their_line_with_what_to_do(write):
    def ours(run, levels):
        call = f'{{"name": "f", "arguments": {nested(levels)}}}'
        return (
            f'{{"schema": "likewise.rollout/1", "task_id": "t", "run_id": "{run}", '
            f'"turns": [{{"action": {{"tool_calls": [{call}]}}}}]}}'
        )

    found = read_rollouts(write("ours.jsonl", "\n".join([ours(0, 100), ours(1, 101), ours(2, 600)])))
    assert [rollout.run_id for rollout in found] == ["0"]
    assert [(item.line, item.pointer, item.reason) for item in found.excluded] == [
        (
            line,
            "/turns/0/action/tool_calls/0/arguments",
            f"nested too deeply: {n} levels (expected at most 100, or a string)",
        )
        for line, n in ((2, 101), (3, 600))
    ]


def test_arguments_nested_too_deeply_are_kept_as_text_by_the_other_readers(write):
    step = f'{{"type": "tool", "name": "f", "tokens": 1, "input": {nested(600)}, "output": "done"}}'
    (steps,) = read_rollouts(write("trace_rac_5_trial1_1769956984.json", f'{{"steps": [{step}]}}'))
    call = f'{{"function": {{"name": "f", "arguments": {nested(600)}}}}}'
    chat = f'{{"task_id": "t", "messages": [{{"role": "assistant", "tool_calls": [{call}]}}]}}'
    (messages,) = read_rollouts(write("chat.jsonl", chat))
    for rollout in (steps, messages):
        (made,) = rollout.actions[0].tool_calls
        assert isinstance(made.arguments, str)
        assert json.loads(made.arguments) == json.loads(nested(600))


def test_an_integer_of_five_thousand_digits_excludes_its_line(write):
    found = read_rollouts(write("b.jsonl", f'{LINE}\n{{"task_id": {"9" * 5000}, "messages": []}}\n'))
    assert [item.line for item in found.excluded] == [2]
    assert found.excluded[0].reason == "an integer of 5,000 digits (expected at most 4,300, or a string)"
    assert found.excluded[0].pointer == "/task_id"


@pytest.mark.parametrize("literal", ["NaN", "-Infinity"])
def test_nan_literals_are_read_and_a_reward_of_nan_is_missing(write, literal):
    (rollout,) = read_rollouts(write("a.jsonl", f'{LINE[:-1]}, "reward": {literal}}}\n'))
    assert (rollout.reward, rollout.notes) == (None, ("reward that is not a finite number",))


def test_a_message_of_50_mb_is_recognised_and_read(write):
    text = "x" * 50_000_000
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Long."}]
    for name, content in (
        ("openai-chat", {"messages": messages, "task_id": "t"}),
        ("tau-bench", [{"traj": messages, "task_id": 0, "trial": 0, "info": {}, "reward": 0.0}]),
    ):
        path = write("big.json", content)
        start = time.perf_counter()
        found = read_rollouts(path)
        assert time.perf_counter() - start < 30
        assert found.files == ((str(path), name),)
        assert len(found.rollouts[0].turns[0].observations[0].text) == 50_000_000


def test_ten_thousand_turns_are_read_and_counted(write):
    record = {"task_id": "t", "messages": MESSAGES * 10_000}
    assert summarise(read_rollouts(write("long.jsonl", json.dumps(record))))["turns"] == 10_000


def test_nul_and_lone_surrogates_in_any_text_are_read(write):
    odd = "a\x00\ud83d"
    call = {"function": {"name": odd, "arguments": {odd: odd}}}
    record = {"task_id": odd, "run_id": odd, "messages": [{"role": "user", "content": odd}]}
    record["messages"].append({"role": "assistant", "content": odd, "tool_calls": [call]})
    found = read_rollouts(write("a.jsonl", json.dumps(record)))
    assert found.rollouts[0].task_id == odd
    assert found.rollouts[0].actions[0].tool_calls[0].arguments == {odd: odd}


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
junk = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3))


def spoil(draw, value):
    """Replace a random part of a JSON value by junk."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 4)) == 0:
        return draw(junk)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = draw(st.sampled_from(keys))
    copy = value.copy()
    copy[key] = spoil(draw, value[key])
    return copy


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_record_spoilt_anywhere_is_read_excluded_or_refused_and_never_lost(tmp_path_factory, data):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}, "name": "f"}
    messages = [*MESSAGES, {"role": "assistant", "content": [{"type": "text", "text": "a"}], "tool_calls": [call]}]
    tau = {"task_id": 0, "trial": 0, "reward": 1.0, "info": {"reward_info": None}, "traj": messages}
    chat = {"task_id": "t", "run_id": "r", "messages": messages, "reward": 1, "success": True, "stop": "cut"}
    simulation = {"task_id": "0", "trial": 0, "termination_reason": "user_stop", "messages": messages}
    info = {"environment_info": {"policy": "p"}, "agent_info": {"llm": "m", "llm_args": {"temperature": 0}}}
    turn = {"observations": [{"source": "user", "text": "a", "name": None}], "action": {"text": "b", "tool_calls": []}}
    native = json.loads(NATIVE) | {"turns": [turn], "stop": "finished", "notes": ["a"], "meta": {}}
    tasks = [{"id": "0", "initial_state": {"message_history": MESSAGES}}]
    records = {
        "tau-bench": [tau],
        "tau2": {"info": info, "tasks": tasks, "simulations": [simulation]},
        "openai-chat": chat,
        "native": native,
    }
    name = data.draw(st.sampled_from(list(records)))
    path = tmp_path_factory.mktemp("spoilt") / "a.jsonl"
    path.write_text(json.dumps(spoil(data.draw, records[name])))
    try:
        found = read_rollouts(path, format=name)
    except LikewiseError:
        return
    assert len(found) + len(found.excluded) + len(found.warnings) >= 1
    json.dumps(summarise(found))
    if found.excluded:
        with pytest.raises(RolloutFormatError):
            read_rollouts(path, format=name, strict=True)
