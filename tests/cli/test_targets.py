"""What a command writes, shows and says at its end."""

import pytest

from likewise.cli.targets import write_and_show


def end(targets, *, quiet=False):
    write_and_show(targets, lambda option: f"{option} whole\n", lambda console: console.print("shown"), quiet=quiet)


def test_what_was_asked_for_is_written_the_rest_shown_and_the_files_named(tmp_path, capsys):
    first, second = str(tmp_path / "a.json"), str(tmp_path / "a.html")
    end({"--json": first, "--html": second, "--markdown": None})
    assert (tmp_path / "a.json").read_text() == "--json whole\n"
    assert (tmp_path / "a.html").read_text() == "--html whole\n"
    said = capsys.readouterr()
    assert said.out == "shown\n"
    assert said.err == f"likewise: wrote {first} and {second}\n"


def test_what_goes_to_standard_output_stands_there_alone(capsys):
    end({"--json": "-", "--html": None})
    said = capsys.readouterr()
    assert (said.out, said.err) == ("--json whole\n", "")


def test_told_to_be_quiet_it_writes_and_says_nothing(tmp_path, capsys):
    end({"--json": str(tmp_path / "a.json")}, quiet=True)
    assert (tmp_path / "a.json").exists()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_nothing_is_written_or_shown_where_one_face_cannot_be_rendered(tmp_path, capsys):
    def face(option):
        if option == "--html":
            raise RuntimeError("no such face")
        return "whole"

    with pytest.raises(RuntimeError):
        write_and_show(
            {"--json": str(tmp_path / "a.json"), "--html": str(tmp_path / "a.html")},
            face,
            lambda console: console.print("shown"),
            quiet=False,
        )
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""
