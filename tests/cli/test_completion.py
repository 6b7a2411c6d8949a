"""Shells complete commands, options and names; bash itself is asked where there is one."""

import shutil
import subprocess

import pytest

SHELLS = ("bash", "zsh", "fish", "powershell")


def completions(likewise, words):
    """What bash is offered for the last of some words."""
    environment = {
        "_LIKEWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = likewise(environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_commands_are_completed(likewise):
    assert completions(likewise, ["likewise", "conv"]) == ["convert"]


def test_options_are_completed(likewise):
    assert completions(likewise, ["likewise", "report", "--judg"]) == ["--judge", "--judge-url"]


def test_names_of_formats_are_completed(likewise):
    assert completions(likewise, ["likewise", "report", "--format", "tau"]) == ["tau-bench", "tau2"]


def test_words_of_which_there_are_few_are_completed(likewise):
    assert completions(likewise, ["likewise", "report", "--length-policy", "t"]) == ["truncate"]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_asks_the_command(likewise, shell):
    done = likewise("--show-completion", shell)
    assert done.returncode == 0, done.stderr
    assert "_LIKEWISE_COMPLETE" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_after_its_script_was_read(likewise, command, command_environment, tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(likewise("--show-completion", "bash").stdout)
    asked = f"""
source {script}
COMP_WORDS=({command} insp)
COMP_CWORD=1
_likewise_completion {command}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "-c", asked], env=command_environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["inspect"]
