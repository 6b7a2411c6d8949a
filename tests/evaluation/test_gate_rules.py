"""The words of gates, and the [gates] section of likewise.toml."""

import pytest

from likewise.core.config import Table, read_config
from likewise.core.errors import ConfigError
from likewise.evaluation.gate_rules import GateSettings, StateBasis, gate_settings, parse_gate


@pytest.mark.parametrize(
    ("text", "name", "operator", "limit", "mean"),
    [
        ("rsd > 1.5", "rsd", ">", 1.5, False),
        ("rsd_normalised>=.4", "rsd_normalised", ">=", 0.4, False),
        ("  success_rate  <  0.5 ", "success_rate", "<", 0.5, False),
        ("rsd.low > 1", "rsd.low", ">", 1.0, False),
        ("mean rsd.high > 2e0", "rsd.high", ">", 2.0, True),
        ("pass^4 < 0.8", "pass^4", "<", 0.8, False),
        ("pass_hat_4 <= 0.8", "pass^4", "<=", 0.8, False),
        ("mean pass^10 < 1", "pass^10", "<", 1.0, True),
        ("contradiction_max > 0.7", "contradiction_max", ">", 0.7, False),
    ],
)
def test_a_gate_says_figure_operator_and_limit(text, name, operator, limit, mean):
    gate = parse_gate(text)
    assert (gate.name, gate.operator, gate.limit, gate.mean) == (name, operator, limit, mean)


def test_a_state_is_a_gate():
    assert [parse_gate(word).state for word in ("flaky", " undecided ")] == ["flaky", "undecided"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no gate; write FIGURE OPERATOR NUMBER"),
        ("flakey", "is no gate .did you mean 'flaky'"),
        ("rsd", "is no gate"),
        ("rsd = 3", "is no gate"),
        ("rsd => 3", "is no gate"),
        ("rds > 1", "no figure 'rds' .did you mean 'rsd'"),
        ("mean agreement > 1", "no figure 'agreement' over tasks"),
        ("pass^0 < 1", "no figure 'pass\\^0'"),
        ("pass^ < 1", "no figure"),
        ("rsd > nan", "'nan' is no number"),
        ("rsd > inf", "'inf' is no number"),
        ("rsd > 1,5", "'1,5' is no number"),
        ("rsd > 1 > 2", "is no gate"),
        ("rsd.mid > 1", "is no gate"),
        ("__import__('os') > 1", "is no gate"),
    ],
)
def test_what_is_no_gate_is_refused_with_what_would_be(text, message):
    with pytest.raises(ValueError, match=message):
        parse_gate(text)


@pytest.fixture
def settings(tmp_path):
    """The settings that a likewise.toml gives."""

    def _read(text):
        path = tmp_path / "likewise.toml"
        path.write_text(text, encoding="utf-8")
        return gate_settings(read_config(path).table("gates"))

    return _read


WHOLE = """
[gates]
fail_on = ["rsd_normalised > 0.4", "rsd_normalised.low > 0.3", "flaky", "mean success_rate < 0.7"]
stable_share = 0.9
state_by = "outcome"
unmeasured = "pass"

[gates.tasks."airline 12"]
fail_on = ["rsd_normalised > 0.6", "pass^2 < 0.5"]
skip = ["flaky"]
stable_share = 0.7
"""


def test_a_task_replaces_gates_of_the_same_figure_and_skips_what_it_names(settings):
    found = settings(WHOLE)
    assert [gate.text for gate in found.means] == ["mean success_rate < 0.7"]
    gates, rule = found.of_task("airline 12")
    assert [gate.text for gate in gates] == ["rsd_normalised.low > 0.3", "rsd_normalised > 0.6", "pass^2 < 0.5"]
    assert (rule.share, rule.basis) == (0.7, StateBasis.OUTCOME)
    others, rule = found.of_task("another")
    assert [gate.text for gate in others] == ["rsd_normalised > 0.4", "rsd_normalised.low > 0.3", "flaky"]
    assert rule.share == 0.9
    assert not found.unmeasured_fails


def test_the_command_line_adds_to_the_settings(settings):
    found = settings(WHOLE).with_gates(["undecided", "mean rsd > 1"])
    assert [gate.text for gate in found.of_task("x")[0]][-1] == "undecided"
    assert [gate.text for gate in found.means] == ["mean success_rate < 0.7", "mean rsd > 1"]


def test_no_section_asks_for_nothing():
    assert gate_settings(Table()) == GateSettings()
    assert not GateSettings().any
    assert GateSettings().with_gates(["flaky"]).any


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gates]\nfail_onn = []", "unknown key 'fail_onn' .did you mean 'fail_on'"),
        ("[gates]\nfail_on = 'rsd > 1'", "at gates.fail_on: .*expected a list of strings"),
        ("[gates]\nfail_on = ['rds > 1']", "at gates.fail_on: .*no figure 'rds'"),
        ("[gates]\nstable_share = 0.5", "out of range"),
        ("[gates]\nstable_share = 1", "out of range"),
        ("[gates]\nstable_share = 'much'", "a number"),
        ("[gates]\nstate_by = 'auto'", "unknown value 'auto'"),
        ("[gates]\nunmeasured = 'skip'", "unknown value 'skip'"),
        ("[gates]\ntasks = 3", "expected a table"),
        ("[gates.tasks]\na = 3", "expected a table"),
        ("[gates.tasks.a]\nskip = ['flakey']", "unknown figure 'flakey' .did you mean 'flaky'"),
        ("[gates.tasks.a]\nfail_on = ['mean rsd > 1']", "is about the mean over tasks"),
        ("[gates.tasks.a]\nunmeasured = 'pass'", "unknown key 'unmeasured'"),
    ],
)
def test_settings_that_are_not_understood_are_refused_with_file_and_key(settings, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        settings(text)
    assert "likewise.toml" in str(caught.value)
