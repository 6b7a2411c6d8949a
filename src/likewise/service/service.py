"""Everything that requests share, made once: models, history, keys, connections, metrics."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import anyio.to_thread
import httpx2

from likewise.backends.encoders import encoder_from_name
from likewise.backends.judges import judge_from_name
from likewise.core.errors import AgentError, ConfigError, LabelError, StoreUnavailableError
from likewise.core.protocols import Encoder, Judge
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.runs import RunRecord
from likewise.reliability.verdict import Verdict
from likewise.service.connections import upstream_client
from likewise.service.credentials import RequestRedactor
from likewise.service.metrics import Metrics
from likewise.service.policies import Chosen, PolicyTable, handling_of, policy_of, running_of
from likewise.service.security.allow_list import AllowList
from likewise.service.security.keys import KeyRing
from likewise.service.security.outbound import guarded_client
from likewise.service.security.rate_limit import RateLimiter
from likewise.service.settings import PolicySettings, ProxyMode, ServiceSettings
from likewise.service.tracing import Tracing
from likewise.service.upstream import Upstream
from likewise.store.records import Origin, VerdictRecord
from likewise.store.store import Store
from likewise.store.writer import BatchReport, VerdictWriter

if TYPE_CHECKING:
    from likewise.service.schemas import AnalyzeIn

__all__ = ["Service", "new_id"]

_LOG = logging.getLogger("likewise.service")
Task = Callable[["Service"], Awaitable[None]]


def new_id() -> str:
    """A name for a verdict."""
    return uuid4().hex


class Service:
    """What requests share.

    Attributes:
        settings: All settings.
        metrics: Counts and times.
        tracing: Makes spans.
        policies: Which requests of the proxy are verified.
        allow: Addresses of agents that callers may name.
        redactor: Takes secrets out of log lines.
        ready: Whether requests can be served.
        stopping: Whether the process was told to end; what is in flight is finished.
    """

    store: Store
    writer: VerdictWriter
    ring: KeyRing
    http: httpx2.AsyncClient
    guarded: httpx2.AsyncClient

    def __init__(
        self, settings: ServiceSettings, *, judge: Judge | None = None, encoder: Encoder | None = None
    ) -> None:
        """Check the settings; nothing is loaded or opened yet.

        Raises:
            ConfigError: Settings that cannot be.
        """
        self.settings, self.metrics, self.tracing = settings, Metrics(), Tracing(settings.telemetry)
        self.policies, self.limiter = PolicyTable(settings), RateLimiter()
        self.allow = AllowList.parse(settings.allow)
        for place, policy in enumerate(settings.policies):
            if policy.mode is ProxyMode.OFF:
                continue
            try:
                policy_of(policy)
                running_of(policy)
            except ValueError as problem:
                raise ConfigError("settings", str(problem), key=f"policies[{place}]") from None
        self._judge, self._encoder, self._loaded = judge, encoder, False
        self.redactor = RequestRedactor(known=_secrets(settings))
        self._layers: dict[int, ReliabilityLayer] = {}
        self._tasks: list[tuple[str, Task]] = []
        self.upstreams: Mapping[str, Upstream] = {}
        self.ready = self.stopping = False

    # --- loading ----------------------------------------------------------------------------------------------------

    @property
    def judge(self) -> Judge:
        """What compares answers; loaded by `load`."""
        if self._judge is None:
            raise RuntimeError("the service is not loaded")
        return self._judge

    @property
    def encoder(self) -> Encoder:
        """What embeds texts; loaded by `load`."""
        if self._encoder is None:
            raise RuntimeError("the service is not loaded")
        return self._encoder

    def load(self) -> None:
        """Open the history and load the models; blocking, once.

        Raises:
            StoreUnavailableError: The history cannot be opened.
            BackendError: A model cannot be loaded.
            ConfigError: No judge or encoder has such a name.
        """
        if self._loaded:
            return
        url = self.settings.database_url
        self.store = Store.open(None if url is None else url.get_secret_value(), secrets=_secrets(self.settings))
        try:
            self._load_models()
        except BaseException:
            self.store.close()
            raise
        self._loaded = True

    def _load_models(self) -> None:
        try:
            self._judge = self._judge or judge_from_name(self.settings.judge)
            self._encoder = self._encoder or encoder_from_name(self.settings.encoder)
        except ValueError as problem:
            raise ConfigError("settings", str(problem), key="judge or encoder") from None
        try:  # what models leave to their first use happens now, not in a caller's time
            list(self._judge.judge([("The service starts.", "The service has started.")]))
        except LabelError as problem:
            _LOG.warning("the judge could not judge its first pair: %s", problem)
        self._encoder.encode(["The service starts."])

    def spawn(self, name: str, task: Task) -> None:
        """Have a task run beside the requests, from start to shutdown, which cancels it; before the start only."""
        self._tasks.append((name, task))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve: connections, writer and background tasks; at the end each verdict that was taken on is stored."""
        async with AsyncExitStack() as stack:
            await anyio.to_thread.run_sync(self.load)
            stack.push_async_callback(anyio.to_thread.run_sync, self.store.close)
            stack.callback(self.tracing.close)
            self.ring = KeyRing(self.store)
            self.http = await stack.enter_async_context(upstream_client())
            self.guarded = await stack.enter_async_context(guarded_client(self.allow, timeout=None))
            self.upstreams = {
                name: Upstream(name, each, self.http, self.metrics, self.tracing, self.settings.max_response_bytes)
                for name, each in self.settings.upstreams.items()
            }
            self.writer = await stack.enter_async_context(VerdictWriter(self.store, on_batch=self._batch))
            tasks = await stack.enter_async_context(anyio.create_task_group())
            for name, task in self._tasks:
                tasks.start_soon(self._guard, name, task, name=name)
            self.ready = True
            try:
                yield
            finally:
                self.ready = False
                tasks.cancel_scope.cancel()

    async def _guard(self, name: str, task: Task) -> None:
        """A background task that fails is begun again: it must take nothing else down with it."""
        while True:
            try:
                await task(self)
            except Exception:
                _LOG.exception("the background task %r failed; it begins again", name)
                await anyio.sleep(5)
            else:
                return

    def _batch(self, report: BatchReport) -> None:
        self.metrics.store_waiting.set(report.waiting)
        self.metrics.store_seconds.observe(report.seconds)
        if report.error is None:
            self.metrics.stored.inc(report.size)
        else:
            self.metrics.store_failures.inc()

    # --- layers -----------------------------------------------------------------------------------------------------

    def layer(self, chosen: Chosen) -> ReliabilityLayer:
        """The layer of a policy, made once."""
        if chosen.number not in self._layers:
            self._layers[chosen.number] = self.layer_of(chosen.policy)
        return self._layers[chosen.number]

    def layer_of(self, policy: PolicySettings, **more: Any) -> ReliabilityLayer:  # noqa: ANN401 - the layer's own
        """A layer with these settings, and the models of all.

        Raises:
            ValueError: Settings that cannot be together.
        """
        return ReliabilityLayer(
            policy=policy_of(policy),
            critical_threshold=policy.critical_threshold,
            handling=handling_of(policy),
            running=running_of(policy),
            judge=self.judge,
            encoder=self.encoder,
            **more,
        )

    # --- work -------------------------------------------------------------------------------------------------------

    async def analyze(self, wanted: AnalyzeIn, caller: str) -> tuple[str, Verdict]:
        """What POST /v1/analyze does, for those who are no client: see `analyze_routes.analyze`."""
        from likewise.service.analyze_routes import analyze  # which needs this module

        return await analyze(self, wanted, caller)

    # --- history ----------------------------------------------------------------------------------------------------

    async def keep(self, verdict: Verdict, origin: Origin, identity: str, secrets: tuple[str, ...] = ()) -> None:
        """Store a verdict, without the secrets of its request; it is durable when this returns.

        Raises:
            StoreUnavailableError: It is not.
        """
        await self._put(partial(VerdictRecord.of, verdict, origin, id=identity), secrets)

    async def keep_failure(
        self, query: str, problem: AgentError, origin: Origin, identity: str, secrets: tuple[str, ...] = ()
    ) -> None:
        """Store that a query got no answer; see `keep`."""
        records = [record for record in problem.records if isinstance(record, RunRecord)]
        await self._put(partial(VerdictRecord.of_failure, query, str(problem), records, origin, id=identity), secrets)

    async def _put(self, make: Callable[[], VerdictRecord], secrets: tuple[str, ...]) -> None:
        try:
            record = replace(make(), secrets=secrets)
        except ValueError as problem:
            raise StoreUnavailableError(self.store.where, f"a verdict that cannot be stored: {problem}") from problem
        await self.writer.put(record)


def _secrets(settings: ServiceSettings) -> list[str]:
    """Every secret that the service itself holds, so that none of them is ever in a log line."""
    keyed = [*settings.upstreams.values(), *settings.agents.values()]
    found = [each.key or "" for each in keyed] + [value for each in keyed for value in each.own_headers.values()]
    found += [value.get_secret_value() for value in settings.telemetry.headers.values()]
    found += settings.alerts.secrets
    url = settings.database_url.get_secret_value() if settings.database_url is not None else ""
    return [*found, url] if "@" in url else found
