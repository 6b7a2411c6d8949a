"""Log lines: JSON, one a line, without secrets."""

from __future__ import annotations

import io
import json
import logging

import pytest

from likewise.service.logs import LONGEST, JsonFormatter, set_up_logs
from likewise.store.redaction import Redactor

KEY = "sk-abcdefghijklmnopqrstuvwxyz"


def line_of(message, *args, **more):
    logger = logging.Logger("likewise.tests")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter(Redactor(known=["own-secret-of-ours"])))
    logger.addHandler(handler)
    logger.warning(message, *args, **more)
    (line,) = stream.getvalue().splitlines()
    return json.loads(line)


def test_a_line_says_when_how_bad_who_and_what():
    line = line_of("served %s", "it", extra={"status": 200, "seconds": 0.5, "route": "/v1/score"})
    assert line["time"].endswith("+00:00")
    del line["time"]
    assert line == {
        "level": "warning",
        "logger": "likewise.tests",
        "message": "served it",
        "status": 200,
        "seconds": 0.5,
        "route": "/v1/score",
    }


@pytest.mark.parametrize(
    "text", [KEY, f"Authorization: Bearer {KEY}", "the own-secret-of-ours", "postgresql://me:hunter22@db/x"]
)
def test_no_secret_is_in_any_part_of_a_line(text):
    try:
        raise ValueError(text)
    except ValueError:
        line = json.dumps(line_of("said %s", text, exc_info=True, extra={"a": text, "b": {"c": text}}))
    assert not any(secret in line for secret in (KEY, "own-secret-of-ours", "hunter22"))


def test_a_line_break_in_a_text_makes_no_second_line():
    assert line_of("a\nb", extra={"c": "d\r\ne"})["message"] == "a\nb"


def test_a_long_text_is_cut():
    assert len(line_of("x" * 10 * LONGEST)["message"]) == LONGEST


def test_a_secret_at_the_cut_is_not_half_shown():
    line = line_of("x" * (LONGEST - 10) + " " + KEY)
    assert "sk-" not in line["message"]


def test_the_servers_own_lines_take_the_same_form(monkeypatch):
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    stream = io.StringIO()
    set_up_logs(Redactor(), "info", stream)
    logging.getLogger("uvicorn.error").info("started with %s", KEY)
    logging.getLogger("httpx2").info("not of interest")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["logger"] for line in lines] == ["uvicorn.error"]
    assert KEY not in stream.getvalue()
