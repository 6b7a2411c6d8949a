from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from likewise.training.environments.bookings import Bookings
from likewise.training.episode import Episode
from likewise.training.tiny import action_words, read_action, tokens_of
from likewise.training.tiny_sampler import LONGEST_ACTION, play
from training.policies import policy, spelling

pytestmark = pytest.mark.torch


def episodes(n, task="ann_moves"):
    return [Episode(Bookings(), task, str(k)) for k in range(n)]


def test_runs_end_and_their_tokens_are_what_was_said():
    tokenizer = spelling()
    runs = play(policy(), tokenizer, episodes(6), np.random.default_rng(0))
    end = tokenizer.eos_token_id
    for run in runs:
        assert run.episode.done
        assert len(run.tokens) == len(run.own)
        expected = [tokens_of(turn.observations, tokenizer) for turn in run.episode.turns[1:]]
        segments, before = [], 0
        for token, mine in zip(run.tokens, run.own, strict=True):
            if mine and not before:
                segments.append([])
            if mine:
                segments[-1].append(token)
            before = mine
        assert len(segments) == len(run.episode.turns)
        for segment, turn in zip(segments, run.episode.turns, strict=True):
            assert len(segment) <= LONGEST_ACTION
            assert segment[-1] == end or len(segment) == LONGEST_ACTION
            text = tokenizer.decode([t for t in segment if t != end], skip_special_tokens=False)
            assert read_action(text) == turn.action
        heard = [t for t, mine in zip(run.tokens, run.own, strict=True) if not mine]
        closed = [len(s) == LONGEST_ACTION and s[-1] != end for s in segments[:-1]]
        assert heard == [
            t for cut, part in zip(closed, expected, strict=True) for t in [*([end] if cut else []), *part]
        ]


def test_the_likeliest_run_is_always_the_same_and_chance_makes_others():
    model, tokenizer = policy(1), spelling()
    sure = play(model, tokenizer, episodes(3), np.random.default_rng(0), temperature=0)
    assert len({tuple(run.tokens) for run in sure}) == 1
    drawn = play(model, tokenizer, episodes(6), np.random.default_rng(0))
    assert len({tuple(run.tokens) for run in drawn}) > 1


def test_the_same_chance_gives_the_same_runs():
    model, tokenizer = policy(1), spelling()
    first, again = (play(model, tokenizer, episodes(4), np.random.default_rng(5)) for _ in range(2))
    assert [run.tokens for run in first] == [run.tokens for run in again]


def test_first_tokens_come_as_often_as_the_model_says():
    import torch

    model, tokenizer = policy(2), spelling()
    runs = play(model, tokenizer, episodes(800), np.random.default_rng(3))
    with torch.no_grad():
        shares = torch.softmax(model(torch.tensor([runs[0].prompt])).logits[0, -1], -1).numpy()
    counts = Counter(run.tokens[0] for run in runs)
    likeliest = int(shares.argmax())
    expected, spread = 800 * shares[likeliest], np.sqrt(800 * shares[likeliest] * (1 - shares[likeliest]))
    assert abs(counts[likeliest] - expected) < 4 * spread


def test_what_the_policy_wrote_reads_as_what_was_recorded():
    (run,) = play(policy(4), spelling(), episodes(1), np.random.default_rng(0))
    for action in run.episode.rollout().actions:
        assert read_action(action_words(action)) == action
