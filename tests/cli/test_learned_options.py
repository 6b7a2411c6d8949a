from __future__ import annotations

import pytest
import typer

from likewise.cli.learned_options import encoder_from_options


def test_a_name_that_means_nothing_is_the_command_lines_fault():
    with pytest.raises(typer.BadParameter, match="no encoder 'word2vec'"):
        encoder_from_options("word2vec", None, quiet=True)


def test_where_texts_are_sent_is_said(capsys):
    encoder = encoder_from_options("openai:m", "http://127.0.0.1:9/v1", quiet=False)
    assert encoder.encoder_id == "openai-m"
    assert "texts of the runs are sent to http://127.0.0.1:9/v1" in capsys.readouterr().err
