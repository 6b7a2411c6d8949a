import gzip
import importlib.metadata
import json
import os
import types

import pytest

from likewise.core.errors import RolloutFormatError, UnknownFormatError
from likewise.core.group import group_rollouts
from likewise.core.rollout import Action, Rollout, Turn
from likewise.formats import FORMATS, Parsed, RolloutSet, available_formats, read_rollouts, registry, write_rollouts
from likewise.formats.files import outline
from likewise.formats.registry import claims, stream_rollouts

MESSAGES = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


def chat(task="t", text="Hello.", **more):
    messages = [MESSAGES[0], {"role": "assistant", "content": text}]
    return json.dumps({"task_id": task, "messages": messages} | more) + "\n"


def test_the_table_names_and_describes_every_format():
    assert next(iter(FORMATS)) == "native"
    assert all(name == each.NAME and each.DESCRIPTION for name, each in FORMATS.items())


def test_a_set_is_iterable_and_has_a_length(write):
    found = read_rollouts(str(write("a.jsonl", chat("x") + chat("y"))))
    assert isinstance(found, RolloutSet)
    assert [rollout.task_id for rollout in found] == ["x", "y"]
    assert len(found) == 2


def test_files_of_several_formats_are_read_in_one_call(write, tau_run, tau2_file, simulation, tmp_path):
    write_rollouts(tmp_path / "n.jsonl", [Rollout("n", "1", ())])
    paths = [tmp_path / "n.jsonl", write("a.json", [tau_run()]), write("b.json", tau2_file(simulation()))]
    paths.append(write("c.jsonl", chat()))
    found = read_rollouts(paths)
    assert [name for _, name in found.files] == ["native", "tau-bench", "tau2", "openai-chat"]
    assert len(found) == 4


def test_a_folder_is_read_recursively_in_sorted_order_and_other_files_are_named_in_a_warning(write, tmp_path):
    for name in ("b/2.jsonl", "a/1.jsonl", "c.jsonl"):
        write(name, chat(name))
    for name in ("NOTICE", "a/notes.txt"):
        write(name, "text")
    found = read_rollouts(tmp_path)
    assert [rollout.task_id for rollout in found] == ["a/1.jsonl", "b/2.jsonl", "c.jsonl"]
    (warning,) = found.warnings
    assert warning.startswith(f"{tmp_path}: 2 files skipped, none of ")
    assert warning.endswith(": NOTICE, a/notes.txt")


def test_a_named_file_may_have_any_suffix(write):
    assert len(read_rollouts(write("runs.log", chat()))) == 1


def test_a_path_given_twice_and_a_link_to_it_are_read_once(write, tmp_path):
    path = write("d/a.jsonl", chat())
    (tmp_path / "d" / "link.jsonl").symlink_to(path)
    found = read_rollouts([path, tmp_path / "d" / ".." / "d" / "a.jsonl", tmp_path / "d"])
    assert len(found) == 1
    assert found.files == ((str(path), "openai-chat"),)


def test_two_files_of_one_stem_are_told_apart_by_their_folders(write, tmp_path):
    for name in ("x/1/log.jsonl", "y/1/log.jsonl", "y/2/log.jsonl", "other.jsonl"):
        write(name, chat(model=name))  # else they would be copies
    found = read_rollouts(tmp_path)
    assert [rollout.run_id for rollout in found] == ["other#t#0", "x/1/log#t#0", "y/1/log#t#0", "2/log#t#0"]


def test_two_files_that_differ_in_their_suffix_keep_it(write, tmp_path):
    write("log.jsonl", chat())
    write("log.json", "[" + chat() + "]")
    assert [rollout.run_id for rollout in read_rollouts(tmp_path)] == ["log.json#t#0", "log.jsonl#t#0"]


def test_issue_3907_the_same_record_twice_is_kept_once_and_the_other_is_excluded(write):
    path = write("a.jsonl", chat(run_id="r") + chat(run_id="s") + chat(run_id="r"))
    found = read_rollouts(path)
    assert [rollout.run_id for rollout in found] == ["r", "s"]
    assert [(item.task_id, item.run_id, item.reason) for item in found.excluded] == [
        ("t", "r", f"duplicate of run 'r' in {path}")
    ]
    assert len(found.warnings) == 1
    with pytest.raises(RolloutFormatError, match="duplicate of run 'r'"):
        read_rollouts(path, strict=True)


def test_two_traces_written_for_the_same_item_stay_two_runs(write):
    first = write("a.jsonl", chat(run_id="r") + chat(run_id="r~2", text="Third."))
    second = write("b.jsonl", chat(run_id="r", text="Second.") + chat(run_id="r", text="Fourth."))
    found = read_rollouts([first, second])
    assert [(rollout.run_id, rollout.answer) for rollout in found] == [
        ("r", "Hello."),
        ("r~2", "Third."),
        ("r~3", "Second."),
        ("r~4", "Fourth."),
    ]
    assert found.excluded == ()
    assert [warning.split(": ", 1)[0] for warning in found.warnings] == [str(second), str(second)]
    assert "another run 'r' of task 't', with other content, is kept as 'r~3'" in found.warnings[0]
    assert len(group_rollouts(found)[0].rollouts) == 4


def test_a_run_id_may_return_in_another_task(write):
    found = read_rollouts(write("a.jsonl", chat("x", run_id="r") + chat("y", run_id="r")))
    assert (len(found), found.warnings) == (2, ())


def test_an_unknown_file_lists_why_each_format_declined(write):
    with pytest.raises(UnknownFormatError) as caught:
        read_rollouts(write("a.json", {"colour": "red"}))
    assert list(caught.value.declined) == list(FORMATS)
    assert (
        caught.value.declined.items()
        >= {
            "native": 'no "schema": "likewise.rollout/1" in the first line',
            "tau-bench": "the top level is not a list of runs",
            "tau2": "no `simulations` and no `info` of tau2",
            "openai-chat": "the first run has no `messages`",
        }.items()
    )
    assert claims(caught.value.path) == caught.value.declined
    assert f"{len(FORMATS)} tried; `likewise formats {caught.value.path}` says why none fits" in str(caught.value)


def test_the_claims_on_a_file_hold_none_for_the_format_that_reads_it(write):
    said = claims(write("a.jsonl", chat()))
    assert said["openai-chat"] is None
    assert said["tau2"] == "no `simulations` and no `info` of tau2"


def test_an_unknown_file_in_a_folder_is_excluded_and_an_error_if_strict(write, tmp_path):
    write("a.jsonl", chat())
    other = write("summary.json", {"mean": 1})
    found = read_rollouts(tmp_path)
    assert len(found) == 1
    assert [(item.path, item.reason[:36]) for item in found.excluded] == [
        (str(other), "not a rollout file of a known format")
    ]
    with pytest.raises(RolloutFormatError, match=r"summary\.json"):
        read_rollouts(tmp_path, strict=True)
    for paths in ([tmp_path, other], [other, tmp_path]):
        with pytest.raises(UnknownFormatError):
            read_rollouts(paths)


def test_a_format_that_does_not_exist_is_named_with_those_that_do(write):
    with pytest.raises(UnknownFormatError, match=f"tau3: no such format; there are {', '.join(FORMATS)}"):
        read_rollouts(write("a.jsonl", chat()), format="tau3")


def test_a_forced_format_reads_what_sniffing_would_give_to_another(write, tau2_file, simulation):
    path = write("a.json", json.dumps(tau2_file(simulation()), indent=1))
    found = read_rollouts(path, format="openai-chat")
    assert (len(found), [item.pointer for item in found.excluded]) == (0, ["/task_id"])


def test_progress_counts_the_files(write, tmp_path):
    steps = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            steps.append("end")

        def advance(self, n=1):
            steps.append(n)

    def show(what, total):
        steps.append((what, total))
        return Bar()

    for name in ("a.jsonl", "b.jsonl"):
        write(name, chat(model=name))
    read_rollouts(tmp_path, progress=show)
    assert steps == [("reading", 2), 1, 1, "end"]


def plugin(name="lines"):
    return types.SimpleNamespace(
        NAME=name,
        DESCRIPTION="plain lines",
        sniff=lambda head, path: None if head.startswith("#lines") else "no #lines",
        read=lambda path, label: Parsed((Rollout("t", f"{label}#t#0", (Turn((), Action("x")),), path=str(path)),)),
    )


class Entry:
    def __init__(self, name, load):
        self.name, self.load, self.value = name, load, f"{name}.module"


def test_formats_of_other_packages_come_from_the_entry_point_group(write, monkeypatch):
    def broken():
        raise ImportError("no module")

    entries = [Entry("lines", plugin), Entry("taken", lambda: plugin("tau2")), Entry("broken", broken)]
    entries[0].load = lambda: plugin()
    groups = []
    monkeypatch.setattr(registry, "entry_points", lambda group: groups.append(group) or entries)
    assert list(available_formats()) == [*FORMATS, "lines"]
    found = read_rollouts(write("a.txt", "#lines\nx"))
    assert [rollout.run_id for rollout in found] == ["a#t#0"]
    assert found.warnings == (
        "the format 'broken' does not load: no module",
        "the format 'tau2' of taken.module is ignored: the name is taken",
    )
    assert set(groups) == {"likewise.formats"}
    assert registry.FORMATS is FORMATS
    assert "lines" not in FORMATS


def test_the_entry_points_are_those_of_the_standard_library():
    assert registry.entry_points is importlib.metadata.entry_points


def test_a_link_in_a_folder_that_leads_nowhere_is_excluded_with_a_warning(write, tmp_path):
    write("a.jsonl", chat())
    os.symlink(tmp_path / "gone", tmp_path / "b.jsonl")
    found = read_rollouts(tmp_path)
    reason = f"no such file: a link that leads to {tmp_path / 'gone'}, which is not there"
    assert [item.reason for item in found.excluded] == [reason]
    assert "which is not there; the file is excluded" in found.warnings[0]
    with pytest.raises(RolloutFormatError, match=r"b\.jsonl: no such file"):
        read_rollouts(tmp_path, strict=True)


def test_a_cut_file_in_a_folder_does_not_stop_the_others_and_is_an_error_where_named(write, tmp_path, tau_run):
    write("a.jsonl", chat())
    cut = write("b.json", json.dumps([tau_run()])[:-9])
    found = read_rollouts(tmp_path)
    assert len(found) == 1
    assert [(item.path, item.line) for item in found.excluded] == [(str(cut), 1)]
    assert len(found.warnings) == 1
    for paths, strict in ((cut, False), (tmp_path, True)):
        with pytest.raises(RolloutFormatError, match="the JSON ends too early"):
            read_rollouts(paths, strict=strict)


def test_a_copy_of_a_file_is_read_once_and_refused_if_strict(write):
    paths = [write("a.jsonl", chat()), write("b.jsonl", chat())]
    found = read_rollouts(paths)
    assert len(found) == 1
    reason = f"the same bytes as {paths[0]}, read before"
    assert [(item.path, item.reason) for item in found.excluded] == [(str(paths[1]), reason)]
    assert found.warnings == (f"{paths[1]}: {reason}; counted once",)
    with pytest.raises(RolloutFormatError, match="the same bytes"):
        read_rollouts(paths, strict=True)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_refused_by_that_name(write, encoding):
    with pytest.raises(RolloutFormatError, match=r"not UTF-8 .it looks like UTF-16; save it as UTF-8"):
        read_rollouts(write("a.jsonl", chat().encode(encoding)))


def test_an_empty_list_is_said_to_hold_no_runs(write):
    path = write("a.json", "[ ]")
    with pytest.raises(UnknownFormatError) as caught:
        read_rollouts(path)
    assert caught.value.declined["tau-bench"] == "the list is empty: no runs"


def test_json_lines_read_as_tau2_are_said_to_look_like_json_lines(write):
    with pytest.raises(RolloutFormatError, match="several JSON values, one a line: this looks like JSONL"):
        read_rollouts(write("a.jsonl", chat() + chat()), format="tau2")


def test_a_string_that_is_cut_off_is_said_in_a_sentence(write):
    with pytest.raises(RolloutFormatError, match="the JSON ends too early, in a string that starts at column 18"):
        read_rollouts(write("a.json", '{"simulations": ["abc'), format="tau2")


# Streams


def test_a_stream_gives_the_rollouts_of_one_file_at_a_time_and_the_rest_when_it_ends(write, tmp_path):
    for name in ("a", "b"):
        write(f"{name}.jsonl", chat(name) + chat(name, text="Bye.") + "broken\n")
    stream = stream_rollouts(tmp_path)
    assert (stream.files, stream.excluded) == ([], [])
    assert next(iter(stream)).task_id == "a"
    assert [path.rsplit("/")[-1] for path, _ in stream.files] == ["a.jsonl"]
    assert [rollout.task_id for rollout in stream] == ["a", "b", "b"]
    assert [item.line for item in stream.excluded] == [3, 3]
    whole = read_rollouts(tmp_path)
    assert (tuple(stream.files), tuple(stream.excluded), tuple(stream.warnings)) == (
        whole.files,
        whole.excluded,
        whole.warnings,
    )


def test_a_stream_that_is_left_closes_its_progress_bar(write, tmp_path):
    ended = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            ended.append(True)

        def advance(self, n=1):
            pass

    write("a.jsonl", chat() * 3)
    stream = stream_rollouts(tmp_path, progress=lambda what, total: Bar())
    next(iter(stream))
    assert ended == []
    stream.close()
    assert ended == [True]


def test_a_stream_refuses_at_once_what_no_file_makes_right(write):
    with pytest.raises(UnknownFormatError):
        stream_rollouts(write("a.jsonl", chat()), format="nope")
    with pytest.raises(RolloutFormatError, match="nothing to read"):
        stream_rollouts([])


def test_one_head_is_looked_at_once_by_all_formats(write):
    path = write("a.jsonl", chat())
    outline.cache_clear()
    claims(path)
    assert outline.cache_info().misses == 1


# Formats of other packages that misbehave


@pytest.mark.parametrize(("sniff", "read"), [("breaks", "works"), ("works", "breaks")])
def test_a_format_of_another_package_that_fails_is_named_and_stops_nothing_else(write, monkeypatch, sniff, read):
    def breaks(*_):
        raise IndexError("list index out of range")

    lines = plugin()
    lines.sniff = breaks if sniff == "breaks" else lines.sniff
    lines.read = breaks if read == "breaks" else lines.read
    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry("lines", lambda: lines)])
    folder = write("d/a.jsonl", chat()).parent
    write("d/b.json", "#lines\nx")
    found = read_rollouts(folder)
    assert len(found) == 1
    (item,) = found.excluded
    if read == "breaks":
        assert item.reason == "the format 'lines', of another package, failed: IndexError: list index out of range"
    else:
        assert item.reason.startswith("not a rollout file of a known format")
        assert claims(folder / "b.json")["lines"].startswith("of another package, failed: IndexError")


def test_the_suffixes_that_a_format_names_are_looked_for_in_folders(write, monkeypatch):
    lines = plugin()
    lines.SUFFIXES = {".lines"}
    folder = write("d/a.lines", "#lines\nx").parent
    with pytest.raises(RolloutFormatError, match="no rollout file in this folder"):
        read_rollouts(folder)
    monkeypatch.setattr(registry, "entry_points", lambda group: [Entry("lines", lambda: lines)])
    assert [rollout.run_id for rollout in read_rollouts(folder)] == ["a#t#0"]


def test_a_compressed_file_is_read_as_what_is_in_it(write, tau_run):
    packed = gzip.compress(json.dumps([tau_run(), tau_run(1)]).encode())
    found = read_rollouts(write("d/runs.json.gz", packed).parent)
    assert [rollout.run_id for rollout in found] == ["runs#0#0", "runs#1#0"]
