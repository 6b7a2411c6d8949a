from __future__ import annotations

import pickle
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.core.errors import ConfigError, LikewiseError
from likewise.service.security.allow_list import PORTS, AllowList, BlockedAddressError, Target, read_url
from service.security.spellings import LISTED, SPELLINGS

ALLOW = AllowList.parse(LISTED)


def test_there_are_many_ways_to_spell_what_is_refused():
    assert len(set(SPELLINGS)) == len(SPELLINGS) >= 60


@pytest.mark.parametrize("url", SPELLINGS)
def test_a_spelling_of_an_address_that_is_not_listed_is_refused(url):
    with pytest.raises(BlockedAddressError):
        ALLOW.check(url)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://api.example.com", Target("https", "api.example.com", 443)),
        ("https://api.example.com/v1/chat?x=%20#y", Target("https", "api.example.com", 443)),
        ("HTTPS://API.Example.COM:443/", Target("https", "api.example.com", 443)),
        ("https://api.example.com/@evil.example", Target("https", "api.example.com", 443)),
        ("http://localhost:8080/v1", Target("http", "localhost", 8080)),
        ("http://127.0.0.1:8080", Target("http", "127.0.0.1", 8080)),
        ("https://a.azure.example.net/", Target("https", "a.azure.example.net", 443)),
        ("https://a.b.azure.example.net/", Target("https", "a.b.azure.example.net", 443)),
    ],
)
def test_what_is_listed_goes_through(url, target):
    assert ALLOW.check(url) == target
    assert ALLOW.check(httpx2.URL(url)) == target


def test_only_an_entry_with_host_and_port_lets_an_address_be_private():
    allow = AllowList.parse(
        ["plain.example", "with-port.example:443", "http://[fd00::1]:81", "*.below.example", "http://a.example"]
    )
    assert not allow.may_be_private("plain.example", 443)
    assert allow.may_be_private("with-port.example", 443)
    assert not allow.may_be_private("with-port.example", 444)
    assert allow.may_be_private("fd00::1", 81)
    assert not allow.may_be_private("x.below.example", 443)
    assert not allow.may_be_private("a.example", 80)


def test_a_wildcard_with_a_port_is_of_public_addresses_all_the_same():
    allow = AllowList.parse(["*.example.com:8443"])
    assert allow.check("https://a.example.com:8443/").port == 8443
    assert not allow.may_be_private("a.example.com", 8443)


@pytest.mark.parametrize(
    "entry",
    ["", "https://", "*", "*.com", "*.127.0.0.1", "api.example.com/v1", "ftp://api.example.com", "a b", "user@host",
     "host:99999", "127.1", "münchen.example", "*.*.example.com", "host?x", "api.example.com."],
)  # fmt: skip
def test_an_entry_that_is_none_is_refused_with_its_setting(entry):
    with pytest.raises(ConfigError) as refused:
        AllowList.parse(["api.example.com", entry], key="upstreams.allow")
    assert refused.value.key == "upstreams.allow"


def test_an_empty_list_allows_nothing():
    with pytest.raises(BlockedAddressError, match="not on the list"):
        AllowList().check("https://api.example.com/")


def test_the_error_names_the_place_but_neither_path_nor_query_and_is_also_a_connection_error():
    with pytest.raises(BlockedAddressError) as refused:
        ALLOW.check("https://evil.example/path?key=secret-value")
    assert str(refused.value) == "https://evil.example:443: not on the list of addresses that may be called"
    assert isinstance(refused.value, LikewiseError)
    assert isinstance(refused.value, httpx2.ConnectError)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    for url in ("https://user:hunter2@evil.example/", "https://a b/?key=hunter2"):
        with pytest.raises(BlockedAddressError) as refused:
            ALLOW.check(url)
        assert "hunter2" not in str(refused.value)


def test_a_target_reads_as_the_start_of_a_url():
    assert str(read_url("http://[FD00::0:1]:81/x")) == "http://[fd00::1]:81"
    assert str(read_url("https://a.example/x")) == "https://a.example:443"
    assert read_url("http://[fd00::1]/").address.version == 6
    assert read_url("http://10.0.0.1/").address.version == 4
    assert read_url("http://a.example/").address is None


SIGNS = [*"@:/?#[]%\\.-_0x127 \t\n", "。", "é", "%2e", "\u00ad", "::1", "user@", "xn--", ":8080", ":443"]
HOSTS = ["https://", "http://", "api.example.com", "localhost", "127.0.0.1", "evil.example", "a.azure.example.net"]
PIECES = st.sampled_from(SIGNS + HOSTS)


@settings(max_examples=600, deadline=None)
@given(st.lists(PIECES, max_size=9).map("".join))
def test_what_goes_through_is_read_alike_by_every_parser(url):
    for text in (
        url,
        f"https://api.example.com{url}",
        f"http://localhost:8080{url}",
        f"https://{url}.azure.example.net/",
    ):
        try:
            target = ALLOW.check(text)
        except BlockedAddressError:
            continue
        ours = target.host, target.port
        client, library = httpx2.URL(text), urlsplit(text)
        assert (client.raw_host.decode().strip("[]"), client.port or PORTS[client.scheme]) == ours
        assert (library.hostname, library.port or PORTS[library.scheme]) == ours
