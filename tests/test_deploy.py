"""The deployment files agree with the program that they deploy."""

import os
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from typer.main import get_command

from likewise.cli.main import app
from likewise.service.app import create_app
from likewise.service.settings import ServiceSettings, load_settings

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
SETTINGS = ServiceSettings(_env_file=None)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    for name in [name for name in os.environ if name.startswith("LIKEWISE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def kubernetes():
    parts = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    return {part["kind"]: part for part in parts if part}


@pytest.fixture
def docker():
    return (ROOT / "Dockerfile").read_text(encoding="utf-8")


def unit():
    """The systemd unit's lines by key; a key may come several times."""
    found = {}
    for line in (DEPLOY / "likewise.service").read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_settings_file_is_one_that_the_service_takes():
    settings = load_settings(DEPLOY / "likewise.toml")
    assert [policy.mode for policy in settings.policies] == ["adaptive", "off"]
    assert settings.https
    assert settings.upstreams["openai"].api_key is None  # a key belongs in the environment


def test_the_settings_of_the_cluster_are_too(kubernetes, tmp_path):
    (tmp_path / "likewise.toml").write_text(kubernetes["ConfigMap"]["data"]["likewise.toml"], encoding="utf-8")
    assert load_settings(tmp_path / "likewise.toml").dashboard.public_url == "https://likewise.example.com"


def test_what_runs_is_asked_for_at_addresses_that_there_are(kubernetes, docker):
    paths = set(create_app(SETTINGS).openapi()["paths"])
    (container,) = kubernetes["Deployment"]["spec"]["template"]["spec"]["containers"]
    probes = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")]
    assert set(probes) <= paths
    assert set(re.findall(r"LIKEWISE_PORT'\]\}(/\w+)", docker)) == {"/readyz"}


def test_everything_listens_and_asks_at_one_port(kubernetes, compose, docker):
    (container,) = kubernetes["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": SETTINGS.port}]
    assert compose["services"]["likewise"]["ports"] == [f"127.0.0.1:{SETTINGS.port}:{SETTINGS.port}"]
    assert f"LIKEWISE_PORT={SETTINGS.port}" in docker
    assert f"EXPOSE {SETTINGS.port}" in docker


def test_nothing_is_killed_before_it_has_finished(kubernetes, compose):
    grace = kubernetes["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > SETTINGS.shutdown_seconds
    assert int(compose["services"]["likewise"]["stop_grace_period"].removesuffix("s")) > SETTINGS.shutdown_seconds
    assert int(unit()["TimeoutStopSec"][0]) > SETTINGS.shutdown_seconds


def test_nothing_runs_as_root_or_may_become_it(kubernetes, compose, docker):
    pod = kubernetes["Deployment"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["containers"][0]["securityContext"]["allowPrivilegeEscalation"] is False
    assert pod["containers"][0]["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert str(pod["securityContext"]["runAsUser"]) in docker
    assert docker.rindex("USER 10001:10001") > docker.rindex("FROM ")
    assert compose["services"]["likewise"]["cap_drop"] == ["ALL"]
    assert unit()["DynamicUser"] == ["yes"]
    assert unit()["NoNewPrivileges"] == ["yes"]


def test_no_file_holds_a_secret(compose):
    assert "PASSWORD:?" in compose["services"]["likewise"]["environment"]["LIKEWISE_DATABASE_URL"]
    for path in [*DEPLOY.iterdir(), ROOT / "Dockerfile"]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"sk-[A-Za-z0-9]{8}|lw_[A-Za-z0-9]{12}_", text), path
        assert not re.search(r"(?im)^\s*\w*(password|secret)\w*\s*[:=]\s*['\"]?\w{6,}", text), path


def test_the_image_has_the_extras_that_there_are_and_only_what_it_needs(docker):
    extras = re.search(r'install "\.\[([a-z,]+)\]"', docker)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras) <= project["optional-dependencies"].keys()
    sent = re.findall(r"(?m)^!(\S+)", (ROOT / ".dockerignore").read_text(encoding="utf-8"))
    assert all((ROOT / name).exists() for name in sent)
    copied = {name for line in re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", docker) for name in line.split()}
    assert copied == set(sent)


@pytest.mark.parametrize("path", sorted(DEPLOY.iterdir()), ids=lambda path: path.name)
def test_every_command_that_is_told_exists_with_its_options(path):
    told = re.findall(r"likewise (db \w+|keys \w+)((?: [\w-]+)*)", path.read_text(encoding="utf-8"))
    for command, rest in told:
        answer = CliRunner().invoke(get_command(app), [*command.split(), "--help"])
        assert answer.exit_code == 0, command
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in answer.output, (command, option)


def test_the_unit_starts_the_command_that_there_is():
    (start,) = unit()["ExecStart"]
    assert start.split()[1:] == ["serve", "--config", "/etc/likewise/likewise.toml"]
    assert CliRunner().invoke(get_command(app), ["serve", "--help"]).exit_code == 0
