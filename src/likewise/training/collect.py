"""Rollouts of an agent in an environment, into a file that can be gone on with where it was stopped.

Each run is written as soon as it is over, one line of our own format. A run in which the agent or the environment
failed is written, too, as invalid with its reason; taken up again, another is made in its place.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import anyio

from likewise.core.errors import BackendError, ConfigError, RolloutFormatError
from likewise.core.file_lock import hold
from likewise.core.protocols import Progress, no_progress
from likewise.core.rollout import Action, JsonValue, Rollout
from likewise.formats.native import read, rollout_lines
from likewise.training.agents import Agent
from likewise.training.environments.protocol import Environment
from likewise.training.environments.registry import failure_of
from likewise.training.episode import Episode, chat_messages

__all__ = ["Collected", "collect", "recorded"]

DOWN_AFTER = 3
"""Runs that fail in a row until the agent, or the environment, is taken to be down."""
LONGEST_TEXT = 100_000
"""Characters of an action beyond which a run is taken to have failed."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What came of it.

    Attributes:
        made: Runs made now.
        found: Runs that were in the file already.
        failed: Runs, of all in the file, in which the agent or the environment failed.
        problem: Why the last of those made now failed; None where none did.
    """

    made: int
    found: int
    failed: int
    problem: str | None = None

    @property
    def nothing(self) -> bool:
        """Whether no run of the file is of use: each failed."""
        return self.failed == self.made + self.found


def recorded(path: Path, *, environment: str, agent: str) -> list[Rollout]:
    """Runs of a file that is to be gone on with; a last line that was cut off in the middle is taken away.

    Args:
        path: The file; it need not be there.
        environment: Name of the environment whose runs it must hold.
        agent: The agent whose runs it must hold.

    Raises:
        RolloutFormatError: It holds something else, or runs of another agent or environment.
    """
    if not path.exists():
        return []
    _drop_torn_line(path)
    if path.stat().st_size == 0:
        return []
    parsed = read(path, "")
    if parsed.excluded:
        first = parsed.excluded[0]
        raise RolloutFormatError(str(path), f"not a run: {first.reason}", line=first.line)
    for rollout in parsed.rollouts:
        for name, wanted in (("environment", environment), ("agent", agent)):
            if rollout.meta.get(name) != wanted:
                found = str(rollout.meta.get(name))[:80]
                problem = f"run {rollout.run_id} of task {rollout.task_id} is of {name} {found!r}; name another file"
                raise RolloutFormatError(str(path), problem, expected=repr(wanted))
    return list(parsed.rollouts)


def _drop_torn_line(path: Path) -> None:
    with path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end:  # backwards in blocks to the last line's end
            start = max(0, end - 65_536)
            file.seek(start)
            at = file.read(end - start).rfind(b"\n")
            if at >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            file.truncate(end)


async def collect(
    make: Callable[[], Environment],
    agent: Agent,
    out: str | Path,
    *,
    tasks: Sequence[str] | None = None,
    runs: int = 8,
    parallel: int = 4,
    progress: Progress = no_progress,
) -> Collected:
    """Run an agent several times on each task.

    Args:
        make: Makes a fresh environment.
        agent: Acts.
        out: File of runs (our JSON Lines); one that is there is gone on with.
        tasks: Tasks to run; all where None.
        runs: Valid runs wanted of each task.
        parallel: Runs under way at once.
        progress: Display.

    Raises:
        ValueError: There is no such task.
        RolloutFormatError: The file holds something else.
        BackendError: The agent is down: it failed in three runs in a row, or says so itself. So for an environment.
        ConfigError: The environment cannot begin a task.
        BlockingIOError: Another collection is adding to the file.
        OSError: The file cannot be written.
    """
    environment = make()
    wanted = list(tasks if tasks is not None else environment.tasks)
    missing = [task for task in wanted if task not in environment.tasks]
    if missing:
        raise ValueError(f"{environment.name} has no task {missing[0]!r}; it has {', '.join(environment.tasks)}")
    path = Path(out)
    with path.open("a", encoding="ascii") as file:
        if path.is_file():  # else there is nothing that is gone on with
            # before it is read: what another adds later would get the same names
            hold(file, path, "another collection is adding to this file; wait for it, or name another file")
        known = recorded(path, environment=environment.name, agent=agent.agent_id)
        plan = _plan(known, wanted, runs)
        with progress("collecting runs", total=len(plan)) as bar:
            collector = _Collector(make, environment.name, agent, path, file, bar.advance)
            await collector.all(plan, parallel)
    failed = sum(not rollout.valid for rollout in known) + collector.failed
    return Collected(collector.made, len(known), failed, collector.problem)


def _plan(known: Sequence[Rollout], tasks: Sequence[str], runs: int) -> list[tuple[str, str]]:
    """Task and name of each run that is to be made; all tasks' first runs, then all tasks' second ones."""
    valid = Counter(rollout.task_id for rollout in known if rollout.valid)
    taken = {(rollout.task_id, rollout.run_id) for rollout in known}
    plan: list[tuple[int, str, str]] = []
    for task in dict.fromkeys(tasks):
        number = 0
        for round_ in range(valid[task], runs):
            while (task, str(number)) in taken:
                number += 1
            plan.append((round_, task, str(number)))
            number += 1
    return [(task, run) for _, task, run in sorted(plan, key=lambda each: each[0])]


class _Collector:
    def __init__(
        self,
        make: Callable[[], Environment],
        world: str,
        agent: Agent,
        path: Path,
        file: IO[str],
        advance: Callable[[int], None],
    ) -> None:
        self._make, self._world, self._agent = make, world, agent
        self._path, self._file, self._advance = path, file, advance
        self.made = self.failed = self._in_a_row = 0
        self.problem: str | None = None
        self._down: BackendError | ConfigError | None = None

    async def all(self, plan: Sequence[tuple[str, str]], parallel: int) -> None:
        waiting = iter(plan)

        async def work() -> None:
            for task, run in waiting:  # one iterator for all workers
                if self._down is not None:
                    return
                await self._one(task, run)

        async with anyio.create_task_group() as group:
            for _ in range(min(parallel, len(plan))):
                group.start_soon(work)
        if self._down is not None:
            raise self._down

    async def _one(self, task: str, run: str) -> None:
        try:
            episode = Episode(self._make(), task, run)
            tools = [tool.definition for tool in episode.environment.tools]
            messages = chat_messages((), episode.observations)
        except (Exception, SystemExit) as failure:
            self._stop(failure, f"begin task {task!r}")
            return
        problem: str | None = None
        who = self._agent.agent_id
        while not episode.done and problem is None:
            turn = len(episode.turns)
            try:
                action = await self._action(messages, tools)
            except BackendError as down:
                self._down = down
                return
            except Exception as failure:  # whatever an agent raises is its run's failure, not ours
                problem = f"the agent failed at turn {turn}: {type(failure).__name__}: {failure}"[:500]
                break
            try:
                episode.act(action)
                messages = chat_messages(episode.turns, episode.observations)
            except (Exception, SystemExit) as failure:
                problem, who = f"the environment failed at turn {turn}: {failure_of(failure)}"[:500], self._world
        try:
            rollout = episode.rollout(problem=problem, meta={"agent": self._agent.agent_id})
        except (Exception, SystemExit) as failure:
            self._stop(failure, f"end task {task!r}")
            return
        self._enter(rollout, who)

    def _stop(self, failure: BaseException, what: str) -> None:
        """The environment is broken, and so will be for every run: the user's to mend, in words."""
        told = ConfigError(self._world, f"the environment cannot {what}: {failure_of(failure)}")
        self._down = failure if isinstance(failure, ConfigError) else told  # it may have told itself

    async def _action(self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, JsonValue]]) -> Action:
        action = await self._agent.act(messages, tools)
        if len(action.text) + sum(len(str(call.arguments)) for call in action.tool_calls) > LONGEST_TEXT:
            raise ValueError(f"an action of more than {LONGEST_TEXT} characters")
        return action

    def _enter(self, rollout: Rollout, who: str) -> None:
        for line in rollout_lines([rollout], self._path):
            self._file.write(line)
        self._file.flush()
        self.made += 1
        self._advance(1)
        if rollout.valid:
            self._in_a_row = 0
            return
        self.failed += 1
        self.problem = rollout.problem
        self._in_a_row += 1
        if self._in_a_row >= DOWN_AFTER:
            self._down = BackendError(f"{who}: {DOWN_AFTER} runs in a row failed; {rollout.problem}")
