"""What becomes of an interrupt, in a process of its own: raised by the process itself, at the moment that is meant."""

import signal
import subprocess
import sys

import pytest

START = """
import signal, weakref
import numpy as np
from likewise.cli.interrupts import heed, listen, work


class Thing:
    pass


class Names(type):
    "As the class of an enum before Python 3.12: it looks for what it has not in Python."

    def __getattr__(cls, name):
        signal.raise_signal(signal.SIGINT)
        raise AttributeError(name)


class Member(int, metaclass=Names):
    pass


def in_a_callback():
    "Nobody is there to catch what the callback of a dying object raises."
    dying = Thing()
    reference = weakref.ref(dying, lambda _: signal.raise_signal(signal.SIGINT))
    del dying


def in_numpy():
    assert not (np.zeros(1) == Member(1)).any()


def go(function):
    try:
        function()
    except KeyboardInterrupt:
        print("raised")
"""


def run(code, **options):
    return subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=False, timeout=60, **options
    )


def test_before_the_work_the_process_ends_at_once():
    done = run("listen(); signal.raise_signal(signal.SIGINT); print('went on')")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "likewise: interrupted\n")


def test_at_work_it_is_an_exception():
    done = run("""
listen()
try:
    with work():
        signal.raise_signal(signal.SIGINT)
        print("went on")
except KeyboardInterrupt:
    print("unwound")
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "unwound\n", "")


@pytest.mark.parametrize("where", ["in_a_callback", "in_numpy"])
def test_python_alone_drops_it(where):
    """Why the module exists; when this fails, it may go."""
    assert "raised" not in run(f"go({where})").stdout


@pytest.mark.parametrize("where", ["in_a_callback", "in_numpy"])
@pytest.mark.parametrize("then", ["heed()", "raise OSError('closed, since all was being given up')", "pass"])
def test_one_that_was_dropped_ends_the_work_at_its_next_step_or_its_end(where, then):
    done = run(f"""
listen()
try:
    with work():
        {where}()
        print("went on")
        {then}
except KeyboardInterrupt:
    print("unwound")
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\nunwound\n", "")


def test_other_errors_in_a_callback_are_still_told():
    done = run("""
listen()
dying = Thing()
reference = weakref.ref(dying, lambda _: 1 / 0)
del dying
""")
    assert "ZeroDivisionError" in done.stderr


def test_after_the_work_a_second_key_press_does_nothing_and_a_third_ends_what_hangs():
    done = run("""
listen()
with work():
    pass
signal.raise_signal(signal.SIGINT)
print("went on", flush=True)
signal.raise_signal(signal.SIGINT)
print("hung")
""")
    assert (done.returncode, done.stdout, done.stderr) == (130, "went on\n", "")


def test_a_process_that_was_started_deaf_to_it_stays_so():
    done = run(
        "listen(); signal.raise_signal(signal.SIGINT); print('went on')",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")
