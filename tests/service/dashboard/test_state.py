"""The short memory of the pages."""

import threading
import time

import pytest

from likewise.service.dashboard.state import Remembered


def test_a_result_is_worked_out_once_while_several_ask():
    memory, made = Remembered(), []

    def slow():
        made.append(1)
        time.sleep(0.1)
        return len(made)

    results = []
    threads = [threading.Thread(target=lambda: results.append(memory.get("key", slow))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [1] * 8


def test_other_keys_do_not_wait_for_each_other():
    memory, inside = Remembered(), threading.Barrier(2, timeout=10)
    threads = [threading.Thread(target=memory.get, args=(key, inside.wait)) for key in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not inside.broken


def test_a_failure_is_not_kept():
    memory = Remembered()

    def fails():
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        memory.get("key", fails)
    assert memory.get("key", lambda: 7) == 7


def test_results_are_kept_for_a_while_and_only_the_last_few():
    memory = Remembered(most=2, seconds=0.05)
    assert memory.get("a", lambda: 1) == 1
    assert memory.get("a", lambda: 2) == 1
    time.sleep(0.06)
    assert memory.get("a", lambda: 2) == 2
    few = Remembered(most=2)
    for key in "abca":
        few.get(key, lambda key=key: key)
    assert few.get("a", lambda: "anew") == "a"
    assert few.get("b", lambda: "anew") == "anew"
