"""All formats at once: each file is claimed by one of them, and nothing that is broken breaks the reading."""

import random
import time

import pytest

from formats.fuzz import mutated, read
from formats.seeds import SEEDS
from likewise.formats import FORMATS, read_rollouts
from likewise.formats.registry import claims

FILES = [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
IDS = [f"{name}:{seed.name}" for name, seed in FILES]


def test_there_is_a_file_of_every_format():
    assert list(SEEDS) == list(FORMATS)


@pytest.mark.parametrize(("name", "seed"), FILES, ids=IDS)
def test_a_file_is_claimed_by_its_format_alone_and_read_whole(tmp_path, name, seed):
    path = tmp_path / seed.name
    path.write_bytes(seed.data)
    claimed = [each for each, reason in claims(path).items() if reason is None]
    assert claimed[0] == name
    assert set(claimed) - {"table"} <= {name}  # any rows of plain values are a table, which is asked last
    found = read_rollouts(path, strict=name != "toolsandbox")  # a summary alone lacks its conversations
    assert found.files == ((str(path), name),)
    assert len(found) + len(found.excluded) > 0


@pytest.mark.parametrize(("name", "seed"), FILES, ids=IDS)
@pytest.mark.parametrize("rounds", [15, pytest.param(400, marks=pytest.mark.slow)])
def test_a_broken_file_ends_in_rollouts_or_in_an_error_of_ours(tmp_path, name, seed, rounds):
    chance, path = random.Random(f"{name} {seed.name} {rounds}"), tmp_path / seed.name
    slowest = 0.0
    for _ in range(rounds):
        _, data = mutated(seed, chance)
        path.write_bytes(data)
        began = time.process_time()
        assert read(path, chance) in ("read", "excluded", "error of ours")
        slowest = max(slowest, time.process_time() - began)
    assert slowest < 10


def test_sniffing_a_head_costs_little(tmp_path):
    seed = SEEDS["openai-chat"][0]
    path = tmp_path / "a.jsonl"
    path.write_bytes(seed.data * 500)
    claims(path)
    began = time.process_time()
    for number in range(20):
        path.write_bytes(seed.data.replace(b"Oslo", str(number).encode()) * 500)  # another head: nothing remembered
        claims(path)
    assert (time.process_time() - began) / 20 < 0.5
