"""What goes over the wire of the REST part, and nothing else; unknown fields are refused: a typo is no silence."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, StringConstraints, model_validator

from likewise.service.settings import ProxyMode, Runs, Seconds, Share, Verb

__all__ = [
    "MOST_GAMMA",
    "AgentIn",
    "AnalyzeIn",
    "CompareIn",
    "ErrorOut",
    "Gamma",
    "HandlingIn",
    "JobOut",
    "ReadyOut",
    "ScoreIn",
    "ScoreOut",
    "SideIn",
    "StoredVerdictOut",
    "VerdictOut",
    "VerdictPageOut",
]

MOST_GAMMA = 0.9999
"""As at the command line: nearer to 1 the sum over turns says nothing of any run that ends."""
Name = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]
Text = Annotated[str, StringConstraints(max_length=200_000)]
Gamma = Annotated[float, Field(ge=0, le=MOST_GAMMA, description="Discount per turn.")]
Message = dict[str, JsonValue]
Mode = Literal["standard", "full", "adaptive", "sequential"]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Out(BaseModel):
    model_config = ConfigDict(extra="forbid")


# --- requests -------------------------------------------------------------------------------------------------------


class AgentIn(_In):
    """An agent's endpoint; its address must be on the allow-list of the service."""

    url: Annotated[str, StringConstraints(max_length=2_000)] = Field(
        description="Base URL (chat), or the address that the query is posted to (json).",
        examples=["https://agents.example.com/support"],
    )
    protocol: Literal["chat", "json"] = Field(
        default="json",
        description=(
            '"chat": OpenAI-compatible. "json": {"query": ...} is posted; a text, {"answer": ...} or fields come back.'
        ),
    )
    model: Name = Field(default="", description="The model of a chat endpoint.")
    system: Text | None = Field(default=None, description="A system message of a chat endpoint.")
    authorization: SecretStr | None = Field(
        default=None, description="Authorization header of each call; not stored, not logged.", examples=["Bearer ..."]
    )
    parameters: dict[str, JsonValue] = Field(default={}, description="Further parts of a chat request, as temperature.")


class HandlingIn(_In):
    """What is done with an answer that does not hold."""

    critical: Verb = Field(default=Verb.REFUSE, description="Two runs contradict each other.")
    low: Verb = Field(default=Verb.FLAG, description="Reliability is below `min_reliability`.")
    unmeasured: Verb = Field(default=Verb.FLAG, description="Fewer than two good runs, or nothing to compare.")
    no_majority: Verb = Field(default=Verb.FLAG, description="No class holds more than half of the good runs.")
    min_reliability: Share = 0.5


class _Measured(_In):
    critical_threshold: Share = Field(default=0.7, description="Contradiction scores above it are critical.")
    tv: Literal["canonical", "embedding"] = Field(
        default="canonical", description="The form of total variance that feeds the reliability."
    )
    handling: HandlingIn = Field(default_factory=HandlingIn)
    sources: dict[Name, Text] | None = Field(
        default=None, description="Texts by name that the answer's sentences are checked against.", max_length=200
    )
    agent_name: Name = Field(default="", description="Name of the agent in the history.")
    version: Name = Field(default="", description="Version of the agent in the history.")
    task_id: Name = Field(default="", description="The task in the history; made of the query where empty.")


class AnalyzeIn(_Measured):
    """Run an agent several times and say whether it agrees with itself."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "agent": "support",
                    "query": "Is drug X safe in pregnancy?",
                    "runs": 5,
                    "mode": "adaptive",
                    "task_id": "pregnancy",
                }
            ]
        }
    )

    agent: Annotated[str, StringConstraints(max_length=200)] | AgentIn = Field(
        description="Name of an agent of the settings, or an endpoint."
    )
    query: Text | Annotated[list[Message], Field(min_length=1, max_length=1_000)] = Field(
        description="A question, or messages as a chat has them."
    )
    runs: Runs | None = Field(default=None, description="Runs; 3, adaptive up to 5, where not given.")
    mode: Mode = "standard"
    escalate_threshold: Share = 0.75
    error: Annotated[float, Field(gt=0, le=0.5)] = Field(
        0.1, description="Sequential: probability of naming an answer that is not the most frequent."
    )
    budget_runs: Runs = Field(default=12, description="Sequential: most runs.")
    deadline: Seconds = Field(default=120.0, description="Seconds for all runs together.")

    @property
    def proxy_mode(self) -> ProxyMode:
        """The mode among all that there are."""
        return ProxyMode(self.mode)


class ScoreIn(_Measured):
    """Score answers that were given elsewhere: one query's answers, or recorded runs of tasks."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "Is drug X safe in pregnancy?",
                    "answers": ["It is safe.", "Yes, drug X is safe.", "No, it is not safe."],
                }
            ]
        }
    )

    query: Text = ""
    answers: Annotated[list[Text | dict[str, JsonValue]], Field(min_length=1, max_length=50)] | None = Field(
        default=None,
        description=(
            "Texts, fields ({main_answer, key_findings, confidence, sources_used}), or messages with tool calls."
        ),
    )
    rollouts: list[dict[str, JsonValue]] | None = Field(
        default=None, description='Recorded runs ("likewise.rollout/1"); the report of `likewise report` comes back.'
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> ScoreIn:
        if (self.answers is None) == (self.rollouts is None):
            raise ValueError("give either `answers` or `rollouts`")
        return self


class SideIn(_In):
    """One side of a comparison."""

    name: Name = ""
    rollouts: list[dict[str, JsonValue]] | None = Field(default=None, description='Runs ("likewise.rollout/1").')
    report: dict[str, JsonValue] | None = Field(default=None, description='A report ("likewise.report/1").')

    @model_validator(mode="after")
    def _one_of_them(self) -> SideIn:
        if (self.rollouts is None) == (self.report is None):
            raise ValueError("give either `rollouts` or `report`")
        return self


def _run(name: str, answer: str) -> dict[str, Any]:
    """A recorded run, for an example."""
    turns = [{"observations": [{"source": "user", "text": "Is it safe?"}], "action": {"text": answer}}]
    return {"schema": "likewise.rollout/1", "task_id": "drug-x", "run_id": name, "turns": turns}


class CompareIn(_In):
    """Compare two versions of an agent on the tasks that both ran."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "base": {"name": "v1", "rollouts": [_run("one", "It is safe."), _run("two", "No, it is not.")]},
                    "candidate": {"name": "v2", "rollouts": [_run("one", "It is safe."), _run("two", "It is safe.")]},
                    "deciding": ["rsd"],
                    "gamma": 0.8,
                }
            ]
        }
    )

    base: SideIn
    candidate: SideIn
    deciding: Annotated[list[Name], Field(min_length=1, max_length=10)] = Field(
        ["rsd"], description="Figures that decide the verdict."
    )
    gamma: Gamma = 0.8
    soft: bool = Field(default=False, description="Distances from probabilities instead of labels.")
    pool: bool = Field(default=False, description="Treat runs of different models, agents or prompts as repeats.")
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0


# --- answers --------------------------------------------------------------------------------------------------------


class EstimateOut(_Out):
    """A number with its interval, or the reason why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    n: int | None = None
    reason: str | None = None


class FieldVarianceOut(EstimateOut):
    """Total variance of one field, and its form."""

    form: Literal["canonical", "embedding"]


class VarianceReportOut(_Out):
    """Total variance by field."""

    answer: FieldVarianceOut
    findings: FieldVarianceOut
    citations: FieldVarianceOut
    answer_embedding: EstimateOut
    findings_volume: EstimateOut
    citations_volume: EstimateOut


class CriticalPairOut(_Out):
    """Two runs that contradict each other, and the sentences in which they do."""

    run_i: int
    run_j: int
    text_i: str
    text_j: str
    score: float
    rule: str


class RecommendationOut(_Out):
    """What to change, and what is known to speak for and against it."""

    rule: str
    dimension: str
    severity: Literal["CRITICAL", "HIGH", "MEDIUM", "LOW"]
    fix: str
    detail: str
    evidence: list[str]


class RemediationReportOut(_Out):
    """What to change, the most severe first."""

    recommendations: list[RecommendationOut]
    priority_fix: str | None
    needs_human_review: bool


class VerdictOut(_Out):
    """The answer to one query and how far to trust it."""

    id: str = Field(description="Under which it is stored: GET /v1/verdicts/{id}.")
    query: str
    answer: str | None = Field(description="What may be served; null where it is refused.")
    tool_calls: list[dict[str, JsonValue]]
    consensus_answer: str | None
    decision: Literal["serve", "flag", "refuse", "failed"]
    reasons: list[str]
    reliability: float | None = Field(description="1 - mean total variance; null where it was not measured.")
    reliability_interval: EstimateOut = Field(description="The same with its interval, or the reason for null.")
    label: Literal["HIGH", "MEDIUM", "LOW", "CRITICAL", "NOT_MEASURED"]
    contradiction_score: float | None
    contradiction_mean: EstimateOut
    has_critical_contradiction: bool
    critical_pairs: list[CriticalPairOut]
    finding_clashes: list[CriticalPairOut]
    runs_agreed: str = Field(examples=["4/5"])
    runs_failed: int
    majority: bool
    tie: bool
    classes: dict[str, int]
    divergence: EstimateOut
    agreement: EstimateOut
    semantic_entropy: EstimateOut
    grounding: dict[str, Any] | None
    variance_report: VarianceReportOut
    remediation_report: RemediationReportOut
    audit_trail: list[dict[str, Any]] = Field(description="Every run in full.")
    metadata: dict[str, Any]


class StoredVerdictOut(VerdictOut):
    """A verdict of the history."""

    signature: str = Field(description="How its numbers were made.")
    created: str
    agent: str
    version: str
    model: str
    task_id: str
    route: str


class VerdictSummaryOut(_Out):
    """A verdict in a list."""

    id: str
    created: str
    agent: str
    version: str
    model: str
    task_id: str
    route: str
    query: str = Field(description="Its beginning.")
    answer: str | None = Field(description="Its beginning.")
    decision: str
    label: str
    reliability: float | None
    reliability_interval: EstimateOut
    contradiction_score: float | None
    has_critical_contradiction: bool
    runs_agreed: str
    runs_failed: int


class VerdictPageOut(_Out):
    """Verdicts, the newest first."""

    items: list[VerdictSummaryOut]
    next: str | None = Field(description="Give it as `after` for the following page.")


class ScoreOut(_Out):
    """The verdict of answers, or the report of rollouts."""

    verdict: VerdictOut | None = None
    report: dict[str, Any] | None = Field(default=None, description='"likewise.report/1"')


class JobOut(_Out):
    """A background report."""

    id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    what: str = Field(description="The phase under way.")
    done: int = Field(description="Steps of it that are done.")
    total: int | None
    error: str | None
    created: str
    started: str | None
    finished: str | None
    result_url: str | None = Field(description="Where the report is, once it is done.")
    events_url: str


class ReadyOut(_Out):
    """Whether requests can be served."""

    status: Literal["ready", "not ready"]
    checks: dict[str, str]


class ErrorDetailOut(_Out):
    """What is wrong."""

    message: str
    type: str
    code: str | None
    param: str | None


class ErrorOut(_Out):
    """Every refusal has this form."""

    error: ErrorDetailOut
