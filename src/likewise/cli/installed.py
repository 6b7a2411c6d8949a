"""Which optional parts are installed, told from the names and versions that the package itself declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, version
from types import MappingProxyType
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

__all__ = ["BRINGS", "Extra", "extras"]

BRINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "hf": "judges and encoders of the Hugging Face hub",
        "llm": "chat models as judge, and endpoints as agent",
        "learned": "training of the learned metric",
        "train": "training of agents",
        "ray": "labelling on a Ray cluster",
        "remote": "files elsewhere (s3:// and others)",
        "parquet": "Parquet files",
        "serve": "REST service, proxy, dashboard and history",
        "postgres": "the history in PostgreSQL",
        "openai-agents": "agents of the OpenAI Agents SDK",
        "langchain": "agents of LangChain and LangGraph",
        "pydantic-ai": "agents of Pydantic AI",
        "ag2": "agents of AG2",
        "autogen": "agents of AutoGen",
        "crewai": "agents of CrewAI",
    }
)
"""What each extra is for."""


@dataclass(frozen=True, slots=True)
class Extra:
    """One optional part.

    Attributes:
        name: As in `pip install 'likewise[NAME]'`.
        installed: Its packages that are there and new enough, as "name version".
        missing: Its packages that are not there.
        unfit: Its packages of a version that does not do, as "name version, needs >=x".
    """

    name: str
    installed: tuple[str, ...]
    missing: tuple[str, ...]
    unfit: tuple[str, ...]


def extras(distribution: str = "likewise") -> list[Extra]:
    """The optional parts of an installed distribution, in alphabetical order; none where it is not installed."""
    try:
        declared = metadata(distribution)
    except PackageNotFoundError:  # run from a source tree
        return []
    lines = declared.get_all("Requires-Dist") or []
    return [_extra(name, lines) for name in sorted(declared.get_all("Provides-Extra") or [])]


def _extra(name: str, lines: list[str]) -> Extra:
    installed, missing, unfit = list[str](), list[str](), list[str]()
    for need in _needs(name, lines):
        try:
            found = version(need.name)
        except PackageNotFoundError:
            missing.append(need.name)
            continue
        if need.specifier.contains(found, prereleases=True):
            installed.append(f"{need.name} {found}")
        else:
            unfit.append(f"{need.name} {found}, needs {need.specifier}")
    return Extra(name, tuple(installed), tuple(missing), tuple(unfit))


def _needs(name: str, lines: list[str]) -> Iterator[Requirement]:
    """What an extra asks for on this machine."""
    for line in lines:
        try:
            need = Requirement(line)
        except InvalidRequirement:  # of a metadata version to come
            continue
        if need.marker is None or need.marker.evaluate({"extra": ""}) or canonicalize_name(need.name) == "likewise":
            continue
        if need.marker.evaluate({"extra": name}):
            yield need
