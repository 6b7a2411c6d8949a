"""What to change where runs differ: rules as data, each with its evidence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from likewise.core.errors import ConfigError
from likewise.reliability.scores import Measurement
from likewise.reliability.verdict import Recommendation, RemediationReport, Severity

__all__ = ["MEASURES", "Rule", "advise", "measures_of", "read_rules", "shipped_rules"]

MEASURES = ("contradiction", "answer", "findings", "citations", "reliability", "grounding", "failed")
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_TEXTS = ("name", "measure", "dimension", "severity", "fix")


@dataclass(frozen=True, slots=True)
class Rule:
    """When to advise what: fires where `measure` is above `above` or below `below`."""

    name: str
    measure: str
    dimension: str
    severity: Severity
    fix: str
    above: float | None = None
    below: float | None = None
    detail: str = ""
    evidence: tuple[str, ...] = ()
    human_review: bool = False

    def fires(self, value: float | None) -> bool:
        """Whether the rule speaks; never of what was not measured."""
        if value is None:
            return False
        return (self.above is not None and value > self.above) or (self.below is not None and value < self.below)


def measures_of(found: Measurement, grounding: float | None = None) -> dict[str, float | None]:
    """What rules look at, by name; None where not measured."""
    total = len(found.runs) + found.failed
    return {
        "contradiction": found.contradiction.value,
        "answer": found.variance.answer.value,
        "findings": found.variance.findings.value,
        "citations": found.variance.citations.value,
        "reliability": found.reliability.value,
        "grounding": grounding,
        "failed": found.failed / total if total else None,
    }


def advise(measures: Mapping[str, float | None], rules: Sequence[Rule]) -> RemediationReport:
    """The rules that fire, the most severe first; rules of one severity in the order given."""
    fired = sorted((rule for rule in rules if rule.fires(measures.get(rule.measure))), key=lambda r: _RANK[r.severity])
    return RemediationReport(
        tuple(
            Recommendation(
                rule.name,
                rule.dimension,
                rule.severity,
                rule.fix,
                f"{rule.detail} ({rule.measure} {measures[rule.measure]:.2f})".strip(),
                rule.evidence,
            )
            for rule in fired
        ),
        any(rule.human_review for rule in fired),
    )


@lru_cache(maxsize=1)
def shipped_rules() -> tuple[Rule, ...]:
    """The rules that come with the package."""
    return _parse((files("likewise.reliability") / "rules.toml").read_text(), "rules.toml")


def read_rules(path: str | Path) -> tuple[Rule, ...]:
    """Rules of a user's file.

    Raises:
        ConfigError: The file is no TOML, or a rule in it cannot be one.
        OSError: The file cannot be read.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise ConfigError(str(path), "not UTF-8 text", expected="TOML") from problem
    return _parse(text, str(path))


def _parse(text: str, path: str) -> tuple[Rule, ...]:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(path, f"not TOML: {problem}") from problem
    listed = table.get("rule")
    if not isinstance(listed, list) or set(table) != {"rule"}:
        raise ConfigError(path, "no list of rules alone", expected="[[rule]] tables")
    rules = tuple(_rule(entry, f"rule[{i}]", path) for i, entry in enumerate(listed))
    names = [rule.name for rule in rules]
    if len(set(names)) != len(names):
        raise ConfigError(path, "two rules have one name")
    return rules


def _rule(entry: Any, at: str, path: str) -> Rule:  # noqa: ANN401 - a user's file holds anything
    if not isinstance(entry, dict):
        raise ConfigError(path, "not a table", key=at)
    unknown = sorted(set(entry) - {*Rule.__dataclass_fields__})
    if unknown:
        raise ConfigError(path, "no such key", key=f"{at}.{unknown[0]}", expected=", ".join(Rule.__dataclass_fields__))
    for key in _TEXTS:
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise ConfigError(path, "missing or no text", key=f"{at}.{key}", expected="a text")
    if entry["measure"] not in MEASURES:
        raise ConfigError(path, "no such measure", key=f"{at}.measure", expected=", ".join(MEASURES))
    if entry["severity"] not in set(Severity):
        raise ConfigError(path, "no such severity", key=f"{at}.severity", expected=", ".join(Severity))
    limits = {key: entry[key] for key in ("above", "below") if key in entry}
    if len(limits) != 1 or any(isinstance(v, bool) or not isinstance(v, int | float) for v in limits.values()):
        raise ConfigError(path, "needs one limit", key=at, expected="a number under `above` or `below`")
    evidence = entry.get("evidence", [])
    if not isinstance(evidence, list) or not all(isinstance(item, str) for item in evidence):
        raise ConfigError(path, "not a list of texts", key=f"{at}.evidence")
    return Rule(**{**entry, "severity": Severity(entry["severity"]), "evidence": tuple(evidence)})
