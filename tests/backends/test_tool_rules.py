from __future__ import annotations

import itertools
import pickle
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from likewise.backends.tool_rules import (
    RULES,
    FreeText,
    ToolClass,
    ToolRules,
)
from likewise.core.errors import LabelError
from likewise.core.labels import Judgement, Relation
from likewise.core.rollout import Action, ToolCall
from likewise.core.state_text import action_text

EQ, NE, CO = Relation.EQUIVALENT, Relation.NEUTRAL, Relation.CONTRADICTORY
SAME, UNRELATED, CLASH = (Judgement.certain(relation, "nli") for relation in Relation)


def call(name, **arguments):
    return ToolCall(name, arguments)


def decided(a, b, rules=None):
    """Relation and rule of two calls, the same both ways round."""
    rules = rules or ToolRules()
    there, back = rules.compare_calls(a, b), rules.compare_calls(b, a)
    assert isinstance(there, Judgement)
    assert isinstance(back, Judgement)
    assert (there.relation, there.rule) == (back.relation, back.rule)
    return there.relation, there.rule


def acted(a, b, rules=None):
    return (rules or ToolRules()).plan_action(a, b).resolve()


def test_the_users_word_on_a_tool_decides_which_rule_applies():
    a, b = call("run_tests", suite="unit"), call("run_tests", suite="all")
    assert decided(a, b) == (CO, "tool:same-object-write")
    assert decided(a, b, ToolRules(tool_classes={"run_tests": ToolClass.READS})) == (NE, "tool:other-look-up")


# One call against one call


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"q": "x", "o": {"limit": 10, "sort": "asc"}}, {"o": {"sort": "asc", "limit": 10}, "q": "x"}),
        ({"amount": 1}, {"amount": 1.0}),
        ({"filter": '{"a": [1, 2]}'}, {"filter": {"a": [1, 2.0]}}),
        ({"item_ids": "['83', '84']"}, {"item_ids": ["83", "84"]}),
        ({"priority": "2"}, {"priority": 2}),
        ({"name": "Ann  Lee "}, {"name": "Ann Lee"}),
        ({"reason": "LOST"}, {"reason": "lost"}),
        ({}, {}),
    ],
)
def test_another_spelling_of_the_same_arguments_is_the_same_call(a, b):
    assert decided(ToolCall("set_thing", a), ToolCall("set_thing", b)) == (EQ, "tool:same-call")


def test_arguments_that_could_not_be_parsed_are_compared_as_text():
    assert decided(ToolCall("run", "a  b"), ToolCall("run", "a b ")) == (EQ, "tool:same-call")
    assert decided(ToolCall("run", "a b"), ToolCall("run", "a c")) == (CO, "tool:same-object-write")
    assert decided(ToolCall("get", "a b"), ToolCall("get", "a c")) == (NE, "tool:other-look-up")


@pytest.mark.parametrize(
    ("a", "b"), [("04417", 4417), (True, "true"), (True, 1), (None, "null"), (1, 1.5), ("a", "A"), ([1], 1), ("", None)]
)
def test_values_that_only_look_alike_differ(a, b):
    relation, rule = decided(call("set_limit", value=a), call("set_limit", value=b))
    assert (relation, rule) == (CO, "tool:same-object-write")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (call("get_order", id=1), call("get_order", id=2), (NE, "tool:other-look-up")),
        (call("calculate", expression="1 + 2 + 3"), call("calculate", expression="1 + 2"), (NE, "tool:other-look-up")),
        (call("cancel_order", order_id="A"), call("cancel_order", order_id="B"), (NE, "tool:other-object")),
        (
            call("book", patient_id="P1", provider_id="D", start="10:00"),
            call("book", patient_id="P2", provider_id="D", start="11:00"),
            (NE, "tool:other-object"),
        ),
        (
            call("update_flights", reservation_id="R", cabin="economy", payment_id="p1"),
            call("update_flights", reservation_id="R", cabin="business", payment_id="p2"),
            (CO, "tool:same-object-write"),
        ),
        (
            call("exchange_order_items", order_id="W", item_ids=["1"], new_item_ids=["2"]),
            call("exchange_order_items", order_id="W", item_ids=["1"], new_item_ids=["3"]),
            (CO, "tool:same-object-write"),
        ),
        (
            call("freeze_card", card_last4="44", why=1),
            call("freeze_card", card_last4="20", why=1),
            (NE, "tool:other-object"),
        ),
        (call("set_quota", user="ann", gb=50), call("set_quota", user="bob", gb=50), (NE, "tool:other-object")),
        (call("set_quota", user="ann", gb=50), call("set_quota", user="ann", gb=25), (CO, "tool:same-object-write")),
        (call("close", order_id="1", fee=0), call("close", claim_id="1", fee=0), (NE, "tool:other-object")),
        (call("set", id=1, tags=["a", "b"]), call("set", id=1, tags=["b", "a"]), (NE, "tool:list-order")),
        (call("get", ids=[1, 2]), call("get", ids=[2, 1]), (NE, "tool:list-order")),
        (call("set", id=1, tags=["a", "a"]), call("set", id=1, tags=["a"]), (CO, "tool:same-object-write")),
        (call("set", id=1, gb=2), call("set", id=1, gb=2, notify=True), (NE, "tool:extra-argument")),
        (call("get", o={"page": 1}), call("get", o={"page": 1, "size": 5}), (NE, "tool:extra-argument")),
        (call("set", id=1, gb=2), call("set", id=1, gb=3, notify=True), (CO, "tool:same-object-write")),
        (call("get_user", id=1), call("get_order", id=1), (NE, "tool:different-tools")),
    ],
)
def test_the_rule_table_decides_as_worked_out_by_hand(a, b, expected):
    assert decided(a, b) == expected


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (call("cancel_order", order_id="1"), call("keep_order", order_id="1")),
        (call("confirm_booking", booking_ref="X"), call("cancel_booking", booking_ref="X")),
        (call("deny_claim", claim_id="1", reason="late"), call("approve_claim", claim_id="1", amount=5)),
        (call("block_sim", iccid="89", reason="stolen"), call("unblock_sim", iccid="89", reason="found again")),
        (call("grantAccess", user="d", share="pay"), call("revokeAccess", user="d", share="pay")),
        (call("merge_pull_request", number=4, method="squash"), call("close_pull_request", number=4)),
        (call("add_labels", issue=7, label="bug"), call("remove_label", issue=7, label="bug")),
        (call("freeze_card", card_last4="50"), call("unfreeze_card", card_last4="50")),
    ],
)
def test_opposite_writes_on_one_object_contradict(a, b):
    assert decided(a, b) == (CO, "tool:opposite-writes")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (call("cancel_order", order_id="1"), call("keep_order", order_id="2")),
        (call("cancel_order", user_id="1"), call("confirm_address", user_id="1")),
        (call("add_label", issue=7, label="bug"), call("remove_label", issue=7, label="ui")),
        (call("open_door"), call("close_door")),
        (call("show_order", order_id="1"), call("hide_order", order_id="1")),
        (call("update_order", order_id="1"), call("cancel_order", order_id="1")),
    ],
)
def test_tools_that_are_not_opposite_or_not_on_one_object_are_neutral(a, b):
    assert decided(a, b) == (NE, "tool:different-tools")


# Free text goes to the judge

LONG_A, LONG_B = "User wants a refund", "The user asks for money back"


@pytest.mark.parametrize(("judged", "relation"), [(SAME, EQ), (UNRELATED, NE), (CLASH, CO)])
def test_calls_that_differ_only_in_free_text_relate_as_their_texts(judged, relation):
    plan = ToolRules().plan([call("transfer", summary=LONG_A)], [call("transfer", summary=LONG_B)])
    assert plan.needed_texts == ((LONG_A, LONG_B),)
    result = plan.resolve({(LONG_A, LONG_B): judged})
    assert (result.relation, result.rule) == (relation, "tool:free-text")


def test_the_worst_of_several_texts_counts_and_probabilities_stay_the_judges():
    one_way = Judgement(NE, (0.8, 0.1, 0.1), (0.2, 0.7, 0.1), "nli")
    found = ToolRules().compare_calls(call("send", text="a b", note="c"), call("send", text="d e", note="f"))
    assert found == FreeText((("c", "f"), ("a b", "d e")))
    assert found.resolve({("c", "f"): SAME, ("d e", "a b"): one_way}) == Judgement(
        NE, (0.2, 0.7, 0.1), (0.8, 0.1, 0.1), "tool:free-text"
    )


def test_a_sentence_is_free_text_under_any_name_but_an_id_never_is():
    assert isinstance(ToolRules().compare_calls(call("do", x=LONG_A), call("do", x=LONG_B)), FreeText)
    assert decided(call("do", user="Ann of the North"), call("do", user="Bob of the South")) == (
        NE,
        "tool:other-object",
    )


def test_look_ups_with_other_texts_are_at_worst_neutral():
    found = ToolRules().compare_calls(call("search", query="refund rules"), call("search", query="no refunds"))
    assert isinstance(found, FreeText)
    pair = ("refund rules", "no refunds")
    assert found.resolve({pair: CLASH}).relation == NE
    assert found.resolve({pair: SAME}).relation == EQ


def test_equal_texts_do_not_make_up_for_an_extra_argument():
    found = ToolRules().compare_calls(call("send", text="hi", cc="x"), call("send", text="hello"))
    assert isinstance(found, FreeText)
    assert found.resolve({("hi", "hello"): SAME}).relation == NE
    assert found.resolve({("hi", "hello"): CLASH}).relation == CO


def test_no_judge_is_asked_where_the_structure_already_decides():
    for a, b in [
        (call("send", id=1, text="hi"), call("send", id=2, text="bye")),
        (call("send", id=1, n=1, text="hi"), call("send", id=1, n=2, text="bye")),
    ]:
        assert ToolRules().plan([a], [b]).needed_texts == ()


def test_a_missing_answer_names_the_pair():
    plan = ToolRules().plan_action(Action("yes"), Action("no"))
    with pytest.raises(LabelError, match="'yes' / 'no'"):
        plan.resolve({})


# Parallel calls

X, Y = call("search", q="x"), call("search", q="y")
LA, SF = call("weather", city="LA"), call("match", city="LA")


def sets(a, b):
    plan, back = ToolRules().plan(a, b), ToolRules().plan(b, a)
    assert plan.needed_texts == ()
    assert plan.resolve().relation == back.resolve().relation
    return plan.resolve().relation, plan.resolve().rule


def test_parallel_calls_have_no_order():
    assert sets([LA, SF], [SF, LA]) == (EQ, "tool:same-call")


def test_the_same_call_twice_equals_the_same_call_twice_and_not_once():
    assert sets([X, X], [X, X]) == (EQ, "tool:same-call")
    assert sets([X, X], [X]) == (NE, "tool:unmatched-call")
    assert sets([X, X, Y], [X, Y, Y])[0] == NE


def test_two_empty_sets_are_the_same_and_one_empty_set_is_neutral():
    assert sets([], []) == (EQ, "tool:same-call")
    assert sets([], [X]) == (NE, "tool:unmatched-call")


def test_calls_are_matched_so_that_the_distance_is_least():
    a = [call("set", id=1, v=1), call("set", id=2, v=2)]
    b = [call("set", id=2, v=3), call("set", id=1, v=1)]
    # id 1 is the same call; what is left, id 2 set to 2 and to 3, clashes
    assert sets(a, b) == (CO, "tool:same-object-write")
    # 1 to 1 and 2 to 2 clash twice (2.0); crosswise they are other objects (1.0)
    c = [call("set", id=1, v=5), call("set", id=2, v=5)]
    assert sets(a, c) == (NE, "tool:other-object")


def test_of_equal_sums_the_matching_with_fewer_contradictions_is_taken():
    rules = ToolRules()
    a, b = [call("a", text="1"), call("a", text="2")], [call("a", text="3"), call("a", text="4")]
    answers = {("1", "3"): SAME, ("2", "4"): CLASH, ("1", "4"): UNRELATED, ("2", "3"): UNRELATED}
    plan = rules.plan(a, b)
    assert set(plan.needed_texts) == set(answers)
    assert plan.resolve(answers).relation == NE  # 0.5 + 0.5 rather than 0 + 1


def test_texts_of_a_set_are_judged_in_one_batch_and_only_where_needed():
    batches = []

    def judge(pairs):
        batches.append(list(pairs))
        return [SAME for _ in pairs]

    a = [call("send", id=1, text="hi"), X]
    b = [X, call("send", id=1, text="hello")]
    assert ToolRules().compare_call_sets(a, b, judge).relation == EQ
    assert batches == [[("hi", "hello")]]
    assert ToolRules().compare_call_sets([X], [X], judge).relation == EQ
    assert len(batches) == 1


values = st.sampled_from([1, 2, "a", "b"])
small_calls = st.builds(
    lambda name, id_, value, extra: ToolCall(name, {"id": id_, "value": value, **({"x": 1} if extra else {})}),
    st.sampled_from(["get_it", "set_it", "open_it", "close_it"]),
    values,
    values,
    st.booleans(),
)
call_lists = st.lists(small_calls, max_size=4)


@given(small_calls, small_calls)
def test_the_relation_of_two_calls_is_symmetric(a, b):
    decided(a, b)


@given(call_lists, call_lists, st.randoms(use_true_random=False))
def test_sets_are_symmetric_and_blind_to_order(a, b, random):
    expected = ToolRules().plan(a, b).resolve()
    shuffled_a, shuffled_b = random.sample(a, len(a)), random.sample(b, len(b))
    assert ToolRules().plan(shuffled_a, shuffled_b).resolve() == expected
    assert ToolRules().plan(shuffled_b, shuffled_a).resolve().relation == expected.relation


@given(call_lists, st.randoms(use_true_random=False))
def test_a_set_equals_itself_in_any_order(a, random):
    result = ToolRules().plan(a, random.sample(a, len(a))).resolve()
    assert (result.relation, result.rule) == (EQ, "tool:same-call")


@settings(max_examples=200)
@given(
    st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.lists(st.sampled_from(Relation), min_size=4, max_size=4)] * n))
)
def test_the_matching_is_the_best_of_all_matchings(table):
    rows = len(table)
    a = [call("say", text=f"a{i}") for i in range(rows)]
    b = [call("say", text=f"b{j}") for j in range(4)]
    answers = {(f"a{i}", f"b{j}"): Judgement.certain(table[i][j], "nli") for i in range(rows) for j in range(4)}
    result = ToolRules().plan(a, b).resolve(answers).relation

    def cost(columns):
        relations = [table[i][j] for i, j in enumerate(columns)]
        return sum(relations), relations.count(CO)

    best = min(itertools.permutations(range(4), rows), key=cost)
    worst = max(table[i][j] for i, j in enumerate(best))
    assert result == max(worst, NE if rows < 4 else EQ)


def test_many_parallel_calls_are_compared_in_reasonable_time_and_in_any_order():
    a = [call("set", id=i, v=1) for i in range(60)]
    b = [call("set", id=i, v=1 + i % 2) for i in range(60)]
    start = time.perf_counter()
    expected = ToolRules().plan(a, b).resolve()
    assert ToolRules().plan(a[::-1], b[7:] + b[:7]).resolve() == expected
    assert ToolRules().plan(b, a).resolve().relation == expected.relation
    assert time.perf_counter() - start < 20


# Actions


def test_the_same_action_is_identical_whatever_its_spelling():
    a = Action("Done.  ", (LA, call("set", v=1.0)))
    b = Action(" Done.", (call("set", v=1), LA))
    assert acted(a, b) == Judgement.certain(EQ, "identical")
    assert acted(Action(), Action(" \n")) == Judgement.certain(EQ, "identical")


def test_an_empty_action_is_neutral_to_any_other():
    assert acted(Action(), Action("hello")) == Judgement.certain(NE, "empty-action")
    assert acted(Action(tool_calls=(X,)), Action()) == Judgement.certain(NE, "empty-action")


def test_a_text_that_spells_a_call_is_not_that_call():
    assert acted(Action('search({"q":"x"})'), Action(tool_calls=(X,))) == Judgement.certain(
        NE, "tool:call-against-text"
    )


def test_two_texts_go_to_the_judge_in_canonical_form_and_keep_its_name():
    plan = ToolRules().plan_action(Action("I’ll  do it"), Action("No"))
    assert plan.needed_texts == (("I'll do it", "No"),)
    assert plan.resolve({("I'll do it", "No"): CLASH}) == CLASH


BOOK = call("book_flight", id="1", seat="4A")


def test_a_call_against_a_text_is_neutral_and_against_a_refusal_contradictory():
    book, look = Action(tool_calls=(BOOK,)), Action(tool_calls=(X,))
    refusal = Action("I'm sorry, but I cannot book this flight.")
    assert acted(book, Action("Shall I book it?")) == Judgement.certain(NE, "tool:call-against-text")
    assert acted(book, refusal) == Judgement.certain(CO, "tool:executes-against-refuses")
    assert acted(refusal, book) == Judgement.certain(CO, "tool:executes-against-refuses")
    assert acted(look, refusal) == Judgement.certain(NE, "tool:call-against-text")


def test_text_beside_only_one_of_two_sets_adds_nothing():
    for other in (Action(tool_calls=(X,)), Action(tool_calls=(BOOK,))):
        spoken, silent = Action("Let me look.", (X,)), other
        plan = ToolRules().plan_action(spoken, silent)
        assert plan.needed_texts == ()
        assert plan.resolve().relation == ToolRules().plan([X], other.tool_calls).resolve().relation


def test_texts_and_calls_on_both_sides_give_the_larger_distance():
    a, b = Action("I do it.", (X,)), Action("I don't.", (X,))
    pair = ("I do it.", "I don't.")
    assert ToolRules().plan_action(a, b).resolve({pair: CLASH}) == CLASH
    assert ToolRules().plan_action(a, b).resolve({pair: SAME}).relation == EQ
    c = Action("I don't.", (Y,))
    plan = ToolRules().plan_action(a, c)
    assert set(plan.needed_texts) == {pair, ("x", "y")} or plan.needed_texts == (pair,)
    assert plan.resolve({pair: SAME}).relation == NE


def test_a_call_with_words_against_words_is_never_equivalent():
    plan = ToolRules().plan_action(Action("Booking it.", (BOOK,)), Action("I book it."))
    pair = ("Booking it.", "I book it.")
    assert plan.needed_texts == (pair,)
    assert plan.resolve({pair: SAME}).relation == NE
    assert plan.resolve({pair: CLASH}).relation == CO


actions = st.builds(Action, st.sampled_from(["", "yes", "I cannot do it."]), call_lists.map(tuple))


@given(actions, actions)
def test_actions_are_symmetric_and_only_equal_ones_identical(a, b):
    rules = ToolRules()
    plan, back = rules.plan_action(a, b), rules.plan_action(b, a)
    answers = dict.fromkeys(plan.needed_texts, CLASH)
    result = plan.resolve(answers)
    assert back.resolve(answers).relation == result.relation
    assert (result.rule == "identical") == (action_text(a) == action_text(b))
    assert rules.plan_action(a, a).resolve() == Judgement.certain(EQ, "identical")


# The table is the user's


def test_every_decision_is_a_row_of_the_table_and_names_are_unique():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert all(rule.condition for rule in RULES)
    assert [rule.name for rule in RULES if rule.relation is None] == ["free-text"]


@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("empty-action", Action("x"), Action()),
        ("executes-against-refuses", Action(tool_calls=(BOOK,)), Action("I cannot.")),
        ("call-against-text", Action(tool_calls=(BOOK,)), Action("ok")),
        ("unmatched-call", Action(tool_calls=(X, X)), Action(tool_calls=(X,))),
        ("opposite-writes", Action(tool_calls=(call("open", id=1),)), Action(tool_calls=(call("close", id=1),))),
        ("different-tools", Action(tool_calls=(X,)), Action(tool_calls=(BOOK,))),
        ("other-object", Action(tool_calls=(call("set", id=1),)), Action(tool_calls=(call("set", id=2),))),
        ("other-look-up", Action(tool_calls=(X,)), Action(tool_calls=(Y,))),
        ("same-object-write", Action(tool_calls=(call("set", v=1),)), Action(tool_calls=(call("set", v=2),))),
        ("free-text", Action(tool_calls=(call("do", text="a"),)), Action(tool_calls=(call("do", text="b"),))),
        ("list-order", Action(tool_calls=(call("do", v=[1, 2]),)), Action(tool_calls=(call("do", v=[2, 1]),))),
        ("extra-argument", Action(tool_calls=(call("do"),)), Action(tool_calls=(call("do", v=1),))),
    ],
)
@pytest.mark.parametrize("relation", list(Relation))
def test_a_user_can_override_every_row_but_the_fixed_ones(name, a, b, relation):
    result = acted(a, b, ToolRules(overrides={name: relation}))
    assert result.relation == relation
    assert result.rule.removeprefix("tool:") == name
    assert acted(a, b, ToolRules(overrides={f"tool:{name}": relation})) == result


@pytest.mark.parametrize("name", ["identical", "same-call", "tool:same-call"])
def test_what_is_the_same_stays_equivalent_by_definition(name):
    for relation in (NE, CO, None):
        with pytest.raises(ValueError, match="cannot be changed"):
            ToolRules(overrides={name: relation})
    assert ToolRules(overrides={name: EQ}).rules_id == ToolRules().rules_id
    assert {rule.name for rule in RULES if rule.fixed} == {"identical", "same-call"}


def test_an_unknown_rule_or_class_is_refused_by_name():
    with pytest.raises(ValueError, match="no rule 'same-cal'; the rules are identical, "):
        ToolRules(overrides={"same-cal": EQ})
    with pytest.raises(ValueError, match="only free-text can be left to the judge"):
        ToolRules(overrides={"list-order": None})
    with pytest.raises(ValueError, match="reading"):
        ToolRules(tool_classes={"x": "reading"})


def test_ignored_arguments_do_not_matter():
    a, b = call("get", q="x", page=1), call("get", q="x", o={"stamp": "09:00"})
    assert decided(a, b) == (NE, "tool:extra-argument")
    assert decided(a, b, ToolRules(ignored_arguments=["page", "stamp"])) == (EQ, "tool:same-call")


def test_the_id_changes_with_every_change_and_with_nothing_else():
    plain = ToolRules().rules_id
    assert ToolRules(overrides={"different-tools": NE}).rules_id == plain
    changed = {
        ToolRules(overrides={"different-tools": CO}).rules_id,
        ToolRules(tool_classes={"a": ToolClass.READS}).rules_id,
        ToolRules(ignored_arguments=["a"]).rules_id,
    }
    assert len(changed | {plain}) == 4


def test_rules_and_plans_travel_between_processes():
    rules = pickle.loads(pickle.dumps(ToolRules(overrides={"list-order": EQ})))
    plan = pickle.loads(pickle.dumps(rules.plan_action(Action("a", (X, Y)), Action("b", (X, BOOK)))))
    assert plan.needed_texts == (("a", "b"),)


# Properties over any call

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.:/-]{0,10}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
any_call = st.builds(ToolCall, names, st.dictionaries(st.text(max_size=5), json_values, max_size=3))


@given(any_call, any_call)
def test_no_arguments_break_the_rules(a, b):
    decided(a, a)
    rules = ToolRules()
    there, back = rules.compare_calls(a, b), rules.compare_calls(b, a)
    assert isinstance(there, Judgement) == isinstance(back, Judgement)


def test_the_users_guide_shows_the_table_as_it_is():
    guide = (Path(__file__).parents[2] / "docs" / "tool_rules.md").read_text(encoding="utf-8")
    shown = [line for line in guide.splitlines() if line.startswith(("| `tool:", "| `identical", "| `empty"))]
    assert [line.split("`")[1].removeprefix("tool:") for line in shown] == [rule.name for rule in RULES]
    for line, rule in zip(shown, RULES, strict=True):
        assert line.endswith(f"| {'the judge decides' if rule.relation is None else rule.relation.name.lower()} |")


def test_words_that_nobody_sees_are_an_empty_action():
    assert acted(Action("\u200b"), Action("hello")) == Judgement.certain(NE, "empty-action")
    assert acted(Action("\x00"), Action("\u200b")) == Judgement.certain(EQ, "identical")
