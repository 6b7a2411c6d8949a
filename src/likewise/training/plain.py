"""The same rewards in the calling conventions of other engines: verl and verifiers.

Both ask for numbers and have no way to say that something was not measured. A completion that was not measured gets
the mean of its measured siblings: against a group's mean, that is no advantage, as TRL has it for None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from likewise.training.completions import groups_of, read_completions
from likewise.training.reward_base import Reward, mean_of
from likewise.training.siblings import apart

__all__ = ["VerifiersReward", "VerlReward", "filled_rewards"]

_HANDED_ON = ("transcript", "progress", "stop", "task_id")


def filled_rewards(reward: Reward, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:  # noqa: ANN401
    """Rewards as plain numbers.

    Args:
        reward: Any reward of this package.
        prompts: A text or chat messages each, repeated for each completion.
        completions: A text or chat messages each.
        columns: As the reward reads them.

    Returns:
        A number each; what was not measured gets the mean of its siblings, and a group without any measured one 0
        throughout.
    """
    with apart():
        given = reward(prompts, completions, **columns)
    keys = [completion.key for completion in read_completions(prompts, completions, columns)]
    filled = [0.0] * len(given)
    for members in groups_of(keys):
        middle = mean_of([given[position] for position in members])
        for position in members:
            own = given[position]
            filled[position] = own if own is not None else (middle or 0.0)
    return filled


class VerlReward:
    """A reward as verl's `custom_reward_function`.

    In a file that the configuration names: `compute_score = VerlReward(RSDReward("model/"))`. With the reward manager
    "batch" it is called for a batch at once, with the others for one completion, which only rewards that need no
    siblings can do. verl hands over no prompt: `extra_info` must hold it as "prompt", or an "index" that is one for
    all completions of a prompt.
    """

    __name__ = "compute_score"

    def __init__(self, reward: Reward) -> None:
        """Take the reward."""
        self.reward = reward

    def __call__(
        self,
        data_source: str | Sequence[str] | None = None,
        solution_str: str | Sequence[str] | None = None,
        ground_truth: Any = None,  # noqa: ANN401 - verl's own
        extra_info: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
        *,
        data_sources: Sequence[str] | None = None,
        solution_strs: Sequence[str] | None = None,
        ground_truths: Sequence[Any] | None = None,
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        **others: Any,  # noqa: ANN401 - verl's own
    ) -> float | list[float]:
        """Score one completion, or a batch where the plural arguments are given, or lists by position.

        Raises:
            ValueError: `extra_info` tells neither the prompt nor its index, a batch is of unequal numbers, or one
                completion alone cannot be scored.
        """
        del ground_truth, ground_truths, others
        given: Any = (data_sources, solution_strs, extra_infos)
        if solution_strs is None and not isinstance(solution_str, str | None):
            given = (data_source, solution_str, extra_info)
        sources, solutions, infos = given
        if solutions is not None:
            nothing = [None] * len(solutions)
            return self._batch(
                [source or "" for source in (nothing if sources is None else sources)],
                solutions,
                list(nothing if infos is None else infos),
            )
        one: Any = (data_source or "", extra_info)
        prompts, columns = _from_infos(one[:1], one[1:])
        with apart():
            (value,) = self.reward(prompts, [solution_str or ""], **columns)
        if value is None:
            raise ValueError(
                f"{self.reward.__name__} cannot score one completion alone; set reward_manager=batch, which hands over "
                "all completions of a prompt"
            )
        return value

    def _batch(
        self, sources: Sequence[str], solutions: Sequence[str], infos: Sequence[Mapping[str, Any] | None]
    ) -> list[float]:
        if not len(sources) == len(solutions) == len(infos):
            told = f"{len(solutions)} solutions, {len(sources)} data sources and {len(infos)} extra infos"
            raise ValueError(f"a batch has as many of each, got {told}")
        prompts, columns = _from_infos(sources, infos)
        return filled_rewards(self.reward, prompts, list(solutions), **columns)


def _from_infos(
    sources: Sequence[str], infos: Sequence[Mapping[str, Any] | None]
) -> tuple[list[Any], dict[str, list[Any]]]:
    known = [info or {} for info in infos]
    for number, info in enumerate(known):
        if info.get("prompt") is None and info.get("index") is None:
            raise ValueError(
                f"completion {number}: extra_info holds neither 'prompt' nor 'index', so its siblings cannot be told; "
                "add one when the data is prepared"
            )
    columns = {name: [info.get(name) for info in known] for name in _HANDED_ON if any(name in info for info in known)}
    if "task_id" not in columns:
        columns["task_id"] = [f"{source}/{info.get('index', '')}" for source, info in zip(sources, known, strict=True)]
    return [_listed(info.get("prompt", "")) for info in known], columns


def _listed(prompt: Any) -> Any:  # noqa: ANN401 - a text, or messages as a list or an array
    return prompt if isinstance(prompt, str) else [dict(message) for message in prompt]


class VerifiersReward:
    """A reward as a group reward function of verifiers: `Rubric(funcs=[VerifiersReward(RSDReward("model/"))])`.

    verifiers takes an exception in a reward for a reward of 0 and logs it: look at its log.
    """

    def __init__(self, reward: Reward) -> None:
        """Take the reward."""
        self.reward = reward
        self.__name__ = reward.__name__

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        states: Sequence[Mapping[str, Any]] | None = None,
        infos: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[float]:
        """Score a group: the rollouts of one example.

        Args:
            prompts: As verifiers has them: chat messages or a text.
            completions: The same.
            states: A state with `is_truncated` set is taken as cut; `progress` is handed on where it is there.
            infos: `progress` and `task_id` are handed on where they are there.
        """
        known = [{**_mapping(infos, number), **_mapping(states, number)} for number in range(len(completions))]
        columns: dict[str, list[Any]] = {"stop": ["cut" if each.get("is_truncated") else None for each in known]}
        for name in ("progress", "task_id"):
            if any(name in each for each in known):
                columns[name] = [each.get(name) for each in known]
        plain = [[_plain(message) for message in each] if not isinstance(each, str) else each for each in completions]
        asked = [[_plain(message) for message in each] if not isinstance(each, str) else each for each in prompts]
        return filled_rewards(self.reward, asked, plain, **columns)


def _mapping(values: Sequence[Mapping[str, Any]] | None, number: int) -> dict[str, Any]:
    value = values[number] if values is not None else None
    return dict(value) if isinstance(value, Mapping) else {}


def _plain(message: Any) -> dict[str, Any]:  # noqa: ANN401 - a dict, or a pydantic message of newer versions
    return dict(message) if isinstance(message, Mapping) else dict(message.model_dump(exclude_none=True))
