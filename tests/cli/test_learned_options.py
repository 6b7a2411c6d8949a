from __future__ import annotations

import pytest
import typer

from likewise.cli.learned_options import encoder_from_options, one_line


def test_a_name_that_means_nothing_is_the_command_lines_fault():
    with pytest.raises(typer.BadParameter, match="no encoder 'word2vec'"):
        encoder_from_options("word2vec", None, quiet=True)


def test_where_texts_are_sent_is_said(capsys):
    encoder = encoder_from_options("openai:m", "http://127.0.0.1:9/v1", quiet=False)
    assert encoder.encoder_id == "openai-m"
    assert "texts of the runs are sent to http://127.0.0.1:9/v1" in capsys.readouterr().err


def test_a_label_that_no_model_may_have_is_refused_before_anything_is_done():
    assert one_line("shipped runs only") == "shipped runs only"
    assert one_line(None) is None
    for text in ("", "two\nlines", "\x1b[2J", "x" * 501):
        with pytest.raises(typer.BadParameter, match="1 to 500 printable characters"):
            one_line(text)
