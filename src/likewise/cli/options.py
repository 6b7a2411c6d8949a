"""Options that several commands share: one name, one meaning, one help line."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from likewise.core.group import LengthPolicy

if TYPE_CHECKING:
    from likewise.backends.label_store import LabelStore
    from likewise.backends.tool_rules import ToolRules
    from likewise.core.config import Table
    from likewise.scoring.score import ScoringOptions

__all__ = [
    "AgentEndpoint",
    "AgentModel",
    "AsJson",
    "ConfigFile",
    "Debug",
    "Format",
    "Gamma",
    "HtmlFile",
    "JsonFile",
    "JunitFile",
    "Length",
    "MapFile",
    "MarkdownFile",
    "NoStore",
    "Paths",
    "Pool",
    "Quiet",
    "RulesAndStore",
    "ScoringFlags",
    "Seed",
    "Soft",
    "Store",
    "Strict",
    "ToolsFiles",
    "finite",
    "load_config",
    "load_rules",
    "open_store",
]


def finite(value: float | None) -> float | None:
    """Refuse what is no finite number.

    Raises:
        BadParameter: It is none.
    """
    if value is not None and not math.isfinite(value):  # passes every comparison with a limit
        raise typer.BadParameter("not a finite number")
    return value


def _at_least_one(context: typer.Context, paths: list[Path] | None) -> list[Path]:
    if not paths and not context.resilient_parsing:
        raise typer.BadParameter(f"name files or folders of recorded runs, as in: {context.command_path} runs/*.json")
    if Path("-") in (paths or []) and not Path("-").exists():
        raise typer.BadParameter("standard input is not read; name a file (with `< FILE`, /dev/stdin is one)")
    return paths or []


def _known_format(context: typer.Context, name: str | None) -> str | None:
    """Refused as usage, before any file is opened: no file makes such a format right."""
    _not_with(context, "format", "map_file")
    if name is not None:
        from likewise.core.config import nearest
        from likewise.formats.registry import available_formats

        if name not in (formats := available_formats()):
            raise typer.BadParameter(f"no format {name!r}{nearest(name, formats)}; there are {', '.join(formats)}")
    return name


def _format_names(incomplete: str) -> list[str]:
    """For shells that complete a word."""
    from likewise.formats.registry import available_formats

    return [name for name in available_formats() if name.startswith(incomplete)]


def _map_file(context: typer.Context, map_file: Path | None) -> Path | None:
    _not_with(context, "format", "map_file")
    return map_file


def _not_with(context: typer.Context, *names: str) -> None:
    """Two options that contradict each other; what the environment says gives way to what was typed."""
    sources = [context.get_parameter_source(name) for name in names]
    if all(source is not None and source.name == "COMMANDLINE" for source in sources):
        options = (f"--{name.removesuffix('_file').replace('_', '-')}" for name in names)
        raise typer.BadParameter(f"{' and '.join(options)} exclude each other")


def _store(context: typer.Context, store: Path | None) -> Path | None:
    _not_with(context, "store", "no_store")
    return store


def _no_store(context: typer.Context, no_store: bool) -> bool:
    _not_with(context, "store", "no_store")
    return no_store


Paths: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="Files or folders of recorded runs.",
        metavar="RUNS",
        callback=_at_least_one,
        default_factory=list,  # not "required": the callback says what to type
        show_default=False,
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Read as this format; found file by file if not given.",
        metavar="NAME",
        callback=_known_format,
        autocompletion=_format_names,
    ),
]
MapFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--map",
        help="Read every file by this mapping (TOML), which says what field is what.",
        metavar="FILE",
        callback=_map_file,
    ),
]
Pool: TypeAlias = Annotated[
    bool,
    typer.Option("--pool", help="Treat runs of different models, agents or prompts as repeats; refused otherwise."),
]
Strict: TypeAlias = Annotated[bool, typer.Option("--strict", help="Refuse what would otherwise be excluded.")]
ConfigFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config", help="Settings (TOML). Default: likewise.toml, where this folder has one.", metavar="FILE"
    ),
]
ToolsFiles: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--tools", help="Annotations of tools: an MCP server's answer to tools/list; may be repeated.", metavar="FILE"
    ),
]
Store: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--store",
        help="Where judgements are kept. Default: user cache folder; LIKEWISE_LABEL_STORE or --store choose another.",
        metavar="FILE",
        envvar="LIKEWISE_LABEL_STORE",
        show_envvar=False,  # the help line names it
        callback=_store,
    ),
]
NoStore: TypeAlias = Annotated[
    bool, typer.Option("--no-store", help="Neither read nor keep judgements.", callback=_no_store)
]
Gamma: TypeAlias = Annotated[
    float, typer.Option("--gamma", help="Discount per turn.", metavar="NUMBER", min=0.0, max=0.9999, callback=finite)
]
Length: TypeAlias = Annotated[
    LengthPolicy,
    typer.Option("--length-policy", help="Turns after a run's own end: its absence counts, or they do not."),
]
Soft: TypeAlias = Annotated[bool, typer.Option("--soft", help="Distances from probabilities instead of labels.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", help="Seed of everything random.", metavar="NUMBER", min=0)]
JsonFile: TypeAlias = Annotated[
    str | None, typer.Option("--json", help="Write JSON to this file; - for standard output.", metavar="FILE")
]
HtmlFile: TypeAlias = Annotated[
    str | None, typer.Option("--html", help="Write one HTML file that opens offline.", metavar="FILE")
]
MarkdownFile: TypeAlias = Annotated[
    str | None, typer.Option("--markdown", help="Write Markdown for a pull-request comment.", metavar="FILE")
]
JunitFile: TypeAlias = Annotated[
    str | None, typer.Option("--junit", help="Write JUnit XML, a test case a task.", metavar="FILE")
]
AgentEndpoint: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        help="Base URL of an OpenAI-compatible endpoint; the key is read from OPENAI_API_KEY only.",
        metavar="URL",
    ),
]
AgentModel: TypeAlias = Annotated[str | None, typer.Option("--model", help="The endpoint's model.", metavar="NAME")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no table.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def open_store(store: Path | None, no_store: bool) -> AbstractContextManager[LabelStore | None]:
    """The label store that the options name; the environment and the default come after them."""
    from likewise.backends.label_store import LabelStore, default_path

    return nullcontext() if no_store else LabelStore((store or default_path()).expanduser())


def load_config(config: Path | None, *, may_be_missing: bool = False, quiet: bool = True) -> Table:
    """The settings of the file named, else of this folder's likewise.toml, else none.

    Args:
        config: What --config names.
        may_be_missing: A file that is named and not there is empty: the command is about to write it.
        quiet: Do not say that this folder's file, which nobody named, is used.

    Raises:
        ConfigError: The file cannot be used.
    """
    from likewise.cli.errors import say
    from likewise.core.config import Table, find_config, read_config

    path = config or find_config()
    if path is None or (may_be_missing and not path.exists()):
        return Table()
    table = read_config(path)
    if config is None and not quiet:
        say(f"settings of {path}")
    return table


def load_rules(config: Path | None, tools_files: list[Path] | None, *, quiet: bool) -> ToolRules:
    """How tool calls are compared, by the options --config and --tools.

    Raises:
        ConfigError: A file cannot be used.
    """
    from likewise.backends.tool_rules import ToolRules

    return ToolRules.from_config(load_config(config, quiet=quiet), tools_files or ())


@dataclass(frozen=True)
class RulesAndStore:
    """What every command that judges takes to say how tool calls are compared, and where judgements are kept."""

    config: ConfigFile = None
    tools_files: ToolsFiles = None
    store: Store = None
    no_store: NoStore = False

    def rules(self, *, quiet: bool) -> ToolRules:
        """How tool calls are compared.

        Raises:
            ConfigError: A file cannot be used.
        """
        return load_rules(self.config, self.tools_files, quiet=quiet)

    def open_store(self, *, needed: bool = True) -> AbstractContextManager[LabelStore | None]:
        """The label store; none with --no-store, or where nothing will be judged."""
        return open_store(self.store, self.no_store or not needed)


@dataclass(frozen=True)
class ScoringFlags:
    """How a divergence is summed."""

    gamma: Gamma = 0.8
    length_policy: Length = LengthPolicy.ABSORB
    soft: Soft = False

    def options(self) -> ScoringOptions:
        """The same, for scoring."""
        from likewise.scoring.score import ScoringOptions

        return ScoringOptions(gamma=self.gamma, length_policy=self.length_policy, soft=self.soft)
