"""What `likewise doctor` looks at, one function a part: each tries the part itself and says how to mend it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from likewise.core.errors import BackendError, ConfigError, LikewiseError, StoreUnavailableError

__all__ = [
    "Check",
    "State",
    "check_encoder",
    "check_endpoint",
    "check_extras",
    "check_history",
    "check_judge",
    "check_service",
    "check_settings",
    "check_store",
]

ANSWER_SECONDS: Final = 5.0
"""How long an endpoint has for the list of its models."""
SAME: Final = ("I have cancelled reservation 4WQ150.", "Reservation 4WQ150 is now cancelled.")
OPPOSED: Final = ("Your refund has been approved.", "Your refund has been denied.")
"""Pairs whose relation is beyond doubt; a judge that errs on one is not the one that was measured."""


class State(StrEnum):
    """How a part is."""

    FINE = "fine"
    OFF = "off"
    """Not there, or not asked for; nothing that was set up needs it."""
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Check:
    """What was found of one part.

    Attributes:
        name: The part.
        state: How it is.
        detail: What was found.
        fix: What to do; "" where there is nothing to do.
    """

    name: str
    state: State
    detail: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        """For `--json`."""
        return {"name": self.name, "state": str(self.state), "detail": self.detail, "fix": self.fix}


def check_extras() -> Iterator[Check]:
    """Each extra: installed with which versions, not installed, or of versions that do not do."""
    from likewise.cli.installed import BRINGS, extras

    for extra in extras():
        name, line = f"extra {extra.name}", f"pip install 'likewise[{extra.name}]'"
        purpose = BRINGS.get(extra.name, "")
        if extra.unfit:
            yield Check(name, State.BROKEN, "; ".join(extra.unfit), f"{line} --upgrade")
        elif extra.missing:
            yield Check(name, State.OFF, f"{purpose}; lacks {', '.join(extra.missing)}", line)
        else:
            yield Check(name, State.FINE, ", ".join(extra.installed))


REINSTALL: Final = "pip install --force-reinstall likewise"


def check_judge() -> Check:
    """The embedded judge: whether it loads and knows two pairs."""
    from likewise.backends.judges import embedded_judge
    from likewise.core.labels import Judgement, Relation

    wanted = {SAME: Relation.EQUIVALENT, OPPOSED: Relation.CONTRADICTORY}
    try:
        judge = embedded_judge()
        answers = list(judge.judge(list(wanted)))
    except (BackendError, ImportError, OSError) as problem:
        return Check("judge", State.BROKEN, f"does not load: {problem}", REINSTALL)
    for (pair, relation), answer in zip(wanted.items(), answers, strict=True):
        if not isinstance(answer, Judgement):
            return Check("judge", State.BROKEN, f"no answer for {pair[0]!r} / {pair[1]!r}: {answer}", REINSTALL)
        if answer.relation != relation:
            said = f"{answer.relation.name.lower()}, not {relation.name.lower()}"
            return Check("judge", State.BROKEN, f"calls {pair[0]!r} / {pair[1]!r} {said}", REINSTALL)
    return Check("judge", State.FINE, f"{judge.judge_id} loads and knows {len(wanted)} of {len(wanted)} pairs")


def check_encoder() -> Check:
    """The embedded encoder: whether it loads and finds two ways to say one thing nearer than another thing."""
    from likewise.backends.onnx_encoder import embedded_encoder

    try:
        encoder = embedded_encoder()
        one, other, apart = encoder.encode([*SAME, "The weather in Lisbon is mild."])
    except (BackendError, ImportError, OSError) as problem:
        return Check("encoder", State.BROKEN, f"does not load: {problem}", REINSTALL)
    near, far = float(one @ other), float(one @ apart)
    if near <= far:
        return Check("encoder", State.BROKEN, f"finds {SAME[0]!r} nearer to the weather than to itself", REINSTALL)
    return Check("encoder", State.FINE, f"{encoder.encoder_id} loads; cosine {near:.2f} alike, {far:.2f} apart")


def check_store(path: Path | None) -> Check:
    """The label store: whether it opens and takes a write, which is undone."""
    from likewise.backends.label_store import LabelStore, default_path

    place = (path or default_path()).expanduser()
    try:
        with LabelStore(place) as store:
            with store.beside(write=True) as connection:
                connection.execute("CREATE TABLE doctor (n)")
                connection.execute("DROP TABLE doctor")
            return Check("label store", State.FINE, f"{place}, writable, {len(store):,} judgement(s)")
    except BackendError as problem:
        return Check("label store", State.BROKEN, str(problem), "likewise report --store FILE, or as the message says")


def check_settings(config: Path | None) -> Check:
    """`likewise.toml`: whether every section of it is understood."""
    from likewise.backends.tool_rules import ToolRules
    from likewise.core.config import find_config, read_config
    from likewise.evaluation.gate_rules import gate_settings

    path = config or find_config()
    if path is None:
        return Check("settings", State.OFF, "no likewise.toml in this folder; defaults are used")
    try:
        table = read_config(path)
        rules, gates = ToolRules.from_config(table), gate_settings(table.table("gates"))
    except ConfigError as problem:
        return Check("settings", State.BROKEN, str(problem), "mend that line; docs/configuration.md lists the keys")
    gated = "with gates" if gates.any else "without gates"
    return Check("settings", State.FINE, f"{path}, {gated}, rules {rules.rules_id}")


def check_service() -> Check | None:
    """Settings of the service, where LIKEWISE_CONFIG names some; None where it does not."""
    named = os.environ.get("LIKEWISE_CONFIG", "").strip()
    if not named:
        return None
    try:
        from likewise.service.settings import load_settings

        load_settings(Path(named))
    except ImportError:
        return Check(
            "service settings", State.BROKEN, f"{named} is set, not installed", "pip install 'likewise[serve]'"
        )
    except ConfigError as problem:
        return Check("service settings", State.BROKEN, str(problem), "mend that line")
    return Check("service settings", State.FINE, named)


def check_history(url: str | None) -> Check:
    """The history of verdicts: whether it is reachable and of this version's layout."""
    try:
        from likewise.store.engine import Database, default_url, parse_url
        from likewise.store.migrate import check, latest
    except ImportError:
        return Check("history", State.OFF, "needs the extra serve", "pip install 'likewise[serve]'")
    try:
        address = parse_url(url or default_url())
        if address.get_backend_name() == "sqlite" and not Path(str(address.database)).exists():
            place = address.render_as_string(hide_password=True)
            return Check("history", State.OFF, f"{place}: none yet", "likewise db upgrade makes it; so does serve")
        database = Database(address)
        try:
            check(database)
        finally:
            database.close()
    except StoreUnavailableError as problem:
        return Check("history", State.BROKEN, f"{problem.where}: {problem.problem}", problem.advice)
    except LikewiseError as problem:
        return Check("history", State.BROKEN, str(problem), "set LIKEWISE_DATABASE_URL, or name another by --database")
    return Check("history", State.FINE, f"{database.where}, layout {latest()}")


def check_endpoint(url: str | None) -> Check:
    """The endpoint of a chat model: whether it lists its models. No text is sent to it."""
    named = url or os.environ.get("OPENAI_BASE_URL", "").strip()
    if not named:
        key = "OPENAI_API_KEY is set; OpenAI was not asked" if os.environ.get("OPENAI_API_KEY") else "none is set"
        return Check("endpoint", State.OFF, key, "--endpoint URL asks one")
    from likewise.cli.doctor_endpoint import ask_endpoint

    problem, fix = ask_endpoint(named, ANSWER_SECONDS)
    return Check("endpoint", State.BROKEN if fix else State.FINE, problem, fix)
