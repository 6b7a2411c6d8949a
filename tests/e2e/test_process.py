"""The installed command as a process: its streams, its terminal, its start, and the same bytes every time."""

import json
import os
import subprocess
import sys

import pytest

SAME = {"t": {"1": ["Hello."], "2": ["Hello."]}}
APART = {
    task: {"1": ["Hello.", "Your trip is cancelled."], "2": ["Hello.", "I have called a colleague."]} for task in "abc"
}
ESCAPES = "\x1b[31mred\x1b]0;owned\x07 [bold red]markup[/bold red] [/x]"
HEAVY = ("onnxruntime", "numpy", "jinja2", "rich", "tokenizers", "sqlite3")


def test_help_starts_without_the_heavy_parts(likewise, command_environment):
    code = f"""
import sys
from likewise.cli.main import run
sys.argv = ["likewise", *sys.argv[1:]]
try:
    run()
except SystemExit:
    pass
print("loaded:", *(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)
"""
    for arguments in (["--help"], ["report", "--help"], ["report"]):  # alone it looks at files, --version at models
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            env=command_environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr.splitlines()[-1] == "loaded:", arguments
    loads = subprocess.run(
        [sys.executable, "-c", "import rich.console\n" + code, "--help"],
        env=command_environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loads.stderr.splitlines()[-1] == "loaded: rich"  # the test can fail


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs processor time of a child")
def test_help_takes_little_processor_time(command, command_environment):
    def seconds():
        process = subprocess.Popen([command, "--help"], env=command_environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime

    assert min(seconds() for _ in range(3)) < 0.35


def test_a_closed_pipe_is_no_error(command, command_environment, runs_file, line):
    lines = [line(f"task {number}", run, ["Hello."]) for number in range(1000) for run in "12"]
    for arguments in (["inspect", str(runs_file(lines))], ["inspect", str(runs_file(lines)), "--json"], ["--help"]):
        process = subprocess.Popen(
            [command, *arguments], env=command_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        process.stdout.close()  # as `| head -0`
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() in (0, 1)


def test_a_gate_fails_though_nobody_reads_what_failed(command, command_environment, runs_file):
    arguments = ["report", str(runs_file({"t": {"1": ["Hi."], "2": ["Hi."]}})), "-q", "--fail-on", "rsd < 0.5"]
    process = subprocess.Popen(
        [command, *arguments], env=command_environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    process.stderr.close()
    assert process.wait() == 1


def test_a_task_named_in_escapes_and_markup_reaches_no_terminal_raw(likewise, runs_file):
    path = runs_file({ESCAPES: {"[/a]": ["Hi."], "\x1b[2J": ["Hi."]}}, "a\x1b[31m.jsonl")
    shown = likewise("inspect", path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\x1b" not in shown.stdout
    assert "\x07" not in shown.stdout
    path.write_text("\x1b[31m not json")
    refused = likewise("inspect", path)
    assert refused.returncode == 3
    assert "\x1b" not in refused.stderr


def test_text_that_the_encoding_lacks_ends_nothing(likewise, runs_file):
    path = runs_file({"caf\u00e9 \u65c5": {"1": ["Hi."], "2": ["Hi."]}})
    for arguments in (["inspect", path], ["inspect", path.with_name("gone \u00e9 \udce9")]):
        done = likewise(*arguments, environment={"PYTHONIOENCODING": "ascii"})
        assert done.returncode == (0 if path in arguments else 3), done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.model
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_bars_and_colours_are_for_terminals_only(likewise, command, command_environment, runs_file):
    path = runs_file({ESCAPES: {"1": ["Hello."], "2": ["Hello."]}} | APART)
    piped = likewise("report", path, environment={"TERM": "xterm-256color"})
    assert (piped.returncode, piped.stderr) == (0, "")
    assert "\x1b" not in piped.stdout
    assert max(map(len, piped.stdout.splitlines())) <= 80
    shown = on_a_terminal([command, "report", str(path)], command_environment | {"TERM": "xterm-256color"})
    assert "\x1b[" in shown  # a terminal gets bars and styles
    assert "\x1b[31m" not in shown  # but those of the log are not among them
    assert "\x1b]0;owned" not in shown
    assert "[/x]" in shown
    plain = on_a_terminal(
        [command, "report", str(path), "--quiet"], command_environment | {"TERM": "xterm-256color", "NO_COLOR": "1"}
    )
    assert plain == ""


def on_a_terminal(command, environment):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, env=environment, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not data:
            break
        shown += data
    os.close(ours)
    assert process.wait() == 0
    return shown.decode()


@pytest.mark.model
def test_the_same_runs_give_the_same_bytes_in_every_process(likewise, runs_file, tmp_path):
    path, texts = runs_file(APART), []
    for number, store in enumerate(("one", "two", "two")):
        out = tmp_path / f"{number}.json"
        done = likewise(
            "report",
            path,
            "--json",
            out,
            "-q",
            "--store",
            tmp_path / store,
            environment={"PYTHONHASHSEED": str(number)},
        )
        assert done.returncode == 0, done.stderr
        texts.append(out.read_bytes())
    fresh, other, warm = texts
    assert fresh == other
    before, after = json.loads(fresh), json.loads(warm)
    assert before.pop("judge_use")["from_model"] > 0
    assert after.pop("judge_use")["from_model"] == 0
    assert after == before
