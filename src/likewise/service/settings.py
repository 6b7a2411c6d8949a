"""What the service is told: by environment variables (LIKEWISE_...), and by a TOML file where one is named."""

from __future__ import annotations

import os
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from likewise.core.config import read_toml
from likewise.core.errors import ConfigError
from likewise.service.page_settings import AlertSettings, DashboardSettings, Part, Seconds, plain_url

__all__ = [
    "AgentSettings",
    "KeyFrom",
    "PolicySettings",
    "ProxyMode",
    "Seconds",
    "ServiceSettings",
    "StoreDown",
    "UpstreamSettings",
    "Verb",
    "is_loopback",
    "load_settings",
]

Share = Annotated[float, Field(ge=0, le=1)]
Runs = Annotated[int, Field(ge=2, le=100)]


class KeyFrom(StrEnum):
    """Whose key an upstream is called with."""

    EITHER = "either"
    """The caller's, where the request brings one that is not ours; else the server's."""
    CALLER = "caller"
    SERVER = "server"


class ProxyMode(StrEnum):
    """How runs are spent on a request to the proxy."""

    OFF = "off"
    """Passed through, byte for byte."""
    STANDARD = "standard"
    FULL = "full"
    ADAPTIVE = "adaptive"
    SEQUENTIAL = "sequential"


class Verb(StrEnum):
    """What is done with an answer that does not hold."""

    REFUSE = "refuse"
    FLAG = "flag"
    PASS = "pass"


class StoreDown(StrEnum):
    """What the proxy does with a verdict that cannot be stored."""

    REFUSE = "refuse"
    SERVE = "serve"


class _Keyed(Part):
    api_key: SecretStr | None = None
    api_key_env: str | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict)

    @property
    def key(self) -> str | None:
        """The server's own key: as given, or from the variable that is named."""
        if self.api_key is not None:
            return self.api_key.get_secret_value().strip() or None
        return os.environ.get(self.api_key_env or "", "").strip() or None

    @property
    def own_headers(self) -> dict[str, str]:
        """Further headers of every call, by lower-case name."""
        return {name.lower(): value.get_secret_value() for name, value in self.headers.items()}


class UpstreamSettings(_Keyed):
    """An OpenAI-compatible endpoint that the proxy stands in front of; the operator names it, so it may be private.

    Attributes:
        base_url: As a client would be given it, with `/v1` where the endpoint has that.
        models: Models (with `*` as wildcard) that go to this upstream where no policy names another.
        key_from: Whose key it is called with.
        by_n: Whether several samples may be asked for by `n`; found out where the endpoint does not heed it.
        timeout: Seconds without a byte after which a call is given up.
        connect_timeout: Seconds for the connection.
    """

    base_url: str
    models: tuple[str, ...] = ("*",)
    key_from: KeyFrom = KeyFrom.EITHER
    by_n: bool = True
    timeout: Seconds = 600.0
    connect_timeout: Seconds = 10.0

    _checked = field_validator("base_url")(plain_url)


class AgentSettings(_Keyed):
    """An agent that /v1/analyze may run by its name; the operator names it, so it need not be listed in `allow`.

    Attributes:
        url: Base URL (protocol "chat") or the address that is posted to (protocol "json").
        protocol: "chat": OpenAI-compatible; "json": `{"query": ...}` is posted, text or fields come back.
        model: The model of a chat endpoint.
        system: A system message of a chat endpoint.
        version: Version of the agent, for the history.
        parameters: Further parts of a chat request.
    """

    url: str
    protocol: Literal["chat", "json"] = "chat"
    model: str = ""
    system: str | None = None
    version: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)

    _checked = field_validator("url")(plain_url)


class PolicySettings(Part):
    """What is done with the proxy's requests of some routes and models; the first policy that fits is taken.

    Attributes:
        route: Route (`/r/ROUTE/v1/...`; "default" without one), with `*` as wildcard.
        model: Model, with `*` as wildcard.
        upstream: Where its requests go; else the first upstream whose `models` fit.
        mode: How runs are spent; "off" passes requests through.
        runs: Runs of a request; the mode's own number where None.
        escalate_threshold: Adaptive: stop after two runs only above this reliability.
        error: Sequential: probability of naming an answer that is not the most frequent.
        budget_runs: Sequential: most runs, in place of `runs`.
        critical_threshold: Contradiction scores above it are critical.
        critical: On a critical contradiction.
        low: On a reliability below `min_reliability`.
        unmeasured: On fewer than two good runs, or answers that could not be compared.
        no_majority: Where no class holds more than half of the runs.
        min_reliability: See `low`.
        deadline: Seconds for all runs of a request.
        attempts: Calls of one run at most, where errors pass; clients try again on their own.
        store: Whether verdicts are stored.
        store_down: Where they cannot be.
    """

    route: str = "*"
    model: str = "*"
    upstream: str | None = None
    mode: ProxyMode = ProxyMode.STANDARD
    runs: Runs | None = None
    escalate_threshold: Share = 0.75
    error: Annotated[float, Field(gt=0, le=0.5)] = 0.1
    budget_runs: Runs = 12
    critical_threshold: Share = 0.7
    critical: Verb = Verb.REFUSE
    low: Verb = Verb.FLAG
    unmeasured: Verb = Verb.FLAG
    no_majority: Verb = Verb.FLAG
    min_reliability: Share = 0.5
    deadline: Seconds = 120.0
    attempts: Annotated[int, Field(ge=1, le=10)] = 1
    store: bool = True
    store_down: StoreDown = StoreDown.REFUSE


class TelemetrySettings(Part):
    """Where traces go; nowhere unless an endpoint is set.

    Attributes:
        endpoint: OTLP over HTTP, without `/v1/traces`.
        service_name: Name of this service in traces.
        headers: Headers of the exporter.
        sample: Share of requests that are traced.
    """

    endpoint: str | None = None
    service_name: str = "likewise"
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    sample: Share = 1.0


class ServiceSettings(BaseSettings):
    """All settings of the service. The environment comes before the file.

    Attributes:
        host: Address that is listened on.
        port: Port; 0 takes a free one.
        keys: Whether API keys are needed; without them the service listens on loopback alone.
        metrics_keys: Whether /metrics needs one, with the scope `read`.
        https: Whether browsers reach the service by https (cookies are then marked so).
        database_url: SQLite or PostgreSQL; a file in the user's data folder where None.
        judge: As `likewise report --judge` takes it.
        encoder: As `likewise report --encoder` takes it.
        upstreams: Endpoints behind the proxy, by name.
        policies: Which requests are verified, and how.
        pass_through: Further paths below /v1 that are passed through unverified, as in "embeddings".
        agents: Agents that /v1/analyze may run by name.
        allow: Addresses of agents that callers may name, as `host`, `host:port` or `http://host:port`.
        max_body_bytes: Largest request.
        max_upload_bytes: Largest upload to /v1/reports.
        max_response_bytes: Largest answer of one upstream call that is compared.
        max_runs: Most runs that a caller of /v1/analyze may ask for.
        max_deadline: Longest deadline that a caller may ask for, in seconds.
        score_seconds: Longest time that /v1/score and /v1/compare take; what needs more belongs in /v1/reports.
        receive_seconds: Longest time in which the head of a request arrives, and then its body (a large one may take as
            much longer as its bytes need at 10 kB a second).
        max_in_flight: Requests that are worked on at once; further ones are refused with 503.
        max_rollouts: Most rollouts that /v1/score and /v1/compare take; more belong in /v1/reports.
        jobs: Whether this process works on background reports.
        job_lease: Seconds without a sign of life after which another process takes a report over.
        shutdown_seconds: Longest wait at shutdown for what is in flight.
        retention_days: Verdicts older than this are deleted; None keeps all.
        log_level: debug, info, warning or error.
        telemetry: Traces.
        dashboard: Pages.
        alerts: Who is told of regressions.
    """

    model_config = SettingsConfigDict(
        env_prefix="LIKEWISE_", env_nested_delimiter="__", extra="forbid", frozen=True, validate_default=True
    )

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8700
    keys: bool = True
    metrics_keys: bool = False
    https: bool = False
    database_url: SecretStr | None = None
    judge: str = "embedded"
    encoder: str = "embedded"
    upstreams: dict[str, UpstreamSettings] = Field(default_factory=dict)
    policies: tuple[PolicySettings, ...] = ()
    pass_through: tuple[str, ...] = ()
    agents: dict[str, AgentSettings] = Field(default_factory=dict)
    allow: tuple[str, ...] = ()
    max_body_bytes: Annotated[int, Field(ge=1_024)] = 8 * 2**20
    max_upload_bytes: Annotated[int, Field(ge=1_024)] = 64 * 2**20
    max_response_bytes: Annotated[int, Field(ge=1_024)] = 32 * 2**20
    max_runs: Runs = 20
    max_deadline: Seconds = 600.0
    score_seconds: Seconds = 300.0
    receive_seconds: Seconds = 30.0
    max_in_flight: Annotated[int, Field(ge=1)] = 256
    max_rollouts: Annotated[int, Field(ge=1)] = 200
    jobs: bool = True
    job_lease: Seconds = 60.0
    shutdown_seconds: Annotated[int, Field(ge=1, le=86_400)] = 130
    retention_days: Annotated[int, Field(ge=1)] | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)
    dashboard: DashboardSettings = Field(default_factory=DashboardSettings)
    alerts: AlertSettings = Field(default_factory=AlertSettings)

    @model_validator(mode="after")
    def _sound(self) -> ServiceSettings:
        for place, policy in enumerate(self.policies):
            if policy.upstream is not None and policy.upstream not in self.upstreams:
                raise ValueError(f"policies[{place}] names the upstream {policy.upstream!r}, which there is none of")
        if not self.keys and not is_loopback(self.host):
            raise ValueError(f"keys = false is for loopback only, and host is {self.host!r}")
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What was given in Python, then the environment, then the file."""
        del dotenv_settings, file_secret_settings
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls))


def is_loopback(host: str) -> bool:
    """Whether a host, by name or address, is this machine and reached from nowhere else."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load_settings(config: Path | None = None, **given: Any) -> ServiceSettings:  # noqa: ANN401 - any setting
    """The settings, or what is wrong with them in one sentence, without repeating any value that may be a secret.

    Args:
        config: The TOML file; the one that LIKEWISE_CONFIG names where None.
        given: Settings that come before all others.

    Raises:
        ConfigError: The file cannot be read, or a setting cannot be.
    """
    named = str(config) if config is not None else os.environ.get("LIKEWISE_CONFIG", "").strip()
    if named:
        read_toml(named)  # says what is wrong with the file itself

    class _Settings(ServiceSettings):
        model_config = SettingsConfigDict(toml_file=named or None)

    try:
        return _Settings(**given)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        words = str(first["msg"]).removeprefix("Value error, ")
        raise ConfigError(named or "settings", words, key=key or None) from None
    except ValueError as problem:  # an environment variable that should be JSON
        raise ConfigError("environment", " ".join(str(problem).split())) from None
