"""Readers of rollout files, and the writer of our own format."""

from likewise.formats.native import write_rollouts
from likewise.formats.registry import FORMATS, Format, available_formats, read_rollouts
from likewise.formats.rollout_set import Parsed, RolloutSet
from likewise.formats.summary import summarise

__all__ = [
    "FORMATS",
    "Format",
    "Parsed",
    "RolloutSet",
    "available_formats",
    "read_rollouts",
    "summarise",
    "write_rollouts",
]
