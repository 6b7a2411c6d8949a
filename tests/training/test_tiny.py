from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.core.rollout import Action, Observation, ToolCall
from likewise.training.environments.bookings import Bookings
from likewise.training.tiny import (
    TinySize,
    action_words,
    load_tiny,
    messages_of,
    read_action,
    save_tiny,
    tiny_model,
    tiny_tokenizer,
    tokens_of,
)
from likewise.training.tiny_experts import MIXED, demonstrations

DEMOS = demonstrations(Bookings.tasks[:2], 10, MIXED, 0)
NAMES = st.text("abcdefgh_", min_size=1, max_size=10)
VALUES = st.text("ABCxyz 0123", min_size=1, max_size=10).map(str.strip).filter(bool)


@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=3))
def test_a_call_is_read_back_as_it_was_written(name, arguments):
    action = Action("", (ToolCall(name, arguments),))
    assert read_action(action_words(action)) == action


@pytest.mark.parametrize(
    "text",
    [
        "Good morning.",
        "find_booking(guest=Ann",
        "find_booking(guest)",
        "find_booking(guest=Ann, guest=Ben)",
        "find_booking((guest=Ann)",
        "find_booking(guest==Ann)",
        "please find_booking(guest=Ann)",
        "Find(guest=Ann)",
        "",
    ],
)
def test_what_is_no_well_formed_call_is_something_said(text):
    assert read_action(text) == Action(text)


def test_a_call_without_arguments_is_one():
    assert read_action(" list_days() ") == Action("", (ToolCall("list_days", {}),))


WITHOUT = """
import sys
sys.modules["transformers"] = None
from likewise.training.tiny import load_transformers
try:
    load_transformers()
except ImportError as problem:
    print(problem)
"""


def test_without_the_extra_the_line_to_type_is_given():
    answer = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120)
    assert answer.stdout.strip() == "training an agent needs an extra: pip install 'likewise[train]'"


@pytest.mark.torch
def test_every_demonstration_has_a_spelling_and_comes_back():
    tokenizer = tiny_tokenizer(DEMOS)
    for demo in DEMOS:
        for message in messages_of(demo):
            ids = tokenizer.encode(message["content"], add_special_tokens=False)
            assert tokenizer.decode(ids) == message["content"]
    assert tokenizer.decode(tokenizer.encode("never seen: {x} ~", add_special_tokens=False)) == "never seen: {x} ~"


@pytest.mark.torch
def test_the_template_writes_the_tokens_that_the_sampler_writes():
    tokenizer = tiny_tokenizer(DEMOS)
    demo = DEMOS[0]
    end = tokenizer.eos_token_id
    expected = []
    for turn in demo.turns:
        expected += tokens_of(turn.observations, tokenizer)
        expected += [*tokenizer.encode(action_words(turn.action), add_special_tokens=False), end]
    rendered = tokenizer.apply_chat_template(messages_of(demo), tokenize=True, return_dict=False)
    assert list(rendered) == expected


@pytest.mark.torch
def test_only_what_the_agent_says_is_learned():
    tokenizer = tiny_tokenizer(DEMOS)
    marked = tokenizer.apply_chat_template(
        messages_of(DEMOS[0]), tokenize=True, return_dict=True, return_assistant_tokens_mask=True
    )
    learned = [t for t, mask in zip(marked["input_ids"], marked["assistant_masks"], strict=True) if mask]
    end = tokenizer.eos_token
    assert tokenizer.decode(learned) == "".join(action_words(action) + end for action in DEMOS[0].actions)


@pytest.mark.torch
def test_the_systems_words_are_left_out_and_the_agents_mark_comes_last():
    tokenizer = tiny_tokenizer(DEMOS)
    ids = tokens_of([Observation("system", "policy"), Observation("user", "Hi")], tokenizer)
    assert tokenizer.decode(ids) == "<|user|>Hi<|end|><|agent|>"


@pytest.mark.torch
def test_a_policy_comes_back_from_its_folder(tmp_path):
    import torch

    tokenizer = tiny_tokenizer(DEMOS)
    model = tiny_model(tokenizer, 3, TinySize(16, 1))
    save_tiny(model, tokenizer, tmp_path)
    back, spelling = load_tiny(tmp_path)
    assert spelling.encode("find_booking(guest=Ann)") == tokenizer.encode("find_booking(guest=Ann)")
    assert spelling.chat_template == tokenizer.chat_template
    for name, value in model.state_dict().items():
        assert torch.equal(value, back.state_dict()[name])


@pytest.mark.torch
def test_the_same_seed_gives_the_same_weights_and_another_others():
    import torch

    tokenizer = tiny_tokenizer(DEMOS)
    first, again, other = (tiny_model(tokenizer, seed, TinySize(16, 1)).lm_head.weight for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
