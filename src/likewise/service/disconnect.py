"""Work that ends when the one who asked for it hangs up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from starlette.requests import Request
from starlette.types import Receive

__all__ = ["ClientGoneError", "unless_gone", "until_gone"]

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """Nobody waits for the answer any more; the work was cancelled."""


async def until_gone(receive: Receive) -> None:
    """Return when the client has hung up; its body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(request: Request, work: Callable[[], Awaitable[Result]]) -> Result:
    """The result of `work`, which is cancelled, with all that it called, when the client hangs up.

    Raises:
        ClientGoneError: The client did.
    """
    results: list[Result] = []
    problems: list[Exception] = []

    async with anyio.create_task_group() as group:

        async def watch() -> None:
            await until_gone(request.receive)
            group.cancel_scope.cancel()

        group.start_soon(watch, name="watch the client")
        try:
            results.append(await work())
        except Exception as problem:  # raised below, outside the group, which would wrap it
            problems.append(problem)
        group.cancel_scope.cancel()
    if problems:
        raise problems[0]
    if not results:
        raise ClientGoneError
    return results[0]
