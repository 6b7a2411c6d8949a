from __future__ import annotations

import pytest

from likewise.backends.budget import Budget
from likewise.backends.cascade import Cascade
from likewise.backends.chat_client import ChatSettings
from likewise.backends.hf_nli import HfNli
from likewise.backends.judges import FORMS, JudgeSettings, embedded_judge, judge_from_name
from likewise.backends.llm_judge import LlmJudge
from likewise.core.errors import BackendError
from tiny_nli import write_folder

LOCAL = JudgeSettings(ChatSettings("http://localhost:1/v1"))


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.delenv("LIKEWISE_LLM", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")


def test_the_embedded_judge_reads_english_only():
    assert judge_from_name("embedded").judge_id == embedded_judge().judge_id
    assert judge_from_name(" embedded ").judge_id.endswith("+english-1")


def test_a_folder_is_a_cross_encoder(tmp_path):
    folder = write_folder(tmp_path / "tiny")
    assert isinstance(judge_from_name(f"hf:{folder}"), HfNli)
    with pytest.raises(BackendError, match="no such folder"):
        judge_from_name(f"hf:{tmp_path}/nowhere")


def test_a_chat_model_gets_its_settings():
    settings = JudgeSettings(ChatSettings("http://localhost:1/v1"), parallel=3, swap=True, budget=Budget(1, 1, 1))
    judge = judge_from_name("llm:org/model:free", settings)
    assert isinstance(judge, LlmJudge)
    assert judge.parallel == 3
    assert judge.judge_id == LlmJudge("org/model:free", settings.chat, swap=True).judge_id
    assert judge.judge_id.startswith("llm-org/model:free@localhost-")


def test_a_cascade_is_the_embedded_judge_and_another(tmp_path):
    judge = judge_from_name("cascade:llm:m", JudgeSettings(LOCAL.chat, sure_from=0.8))
    assert isinstance(judge, Cascade)
    assert judge.judge_id.startswith("cascade-0.8(embedded-")
    assert judge.endpoint == "http://localhost:1/v1"
    folder = write_folder(tmp_path / "tiny")
    assert "hf-tiny-" in judge_from_name(f"cascade:hf:{folder}").judge_id


def test_the_environment_may_name_the_chat_model(monkeypatch):
    monkeypatch.setenv("LIKEWISE_LLM", "m")
    assert judge_from_name("cascade", LOCAL).judge_id == judge_from_name("cascade:llm:m", LOCAL).judge_id
    assert judge_from_name("llm", LOCAL).judge_id == judge_from_name("llm:m", LOCAL).judge_id


@pytest.mark.parametrize(
    "name", ["", "foo", "embedded:x", "hf:", "llm:", "cascade:", "cascade:embedded", "cascade:cascade:llm:m", ":x"]
)
def test_a_name_that_no_judge_has_is_refused_with_those_there_are(name):
    with pytest.raises(ValueError, match="no judge") as caught:
        judge_from_name(name)
    assert all(form in str(caught.value) for form in FORMS)


@pytest.mark.parametrize(("name", "example"), [("llm", "llm:MODEL"), ("cascade", "cascade:llm:MODEL")])
def test_without_a_model_the_message_shows_where_it_goes(name, example):
    with pytest.raises(ValueError, match=f"{name} needs a model, as in {example}"):
        judge_from_name(name)
