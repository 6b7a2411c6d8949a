"""A chat model as judge: functional equivalence, contradiction or neither, with a strict JSON answer.

Answers come in order of the pairs while several requests are under way. An answer that states no relation is the
failure of its pair, never "neutral"; so is a pair that the budget no longer allows for.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from hashlib import blake2b
from urllib.parse import urlsplit

from likewise.backends.budget import Budget
from likewise.backends.chat_account import ChatAccount, Gate
from likewise.backends.chat_client import Chat, ChatAnswer, ChatClient, ChatSettings
from likewise.backends.judge_prompt import SCHEMA, SYSTEM, TEMPLATE, question, read_relation
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.core.protocols import ProgressTask

__all__ = ["LlmJudge"]

LONGEST = 100_000
"""Characters of a text that are asked about; nothing is cut off, a longer text is not asked about."""
AHEAD = 4
"""Pairs asked for before their turn, times the requests under way: one slow answer does not stop the others."""

TextPair = tuple[str, str]
Outcome = Judgement | LabelError


class LlmJudge:
    """A judge over one model of an OpenAI-compatible endpoint."""

    def __init__(
        self,
        model: str,
        settings: ChatSettings | None = None,
        *,
        parallel: int = 8,
        swap: bool = False,
        budget: Budget | None = None,
    ) -> None:
        """Prepare; nothing is asked yet.

        Args:
            model: As the endpoint calls it.
            settings: Where the endpoint is and how long to wait for it.
            parallel: Requests under way at once.
            swap: Read each pair a second time with its sides exchanged. Where the readings differ the pair is neutral
                with a confidence of at most one half, so that it is listed as uncertain.
            budget: Prices and limit.

        Raises:
            ValueError: A model's name, a URL or a number that cannot be one.
            BackendError: There is no key, and the endpoint is OpenAI's own.
            MissingExtraError: The official client is not installed.
        """
        if parallel < 1:
            raise ValueError(f"requests under way at once are at least 1, got {parallel}")
        self._settings = settings or ChatSettings()
        self._client = ChatClient(model, "judgement", SCHEMA, self._settings)
        self.parallel, self._swap, self._budget = parallel, swap, budget or Budget()
        self._account = ChatAccount(model, SYSTEM, self._settings.answer_tokens, self._budget)
        self._swapped = self._differing = 0

    @property
    def judge_id(self) -> str:
        """Model, host, and a digest of everything else that moves an answer."""
        parts = (self._client.url, SYSTEM, TEMPLATE, str(SCHEMA), str(self._settings.answer_tokens), str(self._swap))
        digest = blake2b("\x00".join(parts).encode(), digest_size=4).hexdigest()
        return f"llm-{self._client.model}@{urlsplit(self._client.url).hostname}-{digest}"

    @property
    def endpoint(self) -> str:
        """Where texts are sent."""
        return self._client.url

    def judge(self, pairs: Sequence[TextPair], progress: ProgressTask | None = None) -> Iterator[Judgement]:
        """Judge each pair in order; see core.protocols.Judge.

        Raises:
            LabelError: A pair has no answer that states a relation; the next pair can be asked for.
            BackendError: The endpoint does not work.
        """
        return _Answers(self, pairs, progress)

    def account(self) -> tuple[str, ...]:
        """Calls, tokens and cost; how often the second reading differed."""
        asked = self._account.line("a relation")
        if asked is None:
            return ()
        if not self._swapped:
            return (asked,)
        return asked, f"with the sides exchanged {self._differing} of {self._swapped} pairs were read differently"

    async def settle(self, chat: Chat, gate: Gate, pair: TextPair) -> Outcome:
        """One pair, all its readings."""
        longest = max(map(len, pair))
        if longest > LONGEST:
            return LabelError(f"a text of over {LONGEST:,} characters is too long for one question", *pair)
        sides = [pair, pair[::-1]] if self._swap else [pair]
        questions = [question(*side) for side in sides]
        most = sum(map(self._account.most, questions))
        async with gate.places:
            if not await gate.afford(most):
                return LabelError(f"budget of {self._budget.limit:g} spent", *pair)
            cost = 0.0
            try:
                readings: list[Relation] = []
                words: list[str] = []
                for text in questions:
                    answer = await chat.ask(SYSTEM, text)
                    cost += self._account.charge(answer, text)
                    relation = None if answer.problem else read_relation(answer.text)
                    words.append(answer.text)
                    if relation is None:
                        self._account.failed += 1
                        return LabelError(_problem(answer), *pair, raw_answer="\n".join(words) or None)
                    readings.append(relation)
            finally:
                await gate.settle(most, cost)
        return self._judgement(readings, tuple(words))

    def _judgement(self, readings: Sequence[Relation], words: tuple[str, ...]) -> Judgement:
        if len(readings) == 2:
            self._swapped += 1
            self._differing += readings[0] != readings[1]
        if len(set(readings)) == 1:
            return replace(Judgement.certain(readings[0], "llm"), answers=words)
        halves = tuple(readings.count(relation) / len(readings) for relation in Relation)
        probabilities = (halves[0], halves[1], halves[2])
        return Judgement(Relation.NEUTRAL, probabilities, probabilities, "llm:sides-differ", words)


class _Answers:
    """Outcomes in order, from requests made in a thread of its own. It goes on after the failure of a pair."""

    def __init__(self, judge: LlmJudge, pairs: Sequence[TextPair], progress: ProgressTask | None) -> None:
        self._judge, self._pairs, self._progress = judge, pairs, progress
        self._asked = self._told = 0
        self._waiting: deque[Future[Outcome]] = deque()
        self._session: _Session | None = None

    def __iter__(self) -> Iterator[Judgement]:
        return self

    def __next__(self) -> Judgement:
        if self._told == len(self._pairs):
            self._close()
            raise StopIteration
        if self._session is None:
            self._session = _Session(self._judge)
        while self._asked < len(self._pairs) and len(self._waiting) < AHEAD * self._judge.parallel:
            self._waiting.append(self._session.ask(self._pairs[self._asked]))
            self._asked += 1
        try:
            outcome = self._waiting.popleft().result()
        except BaseException:  # the endpoint is down, or the user has had enough
            self._close()
            self._told = len(self._pairs)
            raise
        self._told += 1
        if isinstance(outcome, LabelError):
            raise outcome
        if self._progress is not None:
            self._progress.advance()
        return outcome

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __del__(self) -> None:
        self._close()


class _Session:
    """An event loop in a thread, with connections to the endpoint."""

    def __init__(self, judge: LlmJudge) -> None:
        self._judge = judge
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="likewise-llm", daemon=True)
        self._thread.start()
        self._stack = AsyncExitStack()
        try:
            self._chat, self._gate = asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        except BaseException:
            self.close()
            raise

    async def _open(self) -> tuple[Chat, Gate]:
        chat = await self._stack.enter_async_context(self._judge._client.connect())
        return chat, Gate(self._judge.parallel, self._judge._budget)

    def ask(self, pair: TextPair) -> Future[Outcome]:
        return asyncio.run_coroutine_threadsafe(self._judge.settle(self._chat, self._gate, pair), self._loop)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._stack.aclose()

    def close(self) -> None:
        """Drop what is under way; nothing waits for an answer any more."""
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        if not self._thread.is_alive():
            self._loop.close()


def _problem(answer: ChatAnswer) -> str:
    if answer.problem is not None:
        return answer.problem
    return "the model's answer states no relation" + (", and was cut at its longest" if answer.cut else "")
