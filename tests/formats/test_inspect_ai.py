"""The logs are built by hand in the form of Inspect AI; the real files are read in tests/test_data_traces.py."""

import json
import sys
import zipfile
import zlib

import pytest

from likewise.core.errors import RolloutFormatError
from likewise.core.rollout import Action, Observation, StopReason, ToolCall, Turn
from likewise.formats import read_rollouts, summarise
from likewise.formats.inspect_samples import grade

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


@pytest.fixture
def sample():
    """One sample: a system prompt, a question, a call of bash, an answer, right."""

    def _sample(identity=1, epoch=1, **changes):
        return {
            "id": identity,
            "epoch": epoch,
            "input": "Who sent it?",
            "target": "Ada",
            "messages": [
                {"role": "system", "content": "Use the tools."},
                {"role": "user", "content": "Who sent it?", "source": "input"},
                {
                    "id": f"m{identity}-{epoch}-1",
                    "role": "assistant",
                    "source": "generate",
                    "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "I look."}],
                    "tool_calls": [
                        {"id": "c", "function": "bash", "arguments": {"cmd": "cat mail"}, "type": "function"}
                    ],
                },
                {"role": "tool", "tool_call_id": "c", "function": "bash", "content": "From: Ada"},
                {"id": f"m{identity}-{epoch}-2", "role": "assistant", "source": "generate", "content": "Ada"},
            ],
            "output": {"model": "m-1", "choices": [{"stop_reason": "stop"}]},
            "scores": {"includes": {"value": "C", "answer": "Ada"}},
            "uuid": f"u{identity}-{epoch}",
        } | changes

    return _sample


@pytest.fixture
def log():
    """A JSON log around the samples given."""

    def _log(*samples, **changes):
        return {
            "version": 2,
            "status": "success",
            "eval": {
                "run_id": "r",
                "created": "2026-01-01T00:00:00+00:00",
                "task": "mail",
                "task_id": "t",
                "model": "acme/one",
                "dataset": {"sample_ids": list(dict.fromkeys(each.get("id") for each in samples))},
                "config": {"epochs": len({str(each.get("epoch")) for each in samples}) or 1},
            },
            "results": {"scores": [{"name": "includes", "metrics": {"accuracy": {"value": 1}}}]},
            "samples": list(samples),
        } | changes

    return _log


@pytest.fixture
def archive(tmp_path, log):
    """An .eval file of the samples given, in the order given; `members` replace or add (None leaves one out)."""

    def _archive(*samples, name="log.eval", members=None, compression=zipfile.ZIP_DEFLATED):
        header = {key: value for key, value in log(*samples).items() if key != "samples"}
        content = {"_journal/start.json": {key: header[key] for key in ("version", "eval")}}
        content |= {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
        content |= {"header.json": header} | (members or {})
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", compression) as target:
            for member, value in content.items():
                if value is not None:
                    target.writestr(member, value if isinstance(value, bytes) else json.dumps(value))
        return path

    return _archive


@pytest.fixture
def read_one(write, log, sample):
    def _read(**changes):
        (rollout,) = read_rollouts(write("log.json", log(sample(**changes))))
        return rollout

    return _read


TURNS = (
    Turn(
        (Observation("system", "Use the tools."), Observation("user", "Who sent it?")),
        Action("I look.", (ToolCall("bash", {"cmd": "cat mail"}),)),
    ),
    Turn((Observation("tool", "From: Ada", "bash"),), Action("Ada")),
)


def test_a_json_log_is_read_whole(read_one):
    rollout = read_one()
    assert (rollout.task_id, rollout.run_id, rollout.turns) == ("mail/1", "log#mail/1#1", TURNS)
    assert (rollout.stop, rollout.reward, rollout.success) == (StopReason.FINISHED, 1.0, True)
    assert rollout.notes == ("reasoning left out",)
    assert rollout.meta.items() >= {"model": "acme/one", "record_id": "u1-1", "scores": {"includes": "C"}}.items()
    assert rollout.meta["response_ids"] == ["m1-1-1", "m1-1-2"]


def test_an_archive_says_the_same_and_trap_33_its_order_does_not_matter(archive, sample):
    path = archive(sample(10, 1), sample(2, 2), sample("b", 1), sample(2, 1), sample("10a", 1))
    found = read_rollouts(path)
    assert found.files == ((str(path), "inspect"),)
    assert [rollout.run_id for rollout in found] == [
        "log#mail/2#1",
        "log#mail/2#2",
        "log#mail/10#1",
        "log#mail/10a#1",
        "log#mail/b#1",
    ]
    assert all(rollout.turns == TURNS for rollout in found)
    assert {rollout.path for rollout in found} == {str(path)}


def test_epochs_are_repeats_of_one_task(archive, sample):
    summary = summarise(read_rollouts(archive(*(sample(1, epoch) for epoch in (1, 2, 3)))))
    assert (summary["tasks"], summary["rollouts"], summary["valid_per_task"]) == (1, 3, {"3": 1})


def test_an_archive_of_another_name_is_known_by_its_header_and_another_zip_is_not(archive, sample, tmp_path):
    assert len(read_rollouts(archive(sample(), name="log.bin"))) == 1
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as target:
        target.writestr("a.txt", "x")
    with pytest.raises(RolloutFormatError, match="a zip archive; unpack it and name the files in it"):
        read_rollouts(tmp_path / "x.zip")
    with pytest.raises(RolloutFormatError, match=r"no header\.json in the archive"):
        read_rollouts(tmp_path / "x.zip", format="inspect")


def test_a_folder_is_searched_for_eval_files(archive, sample, tmp_path):
    archive(sample())
    assert [name for _, name in read_rollouts(tmp_path).files] == ["inspect"]


def test_a_log_that_is_packed_with_zstd_is_read(archive, sample):
    body = json.dumps(sample()).encode()
    member = "samples/1_epoch_1.json"
    path = archive(sample(), members={member: zstd.compress(body)}, compression=zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    at, central = data.find(member.encode()) - 30, data.rfind(member.encode()) - 46
    for place, offset in ((at, 0), (central, 2)):
        data[place + 8 + offset : place + 10 + offset] = (93).to_bytes(2, "little")
        data[place + 14 + offset : place + 18 + offset] = zlib.crc32(body).to_bytes(4, "little")
        data[place + 22 + offset : place + 26 + offset] = len(body).to_bytes(4, "little")
    path.write_bytes(data)
    assert [rollout.turns for rollout in read_rollouts(path)] == [TURNS]


def test_the_same_log_as_archive_and_as_json_counts_once(archive, write, log, sample):
    paths = [archive(sample(uuid=None)), write("log.json", log(sample(uuid=None)))]
    found = read_rollouts(paths)
    assert [rollout.run_id for rollout in found] == ["log.eval#mail/1#1"]
    assert [item.reason for item in found.excluded] == [f"duplicate of run 'log.eval#mail/1#1' in {paths[0]}"]


# How a sample ended


def test_a_sample_that_failed_in_the_harness_is_invalid_and_its_score_is_kept_apart(read_one):
    rollout = read_one(error={"message": "docker: no space left\nat x", "traceback": "..."})
    assert (rollout.stop, rollout.problem) == (StopReason.INVALID, "infra_error: docker: no space left")
    assert (rollout.reward, rollout.success, rollout.meta["logged_reward"]) == (None, None, 1.0)


def test_a_sample_that_was_invalidated_is_invalid(read_one):
    rollout = read_one(invalidation={"author": "a", "reason": "wrong target"})
    assert rollout.problem == "infra_error: invalidated: wrong target"


def test_issue_2914_samples_that_failed_stay_in_the_count(write, log, sample):
    wrong = {"scores": {"includes": {"value": "I"}}}
    samples = [sample(1, e, **({} if e < 3 else wrong)) for e in range(1, 7)]
    samples += [sample(1, e, error={"message": "timeout"}) for e in (7, 8)]
    found = read_rollouts(write("log.json", log(*samples)))
    assert [rollout.success for rollout in found] == [True, True, False, False, False, False, None, None]
    assert summarise(found)["valid_per_task"] == {"6": 1}


@pytest.mark.parametrize(
    ("changes", "note", "success"),
    [
        ({"limit": {"type": "message", "limit": 30}}, "stopped by the message limit", True),
        ({"limit": {"type": "token", "limit": 9}, "scores": None}, "stopped by the token limit", False),
        ({"limit": {"type": "operator", "limit": 1}, "scores": None}, "stopped by a person", None),
        ({"events": [{"event": "sample_limit", "type": "time"}], "scores": {}}, "stopped by the time limit", False),
        (
            {"output": {"choices": [{"stop_reason": "max_tokens"}]}, "scores": None},
            "stopped by the model's length limit",
            False,
        ),
    ],
)
def test_a_run_cut_by_its_own_limit_is_valid_and_without_a_score_failed(read_one, changes, note, success):
    rollout = read_one(**changes)
    assert (rollout.stop, rollout.valid, rollout.success) == (StopReason.CUT, True, success)
    assert note in rollout.notes


def test_trap_34_a_sample_without_an_assistant_is_invalid_and_its_errors_are_seen(read_one):
    messages = [
        {"role": "tool", "function": "bash", "content": "", "error": {"type": "timeout", "message": "took too long"}}
    ]
    rollout = read_one(messages=messages, epoch=4)
    assert (rollout.run_id, rollout.problem) == ("log#mail/1#4", "no action of the agent")
    assert rollout.last_observations == (Observation("tool", "took too long", "bash"),)


def test_messages_given_with_the_sample_are_nobodys_actions(read_one):
    shots = [
        {"role": "user", "content": "2+2?", "source": "input"},
        {"role": "assistant", "content": "4", "source": "input"},
        {"role": "user", "content": "3+3?", "source": "input"},
        {"role": "assistant", "content": "6", "source": "generate"},
    ]
    rollout = read_one(messages=shots)
    assert [action.text for action in rollout.actions] == ["6"]
    assert rollout.turns[0].observations[1] == Observation("assistant", "4")


def test_a_tool_that_the_provider_ran_is_a_call(read_one):
    served = {
        "type": "tool_use",
        "tool_type": "web_search",
        "name": "web_search",
        "arguments": '{"q": "x"}',
        "result": "r",
    }
    messages = [{"role": "assistant", "content": [served, {"type": "text", "text": "Found."}]}]
    assert read_one(messages=messages).actions == (Action("Found.", (ToolCall("web_search", {"q": "x"}),)),)


# Texts kept elsewhere


def test_trap_35_texts_that_are_attached_are_put_in_their_places(read_one):
    messages = [
        {"role": "user", "content": "attachment://a1"},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "tc://b2"}],
            "tool_calls": [{"function": "python", "arguments": {"code": "attachment://c3"}}],
        },
        {"role": "assistant", "content": "attachment://gone"},
    ]
    rollout = read_one(messages=messages, attachments={"a1": "Long question", "b2": "Long answer", "c3": "print(1)"})
    assert rollout.turns[0] == Turn(
        (Observation("user", "Long question"),), Action("Long answer", (ToolCall("python", {"code": "print(1)"}),))
    )
    assert rollout.turns[1].action.text == "attachment://gone"
    assert "a text that the log keeps elsewhere is missing" in rollout.notes


def test_a_sample_that_lies_in_parts_is_put_together(archive, sample):
    whole = sample()
    pool = [whole["messages"][index] for index in (1, 0, 2, 3, 4)]
    pool[0] = {**pool[0], "content": "attachment://1"}
    shell = {key: value for key, value in whole.items() if key != "messages"} | {
        "message_refs": [[1, 2], [0, 1], [2, 5]]
    }
    path = archive(
        whole,
        members={
            "samples/1_epoch_1.json": None,
            "samples/1_epoch_1/sample.json": shell,
            "samples/1_epoch_1/messages/0.json": pool[:3],
            "samples/1_epoch_1/messages/3.json": pool[3:],
            "samples/1_epoch_1/events/0.json": [{"event": "model"}],
            "samples/1_epoch_1/attachments/0.json": ["other", "Who sent it?"],
            "samples/1_epoch_1/skeleton.json": {},
        },
    )
    found = read_rollouts(path)
    assert ([rollout.turns for rollout in found], found.excluded) == ([TURNS], ())


# What a log as a whole says


def test_trap_32_epochs_that_are_declared_and_not_there_are_missing_not_failed(write, log, sample):
    content = log(sample(1), sample(2))
    content["eval"]["config"]["epochs"] = 10
    found = read_rollouts(write("log.json", content))
    assert len(found) == 2
    (warning,) = found.warnings
    assert warning.endswith("declares 2 sample(s) of 10 epoch(s) and holds 2 run(s); the rest is missing, not failed")


def test_issue_3907_and_trap_36_a_sample_written_twice_counts_once_and_the_last_counts(write, log, sample):
    first = sample(1, 1, error={"message": "crash"}, uuid="u0")
    found = read_rollouts(write("log.json", log(first, sample(1, 1, error_retries=[{"message": "crash"}]))))
    assert [(rollout.run_id, rollout.success) for rollout in found] == [("log#mail/1#1", True)]
    assert found.rollouts[0].notes[-1] == "tried again after 1 error(s)"
    assert [item.reason for item in found.excluded] == ["written again later in the log"]
    assert found.warnings[0].endswith("run 'log#mail/1#1' is in the log more than once; the last counts")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_lies_in_the_archive_twice_counts_once(archive, sample):
    path = archive(sample())
    with zipfile.ZipFile(path, "a") as target:
        target.writestr("samples/1_epoch_1.json", json.dumps(sample(scores={"includes": {"value": "I"}})))
    found = read_rollouts(path)
    assert [rollout.success for rollout in found] == [False]
    assert "1 samples lie in the archive more than once; the last count" in found.warnings[0]


def test_a_log_that_is_not_finished_is_read_by_what_it_said_at_its_start(archive, sample):
    found = read_rollouts(archive(sample(), members={"header.json": None}))
    assert [(rollout.task_id, rollout.success) for rollout in found] == [("mail/1", True)]
    assert "the log is not finished; it holds the samples that had ended" in found.warnings[0]


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_a_log_that_ended_early_says_so(write, log, sample, status):
    found = read_rollouts(write("log.json", log(sample(), status=status, error={"message": "out of credit"})))
    assert f"ended with status '{status}': out of credit; what it holds is read" in found.warnings[0]


def test_a_broken_sample_of_an_archive_is_excluded_by_its_name(archive, sample):
    path = archive(sample(1), sample(2), members={"samples/2_epoch_1.json": b'{"id": 2, "messages": ['})
    found = read_rollouts(path)
    assert len(found) == 1
    ((item,),) = (found.excluded,)
    assert (item.path, item.line) == (f"{path}/samples/2_epoch_1.json", 1)
    assert item.reason.startswith("the JSON ends too early")
    assert summarise(found)["files"] == [
        {"path": str(path), "format": "inspect", "rollouts": 1, "valid": 1, "excluded": 1}
    ]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"id": None}, "/samples/0/id"),
        ({"epoch": []}, "/samples/0/epoch"),
        ({"messages": {}}, "/samples/0/messages"),
        ({"messages": [{"role": "tool", "content": 3}]}, "/samples/0/messages/0/content"),
        ({"messages": [{"role": "assistant", "content": "a", "tool_calls": {}}]}, "/samples/0/messages/0/tool_calls"),
    ],
)
def test_a_sample_with_a_wrong_type_is_excluded_with_its_pointer(write, log, sample, changes, pointer):
    found = read_rollouts(write("log.json", log(sample() | changes)))
    assert [item.pointer for item in found.excluded] == [pointer]


@pytest.mark.parametrize(
    ("content", "pointer"), [([], ""), ({"eval": 3}, "/eval"), ({"eval": {}, "samples": {"a": 1}}, "/samples")]
)
def test_a_wrong_top_level_is_an_error(write, content, pointer):
    with pytest.raises(RolloutFormatError) as caught:
        read_rollouts(write("log.json", content), format="inspect")
    assert caught.value.pointer == pointer


# Scores


@pytest.mark.parametrize(
    ("value", "accurate", "expected"),
    [
        ("C", False, (1.0, True)),
        ("I", False, (0.0, False)),
        ("P", False, (0.5, False)),
        ("N", False, (0.0, False)),
        (True, False, (1.0, True)),
        (False, False, (0.0, False)),
        ("yes", False, (1.0, True)),
        ("No", False, (0.0, False)),
        (1, True, (1.0, True)),
        (0.99, True, (0.99, False)),
        ("0.5", True, (0.5, False)),
        (1.0, False, (1.0, None)),
        (7, False, (7.0, None)),
        (None, True, (None, None)),
        (float("nan"), True, (None, None)),
        ("excellent", True, (None, None)),
        ([1, 0], True, (None, None)),
        ({"a": 1, "b": 0}, True, (None, None)),
    ],
)
def test_a_score_is_a_grade_where_its_meaning_is_known(value, accurate, expected):
    assert grade(value, accurate)[:2] == expected


def test_issue_4357_scores_with_other_keys_in_other_epochs_crash_nothing(write, log, sample):
    scores = [{"judge": {"value": {"a": 1}}}, {"judge": {"value": {"a": 1, "b": 0}}}]
    found = read_rollouts(write("log.json", log(*(sample(1, e + 1, scores=scores[e]) for e in (0, 1)))))
    assert [(rollout.reward, rollout.success) for rollout in found] == [(None, None)] * 2
    assert [rollout.meta["scores"] for rollout in found] == [{"judge": {"a": 1}}, {"judge": {"a": 1, "b": 0}}]
    assert all("reward that is not a number" in rollout.notes for rollout in found)


def test_success_is_the_first_scorers_and_a_warning_says_so_where_there_are_several(write, log, sample):
    content = log(sample(scores={"second": {"value": "C"}, "first": {"value": "I"}}), results=None)
    content["eval"]["scorers"] = [{"name": "first", "metrics": [{"name": "inspect_ai/accuracy"}]}, {"name": "second"}]
    found = read_rollouts(write("log.json", content))
    assert [rollout.success for rollout in found] == [False]
    assert found.warnings[-1].endswith("success is that of the scorer 'first', the first of 2")


def test_an_old_log_has_one_score_without_a_name(write, log, sample):
    old = {key: value for key, value in sample(score={"value": "C"}).items() if key != "scores"}
    assert [rollout.success for rollout in read_rollouts(write("log.json", log(old)))] == [True]


# Copies


def test_answers_from_inspects_cache_are_noted(write, log, sample):
    cached = sample(1, 2, events=[{"event": "model", "cache": "read"}])
    found = read_rollouts(write("log.json", log(sample(1, 1, events=[{"event": "model", "cache": "write"}]), cached)))
    assert ["an answer came from a cache" in rollout.notes for rollout in found] == [False, True]
    assert "answers that came from a cache" in found.warnings[-1]


def scored(value, **changes):
    return {"event": "score", "intermediate": True, "score": {"value": value}} | changes


MODEL = {"event": "model"}


def test_scores_on_the_way_give_progress(write, log, sample):
    events = [MODEL, scored(0.25), {"event": "tool"}, MODEL, scored(1.0, intermediate=False)]
    (rollout,) = read_rollouts(write("log.json", log(sample(events=events))))
    assert rollout.meta["progress"] == [0, 0.25, 1.0]  # the last is the sample's own score


@pytest.mark.parametrize(
    "events",
    [
        [MODEL, MODEL],  # never scored on its way
        [MODEL, scored(0.5)],  # one call of the model, two turns
        [MODEL, scored(3.0), MODEL],
        [MODEL, scored("unknown"), MODEL],
        "none",
    ],
)
def test_no_progress_is_made_up_where_the_log_does_not_tell(write, log, sample, events):
    (rollout,) = read_rollouts(write("log.json", log(sample(events=events))))
    assert "progress" not in rollout.meta
