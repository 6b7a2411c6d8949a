"""The list of addresses that the service may call, and the one reading of a URL that it is held against.

A URL must be spelled in the one plain way: what two programs could read differently is refused, not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import httpx2

from likewise.core.errors import ConfigError, LikewiseError

__all__ = ["PORTS", "AllowList", "BlockedAddressError", "Target", "read_url"]

LONGEST_URL = 8_192
_URL = re.compile(r"(https?)://([^/?#]*)(?:[/?#].*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9_.-]+))(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
PORTS = {"http": 80, "https": 443}
"""Ports that a URL need not name."""


class BlockedAddressError(LikewiseError, httpx2.ConnectError):
    """An address that the service may not call. To an HTTP client it is a connection that could not be made."""

    def __init__(self, place: str, problem: str) -> None:
        """Say which (without path and query: they may hold secrets), and why not."""
        super().__init__(f"{place}: {problem}")
        self.place, self.problem = place, problem

    def __reduce__(self) -> tuple[object, ...]:
        """Stay picklable."""
        return (type(self), (self.place, self.problem))


@dataclass(frozen=True, slots=True)
class Target:
    """Where a URL leads: scheme, host in lower case (an IPv6 address without brackets), port."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        """As the start of a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address that the host is; None where it is a name."""
        for kind in (IPv4Address, IPv6Address):
            try:
                return kind(self.host)
            except AddressValueError:
                continue
        return None


def read_url(url: str) -> Target:
    """Where a URL leads.

    Raises:
        BlockedAddressError: It is not spelled in the one plain way.
    """
    if len(url) > LONGEST_URL:
        raise BlockedAddressError("a URL", f"has more than {LONGEST_URL} characters")
    if "\\" in url or any(ord(character) <= 0x20 or ord(character) == 0x7F for character in url):
        raise BlockedAddressError("a URL", "holds spaces, control characters or backslashes")
    match = _URL.fullmatch(url)
    if match is None:
        raise BlockedAddressError("a URL", "must start with https:// or http:// and a host")
    return _read_authority(match.group(1).lower(), match.group(2))


def _read_authority(scheme: str, authority: str) -> Target:
    if "@" in authority:
        raise BlockedAddressError(f"{scheme}://...@", "a URL with a user name or password in it")
    shown = f"{scheme}://{authority[:100]!a}"
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise BlockedAddressError(shown, "not a plain host name or address; write other letters in ASCII (xn--...)")
    port = int(match.group(3) or PORTS[scheme])
    if port > 65_535:
        raise BlockedAddressError(shown, "no such port")
    if match.group(1) is not None:
        try:
            return Target(scheme, str(IPv6Address(match.group(1))), port)
        except AddressValueError:
            raise BlockedAddressError(shown, "not an IPv6 address") from None
    return Target(scheme, _read_name(shown, match.group(2).lower()), port)


def _read_name(shown: str, host: str) -> str:
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BlockedAddressError(shown, "not a plain host name (no empty part, no dot at the end)")
    if _NUMBER.fullmatch(labels[-1]):  # some programs read 2130706433, 127.1, 0177.0.0.1 and 0x7f.1 as addresses
        try:
            return str(IPv4Address(host))
        except AddressValueError:
            raise BlockedAddressError(shown, "not an IPv4 address in its plain form (four decimal numbers)") from None
    return host


@dataclass(frozen=True, slots=True)
class _Entry:
    scheme: str
    host: str
    port: int
    any_below: bool
    may_be_private: bool

    def fits(self, target: Target) -> bool:
        if (self.scheme, self.port) != (target.scheme, target.port):
            return False
        return target.host.endswith("." + self.host) if self.any_below else target.host == self.host


class AllowList:
    """Hosts and ports that may be called."""

    def __init__(self, entries: Iterable[_Entry] = ()) -> None:
        """Use `parse`."""
        self._entries = tuple(entries)

    @classmethod
    def parse(cls, entries: Iterable[str], *, key: str = "allow") -> AllowList:
        """Read a list.

        Args:
            entries: `api.example.com` (https, port 443), `*.example.com` (all below it), `host:port` (https there, and
                its address may be private), `http://host:port` (the same without encryption).
            key: Name of the setting, for messages.

        Raises:
            ConfigError: An entry that is none.
        """
        return cls(_entry(entry, key) for entry in entries)

    def check(self, url: str | httpx2.URL) -> Target:
        """Where a URL leads, if it is on the list. Nothing is resolved: addresses are checked on connecting.

        Raises:
            BlockedAddressError: It is not on the list, or not spelled in the one plain way.
        """
        target = read_url(str(url))
        if not any(entry.fits(target) for entry in self._entries):
            raise BlockedAddressError(str(target), "not on the list of addresses that may be called")
        return target

    def may_be_private(self, host: str, port: int) -> bool:
        """Whether an entry names this very host and port, so that its address may be private."""
        return any(
            entry.may_be_private and not entry.any_below and (entry.host, entry.port) == (host, port)
            for entry in self._entries
        )


def _entry(text: str, key: str) -> _Entry:
    scheme, separator, rest = text.strip().rpartition("://")
    below = rest.startswith("*.")
    place = rest[2:] if below else rest
    expected = "host, *.host, host:port or http://host:port"
    if any(mark in place for mark in "/?#"):
        raise ConfigError("", f"{text[:100]!r} has a path", key=key, expected=expected)
    try:
        target = read_url(f"{scheme if separator else 'https'}://{place}")
    except BlockedAddressError as problem:
        raise ConfigError("", f"{text[:100]!r}: {problem.problem}", key=key, expected=expected) from None
    if below and (target.address is not None or "." not in target.host):
        raise ConfigError("", f"{text[:100]!r} allows far too much", key=key, expected="*.example.com")
    with_port = re.search(r"(?:\]|[^:\]]):[0-9]+$", place) is not None
    return _Entry(target.scheme, target.host, target.port, below, with_port and not below)
