"""`likewise grade` as a user runs it: killed in the middle, interrupted, and run again."""

import json
import os
import signal
import subprocess
import threading

import pytest

from likewise import read_rollouts
from llm_server import said, serving

VOTES = 5
RUNS = [
    {"task_id": "a", "run_id": str(n), "messages": [{"role": "assistant", "content": f"Booked seat {n}."}]}
    for n in range(4)
]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_grading_that_was_stopped_goes_on_and_asks_nothing_twice(command, command_environment, tmp_path, how):
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in RUNS))
    (tmp_path / "notes.toml").write_text('[notes]\na = ["It is booked."]\n')
    out, reached, answered = tmp_path / "graded.jsonl", threading.Event(), []

    def answer(request):
        answered.append(request.user.partition("Booked seat ")[2][:1])
        if len(answered) == 8:
            reached.set()
        return said(json.dumps({"reason": "so", "turn": 1}))

    with serving(answer) as server:
        arguments = ["grade", "runs.jsonl", "--notes", "notes.toml", "--judge", "llm:tiny", "--judge-url", server.url]
        arguments += ["--out", str(out), "--parallel", "1", "--votes", str(VOTES)]
        environment = command_environment | {"OPENAI_API_KEY": "sk-secret"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "cwd": tmp_path, "env": environment}
        with subprocess.Popen(["nice", "-n", "0", command, *arguments], **quiet) as process:
            assert reached.wait(120)
            os.kill(process.pid, how)
            process.communicate(timeout=120)
        assert process.returncode in (-signal.SIGKILL, 130)
        assert not out.exists()
        before = len(answered)
        assert 8 <= before < VOTES * len(RUNS)
        again = subprocess.run([command, *arguments], **quiet, check=False, timeout=240)
        assert again.returncode == 0, again.stderr
    # of those that were answered only the last may not have been kept: it was under way
    assert VOTES * len(RUNS) <= len(answered) <= VOTES * len(RUNS) + 1
    assert [each.meta["progress"] for each in read_rollouts(out)] == [[0, 1]] * len(RUNS)
