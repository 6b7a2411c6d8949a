from __future__ import annotations

import pytest

from likewise.service.security.addresses import Reach, reach_of

PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "93.184.216.34", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "100.63.0.1"),
    *("100.128.0.0", "126.0.0.1", "128.0.0.1", "192.167.0.1", "2606:4700::1111", "2001:4860:4860::8888", "2a00::1"),
]
PRIVATE = [
    *("127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1"),
    *("100.127.255.255", "::1", "fd00::1", "fc00::1", "fdff:ffff::1"),
]
NEVER = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "link-local, cloud metadata": ["169.254.0.1", "169.254.169.254", "fe80::1", "febf::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "reserved and broadcast": ["240.0.0.1", "255.255.255.255"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmarks and protocols": ["198.18.0.1", "198.19.255.255", "192.0.0.1", "192.88.99.1", "2001:2::1"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::ffff:7f00:1"],
    "IPv4-compatible and translated": ["::127.0.0.1", "::ffff:0:127.0.0.1"],
    "NAT64": ["64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::1"],
    "6to4": ["2002:7f00:1::", "2002:0808:0808::1", "2002:c0a8:101::1"],
    "Teredo": ["2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001::1"],
    "ORCHID, site-local, discard": ["2001:20::1", "fec0::1", "100::1"],
    "not given out": ["4000::1", "5f00::1", "e000::1"],
}


@pytest.mark.parametrize("address", PUBLIC)
def test_the_internet_is_public(address):
    assert reach_of(address) is Reach.PUBLIC


@pytest.mark.parametrize("address", PRIVATE)
def test_this_machine_and_private_networks_are_private(address):
    assert reach_of(address) is Reach.PRIVATE


@pytest.mark.parametrize("address", [each for group in NEVER.values() for each in group])
def test_what_is_no_hosts_or_another_address_in_disguise_is_never_called(address):
    assert reach_of(address) is Reach.NEVER


def test_an_address_with_a_zone_is_never_called():
    assert reach_of("fe80::1%eth0") is Reach.NEVER
    assert reach_of("2606:4700::1111%1") is Reach.NEVER


def test_what_is_no_address_is_refused():
    with pytest.raises(ValueError, match="does not appear"):
        reach_of("localhost")
