"""Settings by environment, file and Python, and what is said of wrong ones."""

from __future__ import annotations

import pytest

from likewise.core.errors import ConfigError
from likewise.service.settings import KeyFrom, ProxyMode, ServiceSettings, Verb, load_settings

FILE = """
port = 9000
allow = ["agents.example.com"]

[upstreams.openai]
base_url = "https://api.openai.com/v1/"
api_key_env = "UPSTREAM_KEY"

[[policies]]
route = "support"
model = "gpt-4*"
mode = "adaptive"
critical = "flag"

[[policies]]
mode = "off"
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    for name in ("LIKEWISE_CONFIG", "LIKEWISE_PORT", "LIKEWISE_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "serve.toml"
    path.write_text(FILE)
    return path


def test_a_file_is_read(config, monkeypatch):
    monkeypatch.setenv("UPSTREAM_KEY", " sk-from-environment ")
    settings = load_settings(config)
    assert settings.port == 9000
    upstream = settings.upstreams["openai"]
    assert upstream.base_url == "https://api.openai.com/v1"  # without the slash: paths are put behind it
    assert upstream.key == "sk-from-environment"
    assert upstream.key_from is KeyFrom.EITHER
    assert [(p.mode, p.critical) for p in settings.policies] == [
        (ProxyMode.ADAPTIVE, Verb.FLAG),
        (ProxyMode.OFF, Verb.REFUSE),
    ]


def test_the_environment_comes_before_the_file_and_python_before_both(config, monkeypatch):
    monkeypatch.setenv("LIKEWISE_PORT", "9001")
    monkeypatch.setenv("LIKEWISE_UPSTREAMS__LOCAL__BASE_URL", "http://10.0.0.7:8000/v1")
    settings = load_settings(config)
    assert settings.port == 9001
    assert set(settings.upstreams) == {"openai", "local"}
    assert load_settings(config, port=9002).port == 9002


def test_the_file_may_be_named_by_the_environment(config, monkeypatch):
    monkeypatch.setenv("LIKEWISE_CONFIG", str(config))
    assert load_settings().port == 9000


def test_without_any_setting_keys_are_needed_and_loopback_is_listened_on(config):
    settings = load_settings()
    assert (settings.host, settings.keys, settings.upstreams, settings.policies) == ("127.0.0.1", True, {}, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", r"prot.*Extra inputs are not permitted"),
        ("port = 70000", r"port.*65535"),
        ("[[policies]]\nmode = 'onn'", r"policies\.0\.mode"),
        ("[[policies]]\nruns = 1", r"policies\.0\.runs"),
        ("[[policies]]\nupstream = 'none'", r"policies\[0\] names the upstream 'none'"),
        ("[upstreams.a]\nbase_url = 'api.example.com'", r"upstreams\.a\.base_url.*is no base URL"),
        ("[upstreams.a]\nbase_url = 'https://me:pass-123456@example.com/v1'", r"holds no user"),
        ("[upstreams.a]\nbase_url = 'https://example.com/v1?key=pass-123456'", r"holds no user, query"),
        ("keys = false\nhost = '0.0.0.0'", r"keys = false is for loopback only"),
        ("port = ", "not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_without_its_value(config, text, words):
    config.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_settings(config)
    assert "pass-123456" not in str(caught.value)
    assert str(config) in str(caught.value)


def test_an_environment_variable_that_is_no_json_is_named(config, monkeypatch):
    monkeypatch.setenv("LIKEWISE_POLICIES", "{")
    with pytest.raises(ConfigError, match="policies"):
        load_settings()


def test_a_file_that_is_not_there_is_named(config):
    with pytest.raises(ConfigError, match=r"nowhere\.toml: no such file"):
        load_settings(config.with_name("nowhere.toml"))


def test_secrets_are_not_shown_by_the_settings():
    settings = ServiceSettings(
        database_url="postgresql://me:pass-123456@db/likewise",
        upstreams={"a": {"base_url": "http://a/v1", "api_key": "sk-123456", "headers": {"X-Org": "org-123456"}}},
    )
    assert "123456" not in repr(settings) + settings.model_dump_json()
    assert settings.upstreams["a"].own_headers == {"x-org": "org-123456"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_without_keys_every_loopback_address_will_do(host):
    assert ServiceSettings(host=host, keys=False).host == host
