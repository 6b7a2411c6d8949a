"""What requests to a chat model took, in tokens and money, and how many may be under way within the budget."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from likewise.backends.budget import Budget
from likewise.backends.chat_client import ChatAnswer

__all__ = ["ChatAccount", "Gate"]

OVERHEAD = 250
"""Tokens of a request besides its words: roles, schema, separators."""
BYTES_PER_TOKEN = 3
"""Bytes that make at most one token, as a rule; in English it is rather four."""


@dataclass(slots=True)
class ChatAccount:
    """The account of one model that is asked the same kind of question over and over.

    Attributes:
        model: As the endpoint calls it.
        system: The words that come before every question.
        answer_tokens: Longest answer that is asked for.
        budget: Prices and limit.
        requests: How many were answered or failed.
        failed: How many of them settled nothing.
    """

    model: str
    system: str
    answer_tokens: int
    budget: Budget = field(default_factory=Budget)
    requests: int = 0
    failed: int = 0
    _estimated: int = 0
    _read: int = 0
    _written: int = 0

    def most(self, question: str) -> float:
        """The most that a question can cost."""
        return self.budget.cost(self._sent(question), self.answer_tokens)

    def charge(self, answer: ChatAnswer, question: str) -> float:
        """Enter a request into the account; what it cost. Where the endpoint does not count tokens they are guessed."""
        self.requests += 1
        read, written = answer.input_tokens, answer.output_tokens
        if read is None or written is None:
            nothing = answer.problem is not None and not answer.text and not answer.may_cost
            full = self.answer_tokens if answer.may_cost and not answer.text else _tokens(answer.text)
            read, written = (0, 0) if nothing else (self._sent(question), full)
            self._estimated += not nothing
        self._read += read
        self._written += written
        return self.budget.cost(read, written)

    def line(self, settled: str) -> str | None:
        """Requests, tokens and cost in words; None where nothing was asked.

        Args:
            settled: What an answer states, as in "a relation".
        """
        if not self.requests:
            return None
        about = "about " if self._estimated else ""
        tokens = f"{about}{self._read:,} tokens read, {about}{self._written:,} written"
        cost = f", cost {about}{self.budget.spent:.4f}" if self.budget.priced else ""
        failed = f", {self.failed} of them without {settled}" if self.failed else ""
        return f"{self.model} was asked {self.requests} times{failed}: {tokens}{cost}"

    def _sent(self, question: str) -> int:
        """The most tokens that a request is likely to be, all of it."""
        return _tokens(self.system) + _tokens(question) + OVERHEAD


def _tokens(text: str) -> int:
    """The most tokens that a text is likely to be."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


class Gate:
    """What requests under way share: places, and the budget."""

    def __init__(self, parallel: int, budget: Budget) -> None:
        """Made in the event loop that uses it."""
        self.places = asyncio.Semaphore(parallel)
        self._budget, self._news = budget, asyncio.Condition()

    async def afford(self, most: float) -> bool:
        """Reserve the most that a question can cost, after those under way where they leave too little for it now."""
        async with self._news:
            while not self._budget.reserve(most):
                if self._budget.over or not self._budget.reserved:
                    self._budget.over = True
                    self._news.notify_all()
                    return False
                await self._news.wait()
        return True

    async def settle(self, most: float, cost: float) -> None:
        """Enter what a question did cost."""
        async with self._news:
            self._budget.settle(most, cost)
            self._news.notify_all()
