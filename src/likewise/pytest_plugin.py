"""pytest plugin: does the agent act alike when it is run again?

    def test_refund(consistency):
        consistency(agent, "Refund order 12", k=5, max_contradiction=0.7, min_agreement=0.6)

    def test_last_night(consistency):
        consistency.recorded("runs/", fail_on=["mean rsd_share > 0.4", "flaky"])

Loaded by pytest at every start, so nothing heavy is imported before a test asks for the fixture. The fixtures
`likewise_judge` and `likewise_encoder` can be overridden to measure with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from likewise.backends.tool_rules import ToolRules
    from likewise.core.protocols import Encoder, Judge
    from likewise.evaluation.gate_rules import GateSettings
    from likewise.evaluation.gates import GateReport
    from likewise.evaluation.results import Evaluation
    from likewise.scoring.results import GroupScore

__all__ = ["Consistency", "consistency", "likewise_encoder", "likewise_judge", "pytest_configure"]

THRESHOLDS = {
    "max_contradiction": "contradiction_max >",
    "max_rsd": "rsd >",
    "max_rsd_normalised": "rsd_normalised >",
    "max_rsd_share": "rsd_share >",
    "min_agreement": "agreement <",
    "min_success_rate": "success_rate <",
}
"""Keyword -> the gate that it stands for."""
DEFAULT_RUNS = 5
SHOWN = 10


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    names = ", ".join(THRESHOLDS)
    config.addinivalue_line(
        "markers", f"consistency(k, fail_on, {names}): what the `consistency` fixture uses in this test by default"
    )


@pytest.fixture(scope="session")
def likewise_judge() -> Judge:
    """The judge of the `consistency` fixture: the embedded one. Override it to use another."""
    from likewise.backends.judges import embedded_judge

    return embedded_judge()


@pytest.fixture(scope="session")
def likewise_encoder() -> Encoder:
    """The encoder of the `consistency` fixture: the embedded one. Override it to use another."""
    from likewise.backends.onnx_encoder import embedded_encoder

    return embedded_encoder()


@pytest.fixture
def consistency(request: pytest.FixtureRequest) -> Consistency:
    """Runs an agent several times, or reads recorded runs, and fails the test where a threshold is not met."""
    marker = request.node.get_closest_marker("consistency")
    if marker is not None and marker.args:
        raise pytest.UsageError(
            "pytest.mark.consistency takes keywords only, as in consistency(k=5, fail_on=['flaky'])"
        )
    return Consistency(request, dict(marker.kwargs) if marker is not None else {})


class Consistency:
    """What the fixture gives; see the head of this module."""

    def __init__(self, request: pytest.FixtureRequest, defaults: dict[str, Any]) -> None:
        """Keep the request, from which the judge is taken when it is needed, and the marker's keywords."""
        self._request = request
        self._defaults = defaults

    def __call__(
        self,
        agent: Callable[[Any], Any],
        query: object,
        *,
        k: int | None = None,
        passes: Callable[[Any], bool] | None = None,
        fail_on: Iterable[str] | None = None,
        **thresholds: float | None,
    ) -> GroupScore:
        """Run an agent k times on one question and check how alike the runs are.

        Args:
            agent: Takes the question; gives text, OpenAI-style messages, a `Rollout`, or a coroutine of one.
            query: The question.
            k: Runs; the marker's k, else 5.
            passes: Whether an output solves the task, for success and pass^k.
            fail_on: Gates, as for `likewise report --fail-on`.
            **thresholds: max_contradiction, max_rsd, max_rsd_normalised, max_rsd_share,
                min_agreement, min_success_rate; None takes back what the marker asks for.

        Returns:
            Everything measured, for assertions of your own.
        """
        from likewise.core.errors import GroupError
        from likewise.evaluation.gate_rules import GateSettings
        from likewise.evaluation.repeat import run_repeatedly

        gates = GateSettings().with_gates(self._gates(fail_on, thresholds))
        k = k if k is not None else int(self._defaults.get("k", DEFAULT_RUNS))
        try:
            rollouts = run_repeatedly(agent, query, k, task_id=self._request.node.name, passes=passes)
        except GroupError as problem:
            pytest.fail(str(problem), pytrace=False)
        evaluation = self._evaluate(rollouts)
        (score,) = evaluation.tasks
        if len(score.valid) < 2:
            problems = "; ".join(str(run.problem) for run in score.rollouts if not run.valid)
            pytest.fail(f"not measured: {len(score.valid)} of {k} runs did not fail ({problems})", pytrace=False)
        self._check(evaluation, gates)
        return score

    def recorded(
        self,
        *paths: str,
        fail_on: Iterable[str] | None = None,
        format: str | None = None,
        pool: bool = False,
        config: str | None = None,
        **thresholds: float | None,
    ) -> Evaluation:
        """Read recorded runs and check each task, and the means.

        Args:
            *paths: Files or folders of recorded runs.
            fail_on: Gates, as for `likewise report --fail-on`.
            format: Read as this format; found file by file if not given.
            pool: Treat runs of different models, agents or prompts as repeats.
            config: A likewise.toml, whose gates and rules of tools are used too.
            **thresholds: As for a call.

        Returns:
            Everything measured.
        """
        from likewise.backends.tool_rules import ToolRules
        from likewise.core.config import Table, read_config
        from likewise.evaluation.gate_rules import gate_settings
        from likewise.formats.registry import read_rollouts

        table = read_config(config) if config is not None else Table()
        gates = gate_settings(table.table("gates")).with_gates(self._gates(fail_on, thresholds))
        rollouts = read_rollouts(list(paths), format=format)
        evaluation = self._evaluate(rollouts, pool=pool, rules=ToolRules.from_config(table))
        if evaluation.summary.valid == 0:
            pytest.fail("not measured: no run could be scored; `likewise inspect` says why", pytrace=False)
        self._check(evaluation, gates)
        return evaluation

    def _gates(self, fail_on: Iterable[str] | None, thresholds: dict[str, float | None]) -> list[str]:
        """Gates of the call, else of the marker; thresholds of the call come over those of the marker."""
        defaults = {name: value for name, value in self._defaults.items() if name not in ("k", "fail_on")}
        merged = {**defaults, **thresholds}
        if unknown := sorted(merged.keys() - THRESHOLDS.keys()):
            raise TypeError(f"no threshold {', '.join(unknown)}; there are {', '.join(THRESHOLDS)}")
        texts = self._defaults.get("fail_on", ()) if fail_on is None else fail_on
        listed = [texts] if isinstance(texts, str) else list(texts)
        return listed + [f"{THRESHOLDS[name]} {value}" for name, value in merged.items() if value is not None]

    def _evaluate(self, rollouts: Iterable[Any], *, pool: bool = False, rules: ToolRules | None = None) -> Evaluation:
        from likewise.evaluation.evaluate import evaluate

        judge, encoder = (self._request.getfixturevalue(name) for name in ("likewise_judge", "likewise_encoder"))
        return evaluate(rollouts, judge=judge, encoder=encoder, pool=pool, rules=rules)

    def _check(self, evaluation: Evaluation, gates: GateSettings) -> None:
        from likewise.evaluation.gate_checks import out_of_reach, reach_of_evaluation
        from likewise.evaluation.gates import check_gates

        problem, _ = out_of_reach(gates, reach_of_evaluation(evaluation), evaluation.signature.gamma)
        if problem is not None:
            raise ValueError(problem)
        report = check_gates(evaluation, gates)
        properties = self._request.node.user_properties  # they end in pytest's own JUnit file
        for name in ("rsd", "rsd_normalised", "rsd_share", "success_rate"):
            value = getattr(evaluation.summary, name).value
            properties.append((f"likewise_{name}", "not measured" if value is None else f"{value:.4g}"))
        if report.failures:
            pytest.fail(_message(evaluation, report), pytrace=False)


def _message(evaluation: Evaluation, report: GateReport) -> str:
    """What failed, and the two texts that contradict each other most."""
    from likewise.report.text import one_line

    lines = [one_line(failure.sentence()) for failure in report.failures[:SHOWN]]
    if len(report.failures) > SHOWN:
        lines.append(f"and {len(report.failures) - SHOWN} more")
    clashes = [clash for task in evaluation.tasks for clash in task.contradictions.critical]
    if clashes:
        worst = max(clashes, key=lambda clash: clash.score)
        lines.append(f"strongest contradiction ({worst.score:.2f}, turn {worst.turn}):")
        lines += [f"  run {run}: {one_line(text, 300)}" for run, text in _sides(worst)]
    return "\n".join(lines)


def _sides(clash: Any) -> tuple[tuple[str, str], tuple[str, str]]:  # noqa: ANN401 - a scoring.results.Clash
    return (clash.run_i, clash.text_i), (clash.run_j, clash.text_j)
