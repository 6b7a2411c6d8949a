from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.backends.label_store import SCHEMA_VERSION, LabelStore, default_path
from likewise.core.errors import BackendError
from likewise.core.labels import Judgement, Relation

ONE_WAY = Judgement(Relation.NEUTRAL, (0.7, 0.2, 0.1), (0.125, 0.75, 0.125), "nli")
SAME = Judgement.certain(Relation.EQUIVALENT, "identical")
CLASH = Judgement.certain(Relation.CONTRADICTORY, "slots:value")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "folder" / "labels.sqlite"


def test_a_judgement_comes_back_as_it_was_stored_after_reopening(path):
    with LabelStore(path) as store:
        store.put_many("judge", [(("b", "a"), ONE_WAY), (("x", "y"), CLASH)])
    with LabelStore(path) as store:
        assert store.get_many("judge", [("b", "a"), ("x", "y"), ("never", "seen")]) == {
            ("b", "a"): ONE_WAY,
            ("x", "y"): CLASH,
        }


def test_a_pair_asked_the_other_way_round_comes_back_flipped():
    with LabelStore(None) as store:
        store.put_many("judge", [(("b", "a"), ONE_WAY)])
        found = store.get_many("judge", [("a", "b"), ("b", "a")])
    assert found[("a", "b")].forward == (0.125, 0.75, 0.125)
    assert found[("a", "b")].backward == (0.7, 0.2, 0.1)
    assert found[("b", "a")] == ONE_WAY


def test_both_orders_of_a_pair_are_one_row_and_the_first_answer_stays():
    with LabelStore(None) as store:
        store.put_many("judge", [(("a", "b"), ONE_WAY), (("b", "a"), SAME)])
        store.put_many("judge", [(("a", "b"), CLASH)])
        assert len(store) == 1
        assert store.get_many("judge", [("a", "b")]) == {("a", "b"): ONE_WAY}


def test_judges_do_not_see_each_others_answers():
    with LabelStore(None) as store:
        store.put_many("one", [(("a", "b"), SAME)])
        assert store.get_many("two", [("a", "b")]) == {}


def test_texts_that_join_to_the_same_string_are_different_pairs():
    with LabelStore(None) as store:
        store.put_many("j", [(("ab", "c"), SAME), (("a", "bc"), CLASH)])
        store.put_many("ja", [(("b", "c"), ONE_WAY)])
        assert len(store) == 3
        assert store.get_many("j", [("ab", "c"), ("a", "bc")]) == {("ab", "c"): SAME, ("a", "bc"): CLASH}


# Answers in the judge's own words


SAID = Judgement(Relation.NEUTRAL, (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), "llm", ("first reading", "second reading"))


def test_the_words_of_a_judgement_are_kept_beside_it(path):
    with LabelStore(path) as store:
        store.put_many("judge", [(("b", "a"), SAID), (("x", "y"), ONE_WAY)])
    with LabelStore(path) as store:
        kept = store.answers("judge", ("a", "b"))  # either order of the pair
        assert [(one.answer, one.problem) for one in kept] == [("first reading", ""), ("second reading", "")]
        assert abs(kept[0].created - time.time()) < 300
        assert store.answers("judge", ("x", "y")) == store.answers("other", ("a", "b")) == []
        assert store.get_many("judge", [("b", "a")]) == {("b", "a"): SAID}


def test_answers_that_settle_nothing_are_kept_and_not_taken_for_judgements():
    with LabelStore(None) as store:
        store.put_answers("judge", ("b", "a"), ["Hm.", "half \ud83d"], "states no relation")
        store.put_answers("judge", ("b", "a"), [])
        assert store.get_many("judge", [("a", "b")]) == {}
        assert len(store) == 0
        kept = store.answers("judge", ("b", "a"))
    assert [(one.answer, one.problem) for one in kept] == [
        ("Hm.", "states no relation"),
        ("half ?", "states no relation"),
    ]


def test_every_reading_is_kept_although_the_first_judgement_stays():
    with LabelStore(None) as store:
        for _ in range(2):
            store.put_many("judge", [(("a", "b"), SAID)])
        assert len(store) == 1
        assert len(store.answers("judge", ("a", "b"))) == 4


FIRST_LAYOUT = """
CREATE TABLE judgements (
    key BLOB PRIMARY KEY,
    relation INTEGER NOT NULL CHECK (relation BETWEEN 0 AND 2),
    f0 REAL NOT NULL, f1 REAL NOT NULL, f2 REAL NOT NULL,
    b0 REAL NOT NULL, b1 REAL NOT NULL, b2 REAL NOT NULL,
    rule TEXT NOT NULL,
    created REAL NOT NULL
) WITHOUT ROWID
"""


@pytest.fixture
def old_file(tmp_path):
    """A file of version 1 with the judgement SAME of ("a", "b") by "judge", made without this version's code."""
    path = tmp_path / "old.sqlite"
    parts = [part.encode() for part in ("judge", "a", "b")]
    key = hashlib.blake2b(b"".join(len(p).to_bytes(8, "big") + p for p in parts), digest_size=24).digest()
    with sqlite3.connect(path) as connection:
        connection.execute(FIRST_LAYOUT)
        connection.execute("PRAGMA user_version = 1")
        connection.execute(
            "INSERT INTO judgements VALUES (?, 0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 'identical', 1.0)", (key,)
        )
    connection.close()
    return path


def test_a_file_of_version_1_keeps_its_judgements_and_gets_a_place_for_answers(old_file):
    with LabelStore(old_file) as store:
        assert store.get_many("judge", [("a", "b")]) == {("a", "b"): SAME}
        store.put_many("judge", [(("c", "d"), SAID)])
        assert len(store.answers("judge", ("c", "d"))) == 2
    with LabelStore(old_file) as store:
        assert len(store) == 2
        assert len(store.answers("judge", ("c", "d"))) == 2
    connection = sqlite3.connect(old_file)
    assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION == 2
    connection.close()


OPENER = """
import sys
from pathlib import Path
from likewise.backends.label_store import LabelStore
LabelStore(Path(sys.argv[1])).close()
"""


def test_processes_that_bring_a_file_up_to_date_at_once_do_not_disturb_each_other(old_file):
    workers = [subprocess.Popen([sys.executable, "-c", OPENER, str(old_file)]) for _ in range(4)]
    assert [worker.wait(120) for worker in workers] == [0] * 4
    with LabelStore(old_file) as store:
        assert len(store) == 1


def test_a_file_that_only_claims_to_be_a_store_is_refused(tmp_path):
    path = tmp_path / "x.sqlite"
    for version in (1, 2):
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE IF NOT EXISTS other (x)")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
        with pytest.raises(BackendError, match="not a label store"):
            LabelStore(path)


text = st.text(st.characters(codec=None), max_size=8)  # lone surrogates too
probability = st.floats(0, 1)
triple = st.tuples(probability, probability, probability)
judgements = st.builds(Judgement, st.sampled_from(Relation), triple, triple, st.sampled_from(["nli", "tool:é"]))


@given(text, text, judgements)
def test_every_judgement_survives_bit_by_bit(a, b, judgement):
    with LabelStore(None) as store:
        store.put_many("j", [((a, b), judgement)])
        assert store.get_many("j", [(a, b)]) == {(a, b): judgement}
        if a != b:
            assert store.get_many("j", [(b, a)]) == {(b, a): judgement.flipped}


def test_the_texts_never_reach_the_disk(path):
    secret = "sk-verysecret-4711"
    with LabelStore(path) as store:
        store.put_many("judge", [((secret, "my card is 5555-1111"), SAME)])
        written = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert len(written) > 0
    assert secret.encode() not in written
    assert b"5555-1111" not in written


def test_a_failure_is_refused_and_nothing_of_its_batch_is_kept():
    with LabelStore(None) as store:
        with pytest.raises(TypeError, match="never failures; got NoneType"):
            store.put_many("j", [(("a", "b"), SAME), (("c", "d"), None)])
        with pytest.raises(TypeError, match="got BackendError"):
            store.put_many("j", [(("a", "b"), BackendError("down"))])
        with pytest.raises(ValueError, match="finite"):
            store.put_many("j", [(("a", "b"), Judgement(Relation.NEUTRAL, (math.nan, 0, 0), (0, 1, 0), "nli"))])
        assert len(store) == 0


def test_an_iterator_that_breaks_stores_nothing():
    def answers():
        yield ("a", "b"), SAME
        raise RuntimeError("judge died")

    with LabelStore(None) as store:
        with pytest.raises(RuntimeError, match="judge died"):
            store.put_many("j", answers())
        assert len(store) == 0


def test_nothing_to_store_and_nothing_to_look_up_are_fine():
    with LabelStore(None) as store:
        store.put_many("j", [])
        assert store.get_many("j", []) == {}


def test_a_newer_file_is_refused_by_both_versions(path):
    LabelStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(BackendError, match=rf"version 7, this likewise reads version {SCHEMA_VERSION}"):
        LabelStore(path)


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE customers (name TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(BackendError, match="not a label store"):
        LabelStore(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "labels.sqlite"
    path.write_bytes(b"hello, this is text\n" * 100)
    with pytest.raises(BackendError, match=re.escape(str(path)) + r".*move or delete the file"):
        LabelStore(path)


def test_a_file_damaged_in_the_middle_is_named_with_what_to_do(path):
    with LabelStore(path) as store:
        store.put_many("j", [((str(i), "x"), SAME) for i in range(2000)])
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    with LabelStore(path) as store, pytest.raises(BackendError, match="damaged"):
        store.get_many("j", [(str(i), "x") for i in range(2000)])


def test_a_folder_that_cannot_be_made_is_a_backend_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BackendError, match="LIKEWISE_LABEL_STORE"):
        LabelStore(tmp_path / "file" / "labels.sqlite")


def test_a_path_that_is_a_folder_is_a_backend_error(tmp_path):
    with pytest.raises(BackendError, match="cannot be used"):
        LabelStore(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_file_is_a_backend_error(path):
    LabelStore(path).close()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(BackendError, match="writable"), LabelStore(path) as store:
            store.put_many("j", [(("a", "b"), SAME)])
    finally:
        path.parent.chmod(0o755)


def test_a_write_that_sqlite_refuses_as_read_only_is_a_backend_error():
    with LabelStore(None) as store:
        store._connection.execute("PRAGMA query_only = ON")
        with pytest.raises(BackendError, match=r"readonly database.*writable"):
            store.put_many("j", [(("a", "b"), SAME)])


def test_a_full_disk_is_a_backend_error_and_keeps_what_was_there(path):
    with LabelStore(path) as store:
        store.put_many("j", [(("a", "b"), SAME)])
        store._connection.execute("PRAGMA max_page_count = 3")  # SQLite then answers as on a full disk
        with pytest.raises(BackendError, match="full"):
            store.put_many("j", [((str(i), "x"), SAME) for i in range(5000)])
        assert len(store) == 1
        assert store.get_many("j", [("a", "b")]) == {("a", "b"): SAME}


def test_a_closed_store_says_so_as_a_backend_error(path):
    store = LabelStore(path)
    store.close()
    store.close()
    with pytest.raises(BackendError):
        store.get_many("j", [("a", "b")])


SLICE_WRITER = """
import sys
from pathlib import Path
from likewise.backends.label_store import LabelStore
from likewise.core.labels import Judgement, Relation
same = Judgement.certain(Relation.EQUIVALENT, "identical")
start = int(sys.argv[2])
with LabelStore(Path(sys.argv[1])) as store:
    for i in range(start, start + 400, 10):
        store.put_many("j", [((str(k), "x"), same) for k in range(i, i + 10)])
"""


def test_processes_that_write_at_once_lose_nothing(path):
    workers = [subprocess.Popen([sys.executable, "-c", SLICE_WRITER, str(path), str(start)]) for start in (0, 200, 400)]
    assert [worker.wait(120) for worker in workers] == [0, 0, 0]
    with LabelStore(path) as store:
        assert len(store) == 800  # 0..799; the overlapping rows are there once


WRITER = """
import sys
from pathlib import Path
from likewise.backends.label_store import LabelStore
from likewise.core.labels import Judgement, Relation
store = LabelStore(Path(sys.argv[1]))
for batch in range(10**6):
    store.put_many("j", [((f"{batch}-{i}", "x"), Judgement.certain(Relation.NEUTRAL, "nli")) for i in range(20)])
    print(batch, flush=True)
"""


def test_batches_that_were_acknowledged_survive_kill_nine(path):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    acknowledged = [int(line) for line in itertools.islice(writer.stdout, 25)]
    os.kill(writer.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in writer.stdout]
    writer.stdout.close()
    assert writer.wait(30) == -signal.SIGKILL
    with LabelStore(path) as store:
        pairs = [(f"{batch}-{i}", "x") for batch in acknowledged for i in range(20)]
        assert len(store.get_many("j", pairs)) == len(pairs) >= 500
        assert len(store) % 20 == 0  # a batch is there as a whole or not at all


def test_a_hundred_thousand_lookups_take_seconds():
    pairs = [(f"text {i}", f"other {i}") for i in range(100_000)]
    with LabelStore(None) as store:
        store.put_many("j", ((pair, SAME) for pair in pairs[::2]))
        start = time.process_time()  # what others do on the machine is not the store's affair
        assert len(store.get_many("j", pairs)) == 50_000
        assert time.process_time() - start < 20


def test_the_default_file_is_in_the_cache_folder_unless_the_environment_names_one(monkeypatch):
    monkeypatch.delenv("LIKEWISE_LABEL_STORE", raising=False)
    assert default_path().name == "labels.sqlite"
    assert "likewise" in default_path().parts[-2]
    elsewhere = Path(tempfile.gettempdir()) / "mine.sqlite"
    monkeypatch.setenv("LIKEWISE_LABEL_STORE", str(elsewhere))
    assert default_path() == elsewhere
