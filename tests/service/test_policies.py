"""Which policy holds for a request, and what layer it makes."""

from __future__ import annotations

import pytest

from likewise.reliability.handling import OnFail
from likewise.reliability.policy import Mode
from likewise.service.policies import PolicyTable, handling_of, policy_of, running_of
from likewise.service.settings import PolicySettings, ServiceSettings

UPSTREAMS = {
    "openai": {"base_url": "https://api.openai.com/v1", "models": ["gpt-*", "o?"]},
    "local": {"base_url": "http://10.0.0.7:8000/v1", "models": ["llama*"]},
}


def table(*policies, upstreams=UPSTREAMS):
    return PolicyTable(ServiceSettings(upstreams=upstreams, policies=policies))


def test_the_first_policy_that_fits_route_and_model_holds():
    found = table(
        {"route": "support", "model": "gpt-4*", "mode": "full"},
        {"model": "gpt-4*", "mode": "off"},
        {"route": "support", "mode": "adaptive"},
    )
    chosen = {
        (route, model): found.find(route, model).policy.mode.value
        for route in ("support", "default")
        for model in ("gpt-4o", "llama-3")
    }
    assert chosen == {
        ("support", "gpt-4o"): "full",
        ("default", "gpt-4o"): "off",
        ("support", "llama-3"): "adaptive",
        ("default", "llama-3"): "standard",
    }


def test_where_no_policy_fits_requests_are_verified_and_contradictions_refused():
    chosen = table().find("default", "gpt-4o")
    assert chosen.verifies
    assert (chosen.number, chosen.policy.critical.value, policy_of(chosen.policy).runs) == (-1, "refuse", 3)


@pytest.mark.parametrize(
    ("model", "upstream"), [("gpt-4o", "openai"), ("o3", "openai"), ("llama-3", "local"), ("claude", None), ("", None)]
)
def test_a_model_goes_to_the_first_upstream_that_takes_it(model, upstream):
    assert table().find("default", model).upstream == upstream


def test_a_policy_may_name_the_upstream():
    assert table({"model": "gpt-*", "upstream": "local"}).find("default", "gpt-4o").upstream == "local"


def test_settings_become_a_policy_a_handling_and_running():
    settings = PolicySettings(
        mode="adaptive", runs=7, escalate_threshold=0.9, critical="pass", low="refuse", deadline=9, attempts=2
    )
    policy = policy_of(settings)
    assert (policy.mode, policy.escalate_runs, policy.escalate_threshold) == (Mode.ADAPTIVE, 7, 0.9)
    handling = handling_of(settings)
    assert (handling.critical, handling.low, handling.unmeasured) == (OnFail.NOOP, OnFail.REFUSE, OnFail.FLAG)
    assert (running_of(settings).deadline, running_of(settings).attempts) == (9, 2)


def test_sequential_takes_as_many_runs_as_it_is_told_by_either_name():
    assert policy_of(PolicySettings(mode="sequential")).budget == 12
    assert policy_of(PolicySettings(mode="sequential", runs=6)).budget == 6
    assert policy_of(PolicySettings(mode="sequential", runs=6, budget_runs=9)).budget == 9
    assert policy_of(PolicySettings(mode="adaptive", runs=6)).budget == 12
    with pytest.raises(ValueError, match="at least 4 runs; the most are 3"):
        policy_of(PolicySettings(mode="sequential", runs=3))


def test_numbers_that_cannot_be_together_are_refused():
    with pytest.raises(ValueError, match="takes at least"):
        policy_of(PolicySettings(mode="sequential", error=0.001, budget_runs=5))


def test_names_that_callers_make_up_fill_no_memory():
    found = table()
    for number in range(3_000):
        found.find("default", f"model-{number}")
    assert found.find.cache_info().currsize <= 1_024
