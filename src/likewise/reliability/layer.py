"""The reliability layer: wrap an agent, ask it once, get an answer that holds, or be told that none does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

from likewise.backends.budget import Budget
from likewise.backends.tool_rules import ToolRules
from likewise.core.errors import AgentError
from likewise.core.protocols import Encoder, Judge, Progress, no_progress
from likewise.core.rollout import JsonValue
from likewise.reliability.account import Session, account
from likewise.reliability.agents import SamplingAgent, as_agent
from likewise.reliability.grounding import GroundingReport, ground
from likewise.reliability.handling import Handling, OnFail, decide
from likewise.reliability.passages import Sources, check_sources
from likewise.reliability.policy import Mode, Policy
from likewise.reliability.remediation import Rule, advise, measures_of, read_rules, shipped_rules
from likewise.reliability.runner import Runner, RunSettings
from likewise.reliability.runs import RunRecord
from likewise.reliability.scores import Measurement, measure
from likewise.reliability.variance import VarianceForm
from likewise.reliability.verdict import Decision, Verdict, label_of
from likewise.reliability.wrapped import SCORING, WrappedAgent, handled
from likewise.scoring.label import Labeller
from likewise.scoring.stored_judge import StoredJudge

__all__ = ["ReliabilityLayer", "WrappedAgent"]


class ReliabilityLayer:
    """Measures how alike the runs of an agent are, and decides what is served.

    >>> layer = ReliabilityLayer(runs=5, mode="adaptive")  # doctest: +SKIP
    >>> verdict = layer.wrap(agent).query("What changed in 2024?")  # doctest: +SKIP
    >>> verdict.answer, verdict.label, verdict.runs_agreed  # doctest: +SKIP
    """

    def __init__(
        self,
        runs: int | None = None,
        mode: Mode | str = Mode.STANDARD,
        *,
        policy: Policy | None = None,
        escalate_threshold: float = 0.75,
        error: float = 0.1,
        budget_runs: int | None = None,
        critical_threshold: float = 0.7,
        tv: VarianceForm | str = VarianceForm.CANONICAL,
        handling: Handling | None = None,
        running: RunSettings | None = None,
        judge: Judge | None = None,
        encoder: Encoder | None = None,
        tool_rules: ToolRules | None = None,
        rules: Sequence[Rule] | str | Path | None = None,
    ) -> None:
        """Set the layer up; models load with the first query, once.

        Args:
            runs: Runs of standard and full mode (3 if not given), of adaptive mode where two are not enough (5), and
                the most runs of sequential mode (12).
            mode: standard, full, adaptive or sequential.
            policy: All numbers of the mode at once, in place of the other arguments about it.
            escalate_threshold: Adaptive mode stops after two runs only above this reliability.
            error: Sequential mode: probability of ever naming an answer that is not the agent's most frequent one.
            budget_runs: Sequential mode: most runs, in place of `runs`.
            critical_threshold: Contradiction scores above it are critical.
            tv: The form of total variance that feeds the reliability.
            handling: What is done with an answer that does not hold.
            running: Deadline, retries, concurrency, how outputs are read.
            judge: Compares answers, and reads sources; the embedded one where None.
            encoder: For embeddings; the embedded one where None and one is needed.
            tool_rules: How tool calls are compared.
            rules: Advice: rules, or a TOML file of them.

        Raises:
            ValueError: A mode, number or form that cannot be.
            ConfigError: A file of rules that cannot be used.
        """
        self.policy = policy or _policy(runs, mode, escalate_threshold, error, budget_runs)
        if not 0 <= critical_threshold <= 1:
            raise ValueError(f"critical_threshold lies in [0, 1], got {critical_threshold!r}")
        self.critical_threshold = critical_threshold
        try:
            self.tv = VarianceForm(tv)
        except ValueError:
            raise ValueError(f"no form of total variance {tv!r}; there are {', '.join(VarianceForm)}") from None
        self.handling, self.running = handling or Handling(), running or RunSettings()
        self._judge, self._encoder, self._loading = judge, encoder, threading.Lock()
        self.tool_rules = tool_rules or ToolRules()
        self.rules = (
            shipped_rules() if rules is None else read_rules(rules) if isinstance(rules, str | Path) else tuple(rules)
        )

    @cached_property
    def judge(self) -> Judge:
        """What compares answers."""
        with self._loading:  # from many threads at once, one loads
            if self._judge is None:
                from likewise.backends.judges import embedded_judge

                self._judge = embedded_judge()
            return self._judge

    @cached_property
    def grounding_judge(self) -> Judge:
        """What reads a passage of prose and a sentence: the judge's directed part where it has one, else the judge.

        The embedded judge knows the relation of two actions, which is the same both ways; support has a direction.
        Records of JSON are read by the judge itself, which has seen tool outputs (design/0022 has the figures).
        """
        directed: Judge = getattr(self.judge, "directed", self.judge)
        return directed

    @cached_property
    def encoder(self) -> Encoder:
        """What embeds texts."""
        with self._loading:
            if self._encoder is None:
                from likewise.backends.onnx_encoder import embedded_encoder

                self._encoder = embedded_encoder()
            return self._encoder

    def wrap(
        self, agent: Callable[[Any], Any] | SamplingAgent, *, sources: Sources = None, budget: Budget | None = None
    ) -> WrappedAgent:
        """The agent behind this layer.

        Args:
            agent: A function of the query, sync or async, or an `Endpoint`.
            sources: Texts that answers are checked against.
            budget: Prices and a limit on cost, over all queries.

        Raises:
            TypeError: What can be neither called nor sampled, or sources that are none.
        """
        return WrappedAgent(self, as_agent(agent), sources, budget or Budget())

    def score(
        self, outputs: Sequence[object], query: str = "", *, sources: Sources = None, failed: Sequence[RunRecord] = ()
    ) -> Verdict:
        """The verdict of outputs that were recorded elsewhere.

        Args:
            outputs: What the agent returned in each run (text, fields, message), or `RunRecord`s.
            query: What was asked.
            sources: Texts that the answer is checked against.
            failed: Further runs that failed.

        Raises:
            AgentError: No run has an answer.
            UnreliableAnswerError: The handling says so.
            TypeError: Sources that are none, or one text in place of several outputs.
        """
        check_sources(sources)
        if isinstance(outputs, str | bytes):
            raise TypeError("outputs are a list, one for each run; this is a single text")
        records = [
            output if isinstance(output, RunRecord) else self.running.reader.read(number, output)
            for number, output in enumerate(outputs)
        ]
        session = Session(self._labeller(no_progress), monotonic(), stop="recorded runs")
        with SCORING:
            verdict, verb = self._verdict(query, [*records, *failed], session, None, sources)
        return handled(verdict, OnFail.REFUSE if verb is OnFail.REASK else verb)  # nothing here can be asked again

    def _labeller(self, progress: Progress) -> Labeller:
        return Labeller(StoredJudge(self.judge, None, progress), self.tool_rules)

    def _measure(self, records: Sequence[RunRecord], labeller: Labeller, final: bool) -> Measurement:
        embeds = self.tv is VarianceForm.EMBEDDING or (final and self.policy.mode in (Mode.FULL, Mode.ADAPTIVE))
        return measure(
            records,
            labeller,
            self.encoder if embeds else None,
            form=self.tv,
            critical_above=self.critical_threshold,
        )

    def _verdict(
        self,
        query: object,
        records: Sequence[RunRecord],
        session: Session,
        runner: Runner | None,
        sources: Sources,
    ) -> tuple[Verdict, OnFail | Callable[..., Any]]:
        """Measure, ground, advise and decide. Blocking."""
        if not any(record.good for record in records):
            raise AgentError([str(record.failure) for record in records], records)
        found = self._measure(records, session.labeller, final=True)
        chosen = found.consensus.run
        said = {record.index: record.fields.main_answer for record in records if record.fields is not None}
        agreed = None if chosen is None else said[found.runs[chosen]]
        shown = next(iter(said.values())) if agreed is None else agreed  # what cannot be compared goes by the first
        grounding: GroundingReport | None = None
        if sources and shown:
            grounding = ground(shown, sources, self.grounding_judge, self.encoder, self.judge)
        decision, reasons, verb = decide(found, self.handling, grounding)
        verdict = Verdict(
            query=query if isinstance(query, str) else repr(query),
            answer=None if decision is Decision.REFUSE else shown,
            decision=decision,
            reasons=reasons,
            label=label_of(found.reliability.value, bool(found.critical)),
            measurement=found,
            records=tuple(records),
            remediation_report=advise(measures_of(found, grounding.share.value if grounding else None), self.rules),
            metadata=account(self.policy, records, session, runner) | self._measured_by(grounding is not None),
            consensus_answer=agreed,
            grounding=grounding,
        )
        return verdict, verb

    def _measured_by(self, grounded: bool) -> dict[str, JsonValue]:
        """What the numbers were made with."""
        made: dict[str, JsonValue] = {
            "judge": self.judge.judge_id,
            "tool_rules": self.tool_rules.rules_id,
            "tv": self.tv.value,
            "critical_threshold": self.critical_threshold,
        }
        if grounded:
            made["grounding_judge"] = self.grounding_judge.judge_id
        return made


def _policy(runs: int | None, mode: Mode | str, threshold: float, error: float, budget: int | None) -> Policy:
    most = {} if runs is None else {"runs": runs, "escalate_runs": runs}
    if mode == Mode.SEQUENTIAL and runs is not None:
        if budget is not None and budget != runs:
            raise ValueError(f"sequential mode takes one number of most runs, got runs={runs} and budget_runs={budget}")
        budget = runs
    if budget is not None:
        most["budget"] = budget
    return Policy(mode, escalate_threshold=threshold, error=error, **most)  # type: ignore[arg-type]
