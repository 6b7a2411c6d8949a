from __future__ import annotations

import json

import pytest

from likewise.core.rollout import Action, ToolCall
from likewise.reliability.citations import canonical_source, canonical_sources, urls_in
from likewise.reliability.fields import (
    AnswerFields,
    Confidence,
    MalformedOutputError,
    Structure,
    action_of,
    atomic_findings,
    parse_fields,
    prompt_suffix,
    response_format,
)
from likewise.reliability.runs import AgentOutput, FailureKind, OutputReader

WHOLE = {
    "main_answer": "The economy grew.",
    "key_findings": ["GDP rose by 2%.", "Exports fell."],
    "confidence": "HIGH",
    "sources_used": ["https://a.org/x"],
}
READ = AnswerFields("The economy grew.", ("GDP rose by 2%.", "Exports fell."), Confidence.HIGH, ("https://a.org/x",))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(WHOLE),
        "Sure, here it is:\n```json\n" + json.dumps(WHOLE, indent=2) + "\n```\nAnything else?",
        "My answer: " + json.dumps(WHOLE),
        json.dumps(WHOLE)[:-1] + ",}",  # a comma too many
        json.dumps(WHOLE).replace('"', "'"),  # single quotes
        json.dumps(WHOLE)[:-1],  # the last brace is missing
    ],
)
def test_fenced_prefixed_and_slightly_broken_json_is_read(text):
    assert parse_fields(text) == READ


def test_plain_text_is_an_answer_whose_findings_are_not_measured():
    assert parse_fields("The economy grew.") == AnswerFields("The economy grew.", None, None, None)


def test_json_of_the_agents_own_is_an_answer_as_it_stands():
    assert parse_fields('{"price": 3}').main_answer == '{"price": 3}'


def test_a_list_that_is_missing_is_not_an_empty_one():
    assert parse_fields('{"main_answer": "yes"}').sources_used is None
    assert parse_fields('{"main_answer": "yes", "sources_used": []}').sources_used == ()


@pytest.mark.parametrize(
    "text", ['{"main_answer": [1, 2]}', '"main_answer" is what I would give', '{"main_answer": null}']
)
def test_text_that_sets_out_to_be_the_object_and_is_not_is_refused(text):
    with pytest.raises(MalformedOutputError):
        parse_fields(text)


def test_structure_json_refuses_plain_text_and_structure_text_reads_nothing_into_it():
    with pytest.raises(MalformedOutputError, match="no JSON object"):
        parse_fields("The economy grew.", Structure.JSON)
    assert parse_fields(json.dumps(WHOLE), Structure.TEXT).main_answer == json.dumps(WHOLE)


def test_a_confidence_of_another_word_is_not_measured():
    assert parse_fields('{"main_answer": "yes", "confidence": "medium"}').confidence is Confidence.MEDIUM
    assert parse_fields('{"main_answer": "yes", "confidence": "quite"}').confidence is None


def test_findings_are_cut_into_atoms():
    found = atomic_findings(("GDP rose; exports fell. Prices held.", "- GDP rose"))
    assert found == ("GDP rose", "exports fell.", "Prices held.")


def test_the_prompt_and_the_schema_name_all_fields():
    names = {"main_answer", "key_findings", "confidence", "sources_used"}
    assert all(f'"{name}"' in prompt_suffix() for name in names)
    schema = response_format()["json_schema"]["schema"]
    assert set(schema["properties"]) == set(schema["required"]) == names


# Sources


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://Example.com/a?b=2&a=1", "https://example.com/a?a=1&b=2"),
        ("http://example.com:80/a", "https://example.com/a"),
        ("https://example.com/a/", "https://example.com/a#part"),
        ("https://example.com/a?utm_source=x&id=3", "https://example.com/a?id=3"),
        ("https://bücher.de/x", "https://xn--bcher-kva.de/x"),
        ("World Bank, https://example.com/a.", "https://example.com/a"),
        ("www.example.com/a", "https://www.example.com/a"),
        ("World Bank Report", "world bank  report"),
    ],
)
def test_one_source_has_one_spelling(first, second):
    assert canonical_source(first) == canonical_source(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://example.com/a", "https://example.com/b"),
        ("https://example.com/a?id=3", "https://example.com/a?id=4"),
        ("https://example.com/A", "https://example.com/a"),  # paths have case
        ("https://a.example.com", "https://b.example.com"),
    ],
)
def test_other_sources_stay_apart(first, second):
    assert canonical_source(first) != canonical_source(second)


def test_what_is_no_address_is_compared_as_text_and_raises_nothing():
    assert canonical_source("http://[") == "http://["
    assert canonical_sources(["", "  "]) == frozenset()
    assert urls_in("See https://a.org/x, and (https://b.org).") == ("https://a.org/x", "https://b.org")


# What an agent returns


class Model:
    def model_dump(self):
        return dict(WHOLE)


@pytest.mark.parametrize("value", [WHOLE, Model(), READ, json.dumps(WHOLE), AgentOutput(json.dumps(WHOLE))])
def test_fields_models_and_texts_are_read_alike(value):
    assert OutputReader().read(0, value).fields == READ


def test_a_message_with_a_tool_call_is_an_action():
    call = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": '{"order": 7}'}}
    record = OutputReader().read(0, {"role": "assistant", "content": None, "tool_calls": [call]})
    assert record.action == Action("", (ToolCall("refund", {"order": 7}),))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("", FailureKind.EMPTY),
        (" \n​", FailureKind.EMPTY),
        ('{"main_answer": ""}', FailureKind.EMPTY),
        ('{"main_answer": [}', FailureKind.MALFORMED),
        ({"other": 1}, FailureKind.MALFORMED),
        (None, FailureKind.WRONG_TYPE),
        (7, FailureKind.WRONG_TYPE),
        ("x" * 200_001, FailureKind.TOO_LONG),
    ],
)
def test_what_is_no_answer_is_a_failure_of_its_kind(value, kind):
    record = OutputReader().read(3, value)
    assert not record.good
    assert record.index == 3
    assert record.failure.kind is kind
    assert len(record.failure.excerpt) <= 2_000


def test_an_extractor_of_the_users_own_reads_anything():
    reader = OutputReader(extractor=lambda value: AnswerFields(str(value["price"])))
    assert reader.read(0, {"price": 3}).fields.main_answer == "3"
    failed = reader.read(1, {"cost": 3}).failure
    assert failed.kind is FailureKind.MALFORMED
    assert "KeyError" in failed.message


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1.0}', True),
        ('[{"x": "y"}]', '[ {"x":"y"} ]', True),
        ("[1, 2]", "[2, 1]", False),  # an array has an order
        ('{"a": 1}', '{"a": "1"}', False),
        ('{"a": 1}', '{"a": 1', False),  # broken: a text like any other
        ("[" * 5_000, "[" * 5_000, True),
    ],
)
def test_answers_that_are_json_are_compared_as_json(one, other, same):
    compared = [action_of(parse_fields(text), Action(text)).text for text in (one, other)]
    assert (compared[0] == compared[1]) is same


def test_what_is_served_of_a_json_answer_is_as_the_agent_wrote_it():
    assert parse_fields('{"b": 2,  "a": 1.0}').main_answer == '{"b": 2,  "a": 1.0}'
    assert action_of(AnswerFields('{"b": 2,  "a": 1.0}'), Action("")).text == '{"a":1,"b":2}'
