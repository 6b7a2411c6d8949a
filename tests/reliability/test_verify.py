from __future__ import annotations

import random

import anyio
import pytest

from judges import LetterEncoder, TableJudge
from likewise.reliability.agents import current_run
from likewise.reliability.attribution import attribute_variance
from likewise.reliability.layer import ReliabilityLayer
from likewise.reliability.mitigations import Belief, ResearchAgent, intersect_queries, query_sets
from likewise.reliability.verify import verify_fix

LAYER = ReliabilityLayer(judge=TableJudge(), encoder=LetterEncoder())
QUERIES = [f"question {i}" for i in range(8)]


def noisy(query):
    return f"{query}: {random.Random(query + str(current_run().index)).choice('abcd')}"


def steady(query):
    return f"{query}: a"


def test_a_fix_that_steadies_helps_and_one_that_changes_nothing_does_not():
    report = verify_fix(noisy, steady, QUERIES, layer=LAYER)
    assert report.variance.after == 0.0
    assert report.variance.difference.high < 0
    assert report.helps
    assert "the fix helps" in str(report)
    none = verify_fix(noisy, noisy, QUERIES, layer=LAYER)
    assert none.variance.difference.value == 0.0
    assert not none.helps
    assert "drop it" in str(none)


def test_a_fix_that_steadies_the_agent_on_wrong_answers_does_not_help():
    right = {query: f"{query}: b" for query in QUERIES}
    report = verify_fix(
        lambda q: right[q] if current_run().index < 4 else "other",
        steady,
        QUERIES,
        layer=LAYER,
        checker=lambda query, answer: answer == right[query],
    )
    assert report.variance.difference.value < 0
    assert report.accuracy.before == pytest.approx(0.8)
    assert report.accuracy.after == 0.0
    assert report.accuracy.difference.value == pytest.approx(-0.8)
    # all queries lose alike: no spread to make an interval from, and so no help can be claimed
    assert not report.helps


def test_queries_that_were_not_measured_are_named_and_left_out():
    def failing(query):
        if query == "question 3":
            raise ValueError("no")
        return steady(query)

    report = verify_fix(noisy, failing, QUERIES, layer=LAYER)
    assert report.queries == 7
    assert report.left_out[0].startswith("question 3: all 5 run(s)")


def test_variance_is_attributed_to_the_module_that_makes_it():
    def make(random_modules):
        def agent(query):
            run = current_run().index
            chosen = run if "query" in random_modules else 0
            return f"{query} {chosen}"  # the summary module adds no variance of its own

        return agent

    found = attribute_variance(make, ["query", "summary"], QUERIES[:2], LAYER)
    assert found.total.value == 1.0
    assert found.floor.value == 0.0
    by_name = {share.module: (share.intrinsic, share.propagated) for share in found.modules}
    assert by_name == {"query": (1.0, 0.0), "summary": (0.0, 1.0)}


# Mitigations


def test_query_sets_decay_to_one_over_the_run():
    assert [query_sets(t, 5, 5) for t in range(5)] == [5, 4, 3, 2, 1]
    assert [query_sets(t, 3, 3) for t in range(3)] == [3, 2, 1]
    assert query_sets(0, 1, 3) == 3
    with pytest.raises(ValueError, match="cannot be"):
        query_sets(3, 3, 3)


def test_the_intersection_keeps_what_all_sets_propose_and_the_first_set_where_nothing_is_common():
    assert intersect_queries([["GDP 2023", "exports"], ["gdp  2023", "jobs"], ["GDP 2023"]]) == ("GDP 2023",)
    assert intersect_queries([["a", "b"], ["c"]]) == ("a", "b")
    assert intersect_queries([]) == ()


def test_a_belief_is_read_from_broken_json_and_not_from_talk():
    belief = Belief.read('Sure: {"established_facts": ["x"], "open_questions": ["y"],')
    assert belief.established_facts == ("x",)
    assert belief.open_questions == ("y",)
    assert Belief.read("no idea") is None


def test_the_research_agent_searches_what_is_common_and_answers_in_fields():
    proposals = iter(['["gdp", "jobs"]', '["gdp"]', '["gdp", "tax"]', '["more"]', '["more"]', "[]"])
    searched, prompts = [], []

    def ask(prompt):
        prompts.append(prompt)
        if "search queries" in prompt:
            return next(proposals)
        if "Update what is known" in prompt:
            return '{"established_facts": ["GDP rose"]}'
        return '{"main_answer": "It grew.", "key_findings": ["GDP rose"], "sources_used": []}'

    def search(query):
        searched.append(query)
        return f"result of {query}"

    answer = anyio.run(ResearchAgent(ask, search, rounds=3, sets=3), "Did it grow?")
    assert searched == ["gdp", "more"]  # 3 sets, then 2, then 1 that is empty
    assert "It grew." in answer
    assert '"established_facts": ["GDP rose"]' in prompts[-1]
