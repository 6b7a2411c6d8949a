import signal
import threading

import pytest

from likewise.core.interrupts import held


def test_an_interrupt_waits_for_the_end_of_the_block():
    steps = []

    def interrupted():
        with held():
            signal.raise_signal(signal.SIGINT)
            steps.append("within")
        steps.append("after")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert steps == ["within"]


def test_without_an_interrupt_nothing_is_raised_and_the_handler_is_as_before():
    before = signal.getsignal(signal.SIGINT)
    with held():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_several_interrupts_are_one():
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert seen == []
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_is_not_forgotten_where_the_block_fails():
    def fails():
        with held():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("in the block")

    with pytest.raises(KeyboardInterrupt) as raised:
        fails()
    assert isinstance(raised.value.__context__, ValueError)


def test_blocks_may_be_nested():
    steps = []

    def nested():
        with held():
            with held():
                signal.raise_signal(signal.SIGINT)
            steps.append("after the inner one")
        steps.append("after the outer one")

    with pytest.raises(KeyboardInterrupt):
        nested()
    assert steps == ["after the inner one"]


@pytest.mark.parametrize("way", [signal.SIG_IGN, signal.SIG_DFL])
def test_an_interrupt_that_is_ignored_or_kills_still_does(way):
    before = signal.signal(signal.SIGINT, way)
    try:
        with held():
            assert signal.getsignal(signal.SIGINT) is way
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_signal_alone():
    handlers = []

    def look():
        with held():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
