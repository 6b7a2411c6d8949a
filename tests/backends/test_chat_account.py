"""What requests took, by hand-counted tokens; `Gate` is tried by many requests at once in test_llm_judge.py."""

import asyncio

import pytest

from likewise.backends.budget import Budget
from likewise.backends.chat_account import BYTES_PER_TOKEN, OVERHEAD, ChatAccount, Gate
from likewise.backends.chat_client import ChatAnswer

SYSTEM = "s" * (10 * BYTES_PER_TOKEN)  # 10 tokens
QUESTION = "q" * (5 * BYTES_PER_TOKEN)  # 5 tokens
SENT = 10 + 5 + OVERHEAD


@pytest.fixture
def account():
    """A token read costs 1, a token written 10."""
    return ChatAccount("tiny", SYSTEM, 100, Budget(1e6, 1e7, 1e9))


def test_the_most_that_a_question_costs_is_all_that_is_sent_and_the_longest_answer(account):
    assert account.most(QUESTION) == pytest.approx(SENT + 10 * 100)


@pytest.mark.parametrize(
    ("answer", "cost"),
    [
        (ChatAnswer("x", None, False, 7, 3), 7 + 10 * 3),
        (ChatAnswer("four", None), SENT + 10 * 2),  # four bytes are at most two tokens
        (ChatAnswer("", "no answer within 1 s", may_cost=True), SENT + 10 * 100),
        (ChatAnswer("", "the connection failed"), 0),
    ],
)
def test_an_answer_costs_what_the_endpoint_counted_else_what_it_can_have_been(account, answer, cost):
    assert account.charge(answer, QUESTION) == pytest.approx(cost)
    assert account.requests == 1


def test_the_account_is_told_in_words_and_a_guess_is_called_one(account):
    assert account.line("a turn") is None
    account.budget.settle(0, account.charge(ChatAnswer("x", None, False, 7, 3), QUESTION))
    assert account.line("a turn") == "tiny was asked 1 times: 7 tokens read, 3 written, cost 37.0000"
    account.failed += 1
    account.charge(ChatAnswer("four"), QUESTION)
    assert account.line("a turn") == (
        f"tiny was asked 2 times, 1 of them without a turn: about {7 + SENT} tokens read, about 5 written, "
        "cost about 37.0000"
    )


def test_who_cannot_pay_now_waits_for_what_is_under_way_and_is_refused_when_nothing_is():
    async def trial():
        gate, told = Gate(8, budget), []
        assert await gate.afford(6.0)
        waiting = asyncio.create_task(gate.afford(6.0))
        await asyncio.sleep(0)
        told.append(waiting.done())
        await gate.settle(6.0, 1.0)  # it cost less than feared: 9 are left
        told.append(await waiting)
        await gate.settle(6.0, 6.0)
        told.append(await gate.afford(6.0))
        return told

    budget = Budget(1.0, 1.0, 10.0)
    assert asyncio.run(trial()) == [False, True, False]
    assert (budget.spent, budget.over) == (7.0, True)
