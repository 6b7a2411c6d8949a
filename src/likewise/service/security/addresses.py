"""Which IP addresses the service may call: public ones, and private ones that were named."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

__all__ = ["Address", "Reach", "reach_of"]

Address: TypeAlias = "IPv4Address | IPv6Address"


class Reach(StrEnum):
    """Where an address leads."""

    PUBLIC = "public"
    PRIVATE = "private"
    """This machine, or a network that is not the internet: only where an administrator named it with its port."""
    NEVER = "never"
    """Nothing that answers to anybody's good: link-local (cloud metadata), multicast, reserved, or another address in
    disguise."""


_PRIVATE_4 = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10")))
# IANA's special-purpose registry; what Python's `is_global` calls global and is none is named here, too.
_NEVER_4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "192.31.196.0/24", "192.52.193.0/24"),
            "192.175.48.0/24",
        ),
    )
)
_PRIVATE_6 = (IPv6Network("::1/128"), IPv6Network("fc00::/7"))
_UNICAST_6 = IPv6Network("2000::/3")
"""All that IANA has given out so far; mapped, translated (NAT64), site-local and link-local addresses lie outside."""
_NEVER_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo (2001::/32) and ORCHID among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: an IPv4 address in disguise
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)


def reach_of(address: Address | str) -> Reach:
    """Where an address leads.

    An IPv6 address that carries an IPv4 one (mapped, compatible, NAT64, 6to4, Teredo) is refused whatever it carries:
    who means the IPv4 address can say so.

    Raises:
        ValueError: A text that is no address.
    """
    parsed = ip_address(address) if isinstance(address, str) else address
    if isinstance(parsed, IPv4Address):
        if any(parsed in network for network in _PRIVATE_4):
            return Reach.PRIVATE
        if any(parsed in network for network in _NEVER_4) or not parsed.is_global or parsed.is_multicast:
            return Reach.NEVER
        return Reach.PUBLIC
    if parsed.scope_id is not None:
        return Reach.NEVER
    if any(parsed in network for network in _PRIVATE_6):
        return Reach.PRIVATE
    if parsed not in _UNICAST_6 or any(parsed in network for network in _NEVER_6) or not parsed.is_global:
        return Reach.NEVER
    return Reach.PUBLIC
