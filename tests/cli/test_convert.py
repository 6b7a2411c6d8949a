"""`likewise convert`: any runs in, JSON Lines of ours out, that read back as they were."""

import gzip
import json
import os
import stat

import pytest

from formats.seeds import SEEDS
from likewise.formats import read_rollouts

MESSAGES = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]


@pytest.fixture
def chats(tmp_path):
    """A folder of chat logs: two good runs, one that crashed, one broken line, one file of no format."""
    folder = tmp_path / "runs"
    folder.mkdir()
    lines = [{"task_id": task, "messages": MESSAGES, "model": "m", "reward": 1} for task in "ab"]
    lines.append({"task_id": "c", "messages": MESSAGES, "error": "timeout"})
    (folder / "x.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n")
    (folder / "other.json").write_text('{"colour": "red"}')
    return folder


def same(rollouts, others):
    """Equal but for the file they were read from."""
    return [repr(each).replace(each.path, "") for each in rollouts] == [
        repr(each).replace(each.path, "") for each in others
    ]


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_what_is_written_reads_back_as_it_was_invalid_runs_included(invoke, chats, tmp_path, name):
    out = tmp_path / name
    result = invoke("convert", chats, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    assert f"wrote 3 run(s) of 3 task(s) to {out}; 2 record(s) left out" in " ".join(result.stderr.split())
    found = read_rollouts(out)
    assert [name for _, name in found.files] == ["native"]
    assert same(found, read_rollouts(chats))
    assert [rollout.valid for rollout in found] == [True, True, False]
    assert (out.read_bytes()[:2] == b"\x1f\x8b") is name.endswith(".gz")


def test_the_same_runs_are_the_same_bytes_and_a_second_conversion_changes_nothing(invoke, chats, tmp_path):
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        invoke("convert", chats, "-o", tmp_path / name, "--quiet")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    invoke("convert", tmp_path / "a.jsonl.gz", "-o", tmp_path / "c.jsonl")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "c.jsonl").read_bytes()


def test_json_says_what_inspect_says_and_where_it_was_written(invoke, chats, tmp_path):
    out = tmp_path / "out.jsonl"
    found = json.loads(invoke("convert", chats, "-o", out, "--json").stdout)
    assert found.pop("out") == str(out)
    assert found == json.loads(invoke("inspect", chats, "--json").stdout)


def test_a_dash_is_standard_output(invoke, chats):
    result = invoke("convert", chats, "--out", "-")
    assert [json.loads(line)["task_id"] for line in result.stdout.splitlines()] == ["a", "b", "c"]
    assert "to standard output" in result.stderr
    refused = invoke("convert", chats, "--out", "-", "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")


@pytest.mark.skipif(os.name != "posix", reason="devices")
def test_a_device_is_written_to_and_not_replaced(invoke, chats):
    assert invoke("convert", chats, "-o", "/dev/null").exit_code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_without_a_single_run_nothing_is_written(invoke, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"task_id": 3.5, "messages": []}\n')
    result = invoke("convert", tmp_path / "a.jsonl", "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 3
    assert "nothing to write: no run could be read; `likewise inspect` says why" in result.stderr
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


def test_an_error_on_the_way_leaves_the_old_file_and_nothing_else(invoke, chats, tmp_path):
    out = tmp_path / "out.jsonl"
    out.write_text("old\n")
    assert invoke("convert", chats, "-o", out, "--strict").exit_code == 3
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "runs"]


def test_the_file_to_be_read_is_not_written_over(invoke, chats):
    path = chats / "x.jsonl"
    before = path.read_bytes()
    result = invoke("convert", path, "-o", path)
    assert (result.exit_code, path.read_bytes()) == (2, before)
    assert "would be overwritten" in " ".join(result.output.split())


def test_a_file_of_runs_is_written_over_by_force_only_and_never_one_that_is_read(invoke, chats, tmp_path):
    out = tmp_path / "out.jsonl"
    assert invoke("convert", chats, "-o", out).exit_code == 0
    refused = invoke("convert", chats, "-o", out)
    assert refused.exit_code == 2
    assert "holds recorded runs" in " ".join(refused.output.split())
    assert invoke("convert", chats, "-o", out, "--force").exit_code == 0
    for target in (chats / "x.jsonl", out):
        before = target.read_bytes()
        result = invoke("convert", chats, out, "-o", target, "--force")
        assert (result.exit_code, target.read_bytes()) == (2, before)
        assert "is among what is to be read" in " ".join(result.output.split())


def test_the_option_for_the_file_is_asked_for(invoke, chats):
    result = invoke("convert", chats)
    assert result.exit_code == 2
    assert "--out" in result.output


def test_a_mapping_makes_any_json_native(invoke, tmp_path):
    (tmp_path / "odd.jsonl").write_text(json.dumps({"q": "t1", "said": "Hello."}) + "\n")
    (tmp_path / "map.toml").write_text('task = "q"\nanswer = "said"\n')
    result = invoke("convert", tmp_path / "odd.jsonl", "--map", tmp_path / "map.toml", "-o", tmp_path / "o.jsonl")
    assert result.exit_code == 0, result.stderr
    assert [rollout.answer for rollout in read_rollouts(tmp_path / "o.jsonl")] == ["Hello."]


FILES = [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
COUNTS = ("tasks", "rollouts", "valid", "turns", "tool_calls", "valid_per_task")


@pytest.mark.parametrize(("name", "seed"), FILES, ids=[f"{name}:{seed.name}" for name, seed in FILES])
def test_of_every_format_inspect_counts_the_same_before_and_after(invoke, tmp_path, name, seed):
    runs, out = tmp_path / "runs" / seed.name, tmp_path / "native.jsonl.gz"
    runs.parent.mkdir()
    runs.write_bytes(seed.data)
    if name == "toolsandbox":  # its summary is nothing without the conversations beside it
        (place := runs.parent / "trajectories" / "weather").mkdir(parents=True)
        (place / "conversation.json").write_text(json.dumps(MESSAGES))
    assert invoke("convert", runs, "-o", out).exit_code == 0
    before, after = (json.loads(invoke("inspect", path, "--json").stdout) for path in (runs, out))
    assert [each["format"] for each in before["files"]] == [name]
    assert [each["format"] for each in after["files"]] == ["native"]
    assert {key: before[key] for key in COUNTS} == {key: after[key] for key in COUNTS}
    assert same(read_rollouts(runs), read_rollouts(out))
