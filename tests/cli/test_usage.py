"""What a user types wrongly is answered with what to type, before any work is done."""

import os

import pytest

from likewise.cli.targets import write_target

SAME = {"t": {"1": ["Hello."], "2": ["Hello."]}}
COMMANDS = ("report", "plan", "compare", "inspect", "formats", "convert", "tools", "label", "judge-eval")


def refused(result, *words):
    assert result.exit_code == 2, (result.stdout, result.stderr)
    assert "Traceback" not in result.output
    assert all(word in " ".join(result.output.split()) for word in words), result.output


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_explains_itself(invoke, command, flag):
    result = invoke(*command, flag)
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: ")
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_json_and_debug(invoke, command):
    assert {"--json", "--debug"} <= set(invoke(command, "--help").stdout.split())


def test_the_help_lists_the_commands(invoke):
    listed = invoke("--help").stdout
    assert all(command in listed for command in COMMANDS)


def test_an_unknown_command_names_the_nearest(invoke):
    refused(invoke("repotr"), "No such command 'repotr'", "report")


def test_an_unknown_option_is_named(invoke):
    refused(invoke("report", "--jsno", "x"), "No such option: --jsno")


@pytest.mark.parametrize("command", ["report", "inspect"])
def test_without_runs_the_message_shows_a_command_that_works(invoke, command):
    refused(invoke(command), f"{command} runs/*.json")


@pytest.mark.parametrize("gamma", ["1", "-0.1", "1.5", "nan", "inf", "much"])
def test_a_gamma_out_of_range_is_refused(invoke, runs_file, gamma):
    refused(invoke("report", runs_file(SAME), f"--gamma={gamma}"), "--gamma")


def test_a_negative_seed_is_refused(invoke, runs_file):
    refused(invoke("report", runs_file(SAME), "--seed=-1"), "--seed")


def test_an_unknown_length_policy_is_refused_with_those_there_are(invoke, runs_file):
    refused(invoke("report", runs_file(SAME), "--length-policy=pad"), "absorb", "truncate")


@pytest.mark.parametrize("option", ["--json", "--html"])
class TestTargets:
    """Refused before the runs are read: the runs named here do not even exist."""

    def test_in_a_missing_folder(self, invoke, tmp_path, option):
        refused(invoke("report", "gone.json", option, tmp_path / "no" / "out"), option, "does not exist", "create it")

    def test_that_is_a_folder(self, invoke, tmp_path, option):
        refused(invoke("report", "gone.json", option, tmp_path), "is a folder", "name a file in it")

    def test_that_no_file_can_be_called(self, invoke, option):
        refused(invoke("report", "gone.json", option, "x" * 5000), "cannot be a file's name")

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
    def test_in_a_folder_that_cannot_be_written(self, invoke, tmp_path, option):
        (tmp_path / "closed").mkdir(mode=0o500)
        refused(invoke("report", "gone.json", option, tmp_path / "closed" / "out"), "cannot be written")

    def test_that_would_overwrite_the_runs(self, invoke, runs_file, option):
        path = runs_file(SAME)
        before = path.read_bytes()
        refused(invoke("report", path, option, path), "would be overwritten")
        refused(invoke("report", option, path, "other.json"), "would be overwritten")  # --json runs/*.json
        assert path.read_bytes() == before


def test_both_reports_in_one_file_are_refused(invoke, tmp_path):
    out = tmp_path / "out"
    refused(invoke("report", "gone.json", "--json", out, "--html", tmp_path / "." / "out"), "--json and --html")
    refused(invoke("report", "gone.json", "--json", "-", "--html", "-"), "--json and --html")


@pytest.mark.parametrize("command", ["report", "inspect"])
def test_an_unknown_format_is_refused_before_any_file_is_read(invoke, command):
    refused(invoke(command, "gone.json", "--format=foo"), "foo", "native", "tau-bench", "tau2", "openai-chat")


@pytest.mark.parametrize("options", [("--store", "x", "--no-store"), ("--no-store", "--store", "x")])
def test_a_store_and_no_store_exclude_each_other(invoke, options):
    refused(invoke("report", "gone.json", *options), "--store and --no-store exclude each other")


def test_standard_input_is_refused_with_what_to_name_instead(invoke):
    refused(invoke("report", "-"), "standard input is not read", "/dev/stdin")


def test_the_help_of_judge_eval_names_the_fields_and_labels(invoke):
    words = invoke("judge-eval", "--help").stdout
    assert all(word in words for word in ("action_a", "equivalent", "premise", "entailment", "kind"))


def test_the_help_says_where_judgements_are_kept(invoke):
    words = " ".join(invoke("report", "--help").stdout.split())
    assert "user cache folder; LIKEWISE_LABEL_STORE or --store choose another" in words


def test_a_full_standard_output_is_named(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("typer.echo", full)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    with pytest.raises(OSError, match=r"cannot be written .No space left") as caught:
        write_target("-", "{}")
    assert caught.value.filename == "standard output"


def test_a_report_in_which_no_run_was_scored_is_written_and_ends_as_bad_input(invoke, runs_file, line, tmp_path):
    path = runs_file([line("t", "1", [], stop="invalid", problem="no answer", success=None)])
    result = invoke("report", path, "--json", tmp_path / "out.json")
    assert result.exit_code == 3, result.output
    assert "likewise: error: no run could be scored; `likewise inspect` says why" in result.stderr
    assert (tmp_path / "out.json").exists()
