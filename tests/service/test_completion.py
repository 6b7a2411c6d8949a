"""The chosen answer as a completion and as chunks, built by hand and put together again by hand."""

from __future__ import annotations

import json
from collections import defaultdict

from judges import TableJudge
from likewise.core.labels import Relation
from likewise.reliability.layer import ReliabilityLayer
from likewise.service.completion import PIECE, chunks, completion_of, consensus_record, summary_of, verdict_headers
from likewise.service.sampling import ChatSampler, Sample, output_of

CALL = {"id": "call_9", "type": "function", "function": {"name": "refund", "arguments": '{"order": "#7"}'}}


def completion(*texts, id="c-1", usage=(10, 4), **choice):
    made = [
        {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | choice
        for i, text in enumerate(texts)
    ]
    tokens = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    tokens["prompt_tokens_details"] = {"cached_tokens": 2}
    return {"id": id, "object": "chat.completion", "created": 5, "model": "m", "choices": made, "usage": tokens}


def judged(completions, relations=()):
    """The verdict of all choices of some completions, and the sampler that holds them."""
    sampler = ChatSampler(None, {}, [])
    outputs = []
    for whole in completions:
        for place, choice in enumerate(whole["choices"]):
            sampler.samples.append(Sample(whole, choice))
            outputs.append(output_of(whole, choice, place, len(sampler.samples) - 1))
    layer = ReliabilityLayer(judge=TableJudge(dict(relations), Relation.EQUIVALENT))
    return layer.score(outputs, "?"), sampler


def together(events):
    """What a client makes of a stream: the delta of each choice, joined."""
    found = defaultdict(lambda: defaultdict(str))
    for event in events:
        assert event.startswith(b"data: ")
        assert event.endswith(b"\n\n")
        if event == b"data: [DONE]\n\n":
            continue
        for choice in json.loads(event[6:])["choices"]:
            own = found[choice["index"]]
            own["content"] += choice["delta"].get("content") or ""
            own["calls"] = own["calls"] or choice["delta"].get("tool_calls", "")
            own["finish"] = own["finish"] or choice["finish_reason"]
    return {index: dict(parts) for index, parts in found.items()}


def test_the_answer_is_one_choice_of_the_upstream_with_the_tokens_of_all():
    contradict = {("Yes.", "No."): Relation.CONTRADICTORY, ("Yes, indeed.", "No."): Relation.CONTRADICTORY}
    verdict, sampler = judged(
        [completion("No.", id="a"), completion("Yes.", id="b"), completion("Yes, indeed.", id="c")], contradict
    )
    body = completion_of(verdict, "v-1", sampler)
    assert body["id"] == "b"  # the completion that holds the consensus, and its own name
    assert [choice["message"]["content"] for choice in body["choices"]] == ["Yes."]
    assert body["usage"] == {
        "prompt_tokens": 30,
        "completion_tokens": 12,
        "total_tokens": 42,
        "prompt_tokens_details": {"cached_tokens": 6},
    }
    assert body["likewise"]["id"] == "v-1"
    assert body["likewise"]["runs_agreed"] == "2/3"


def test_the_tokens_of_one_request_for_several_samples_are_counted_once():
    verdict, sampler = judged([completion("Yes.", "Yes.", "Yes.", usage=(10, 9))])
    assert completion_of(verdict, "v", sampler)["usage"]["total_tokens"] == 19
    assert verdict.metadata["usage"] == {"input_tokens": 10, "output_tokens": 9}


def test_a_caller_who_wants_several_choices_gets_the_consensus_first_and_each_run_once():
    contradict = {("No.", text): Relation.CONTRADICTORY for text in ("Yes.", "Yes!")}
    verdict, sampler = judged([completion("No.", "Yes.", "Yes!")], contradict)
    choices = completion_of(verdict, "v", sampler, 3)["choices"]
    assert [(c["index"], c["message"]["content"]) for c in choices] == [(0, "Yes."), (1, "No."), (2, "Yes!")]


def test_the_summary_holds_no_text_twice_and_no_audit_trail():
    verdict, _ = judged([completion("Yes.", "Yes.")])
    found = summary_of(verdict, "v")
    assert found["decision"] == "serve"
    assert found["variance_report"]["answer"]["value"] == 0.0
    assert not {"answer", "audit_trail", "query"} & set(found)


def test_headers_say_the_same():
    contradict = {("Yes.", "No."): Relation.CONTRADICTORY}
    verdict, _ = judged([completion("Yes.", "Yes.", "No.")], contradict)
    assert verdict_headers(verdict, "v") == {
        "X-Likewise-Verdict-Id": "v",
        "X-Likewise-Decision": "refuse",
        "X-Likewise-Label": "CRITICAL",
        "X-Likewise-Runs-Agreed": "2/3",
        "X-Likewise-Runs-Failed": "0",
        "X-Likewise-Contradiction": "critical",
        "X-Likewise-Reliability": "0.3333",  # two of three pairs differ
        "X-Likewise-Contradiction-Score": "1.0000",
    }


def test_what_was_not_measured_is_no_header():
    verdict, _ = judged([completion("Yes.")])
    headers = verdict_headers(verdict, "v")
    assert headers["X-Likewise-Label"] == "NOT_MEASURED"
    assert "X-Likewise-Reliability" not in headers
    assert consensus_record(verdict).text == "Yes."


def test_chunks_put_together_are_the_completion():
    text = "Ä" * PIECE + "b" * PIECE + "c"
    verdict, sampler = judged([completion(text, text)])
    body = completion_of(verdict, "v", sampler, 2)
    events = list(chunks(body, include_usage=False))
    assert together(events) == {i: {"content": text, "calls": "", "finish": "stop"} for i in (0, 1)}
    parsed = [json.loads(event[6:]) for event in events[:-1]]
    assert {event["object"] for event in parsed} == {"chat.completion.chunk"}
    assert {event["id"] for event in parsed} == {"c-1"}
    assert parsed[0]["choices"][0]["delta"]["role"] == "assistant"
    assert "usage" not in parsed[0]
    assert [i for i, event in enumerate(parsed) if "likewise" in event] == [len(parsed) - 1]
    assert events[-1] == b"data: [DONE]\n\n"


def test_usage_comes_in_a_chunk_of_its_own_where_it_is_wanted():
    verdict, sampler = judged([completion("Yes.")])
    parsed = [json.loads(event[6:]) for event in list(chunks(completion_of(verdict, "v", sampler), True))[:-1]]
    assert [event["usage"] and event["usage"]["total_tokens"] for event in parsed] == [None, None, None, 14]
    assert parsed[-1]["choices"] == []


def test_tool_calls_keep_their_names_in_chunks():
    whole = completion(None, message={"role": "assistant", "content": None, "tool_calls": [CALL, CALL | {"id": "b"}]})
    deltas = [
        json.loads(event[6:])["choices"][0]["delta"] for event in list(chunks(whole | {"likewise": {}}, False))[:-1]
    ]
    assert [delta["tool_calls"] for delta in deltas if "tool_calls" in delta] == [
        [{"index": 0, **CALL}],
        [{"index": 1, **CALL, "id": "b"}],
    ]


def test_logprobs_stay_with_the_text_that_they_are_of():
    logprobs = {"content": [{"token": "Yes", "logprob": -0.1}, {"token": ".", "logprob": -0.2}]}
    long = "Yes." * PIECE
    whole = completion(long, logprobs=logprobs) | {"likewise": {}}
    parsed = [json.loads(event[6:])["choices"][0] for event in list(chunks(whole, False))[:-1]]
    assert [(c["delta"]["content"], c["logprobs"]) for c in parsed if c["delta"].get("content")] == [(long, logprobs)]
