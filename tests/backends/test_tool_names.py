from __future__ import annotations

import pytest

from likewise.backends.tool_names import (
    ToolClass,
    are_opposite,
    is_id,
    is_refusal,
    is_sentence,
    is_text_name,
    naming_arguments,
    only_reads,
    stem,
    tool_class,
    tool_words,
)

# Reads or changes

READING = (
    "get_order list-files searchFlights find_user_by_name_and_zip calculate think web_search github.search_issues "
    "mcp__shop__get_cart GetHTTPStatus check_balance verify_identity describe count_rows lookup order_lookup"
)
CHANGING = (
    "cancel_reservation bookFlight update-order send_message transfer_to_human_agents get_or_create_user "
    "find_and_replace check_in_passenger mcp__get__delete_row frobnicate _ 予約"
)


@pytest.mark.parametrize("name", READING.split())
def test_a_tool_whose_verb_reads_only_reads(name):
    assert tool_class(name) is ToolClass.READS


@pytest.mark.parametrize("name", CHANGING.split())
def test_every_other_tool_changes_state(name):
    assert tool_class(name) is ToolClass.CHANGES


def test_the_users_word_on_a_tool_wins():
    assert tool_class("run_tests") is ToolClass.CHANGES
    assert tool_class("run_tests", {"run_tests": ToolClass.READS}) is ToolClass.READS


READING_ALL_THROUGH = (
    "get_order searchFlights lookup web_search order_lookup get_orders_and_items find_order_and_show_status get_refund "
    "mcp__shop__get_cart github.search_issues check_balance get_terms_or_conditions"
)
CHANGING_SOMEWHERE = (
    "check_and_issue_refund verify_and_process_refund get_and_apply_refund lookup_and_issue_refund "
    "get_order_and_issue_refund validate_and_submit find_and_transfer fetch_and_transfer view_and_approve "
    "search_then_execute search_flights_and_reserve readAndWithdraw calculate_refund_and_credit "
    "compute_and_settle_payment find&pay get+refund list_plus_charge find_and_zip get_items_and_items_refund "
    "check_order_out find_and_check_out issue_refund_lookup execute_query get_purge_all and_get get_and_and_pay "
    "cancel_order frobnicate _"
)


@pytest.mark.parametrize("name", READING_ALL_THROUGH.split())
def test_a_name_that_reads_in_every_part_only_reads(name):
    assert only_reads(name)


@pytest.mark.parametrize("name", CHANGING_SOMEWHERE.split())
def test_a_name_with_a_part_that_is_not_known_to_read_does_not_only_read(name):
    assert not only_reads(name)


# Words of a name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("get_order", ["get", "order"]),
        ("updateOrderItems", ["update", "order", "items"]),
        ("GetHTTPStatus", ["get", "http", "status"]),
        ("mcp__shop__get-cart2", ["get", "cart", "2"]),
        ("github.search_issues", ["search", "issues"]),
        ("trailing__", ["trailing"]),
        ("予約", ["予約"]),
        ("__", []),
    ],
)
def test_a_tools_words_are_those_of_its_own_name_in_any_style(name, words):
    assert tool_words(name) == words


def test_only_the_plurals_s_is_taken_off():
    assert [stem(word) for word in ("orders", "order", "gas", "ids")] == ["order", "order", "gas", "ids"]


@pytest.mark.parametrize(
    ("a", "b", "opposite"),
    [
        ("cancel", "keep", True),
        ("lock", "unlock", True),
        ("freeze", "unfreeze", True),
        ("activate", "deactivate", True),
        ("cancel", "cancel", False),
        ("cancel", "update", False),
        ("", "un", False),
    ],
)
def test_verbs_that_undo_each_other_are_opposite_from_either_side(a, b, opposite):
    assert are_opposite(a, b) is opposite
    assert are_opposite(b, a) is opposite


# Names of arguments


@pytest.mark.parametrize("path", ["order_id", "o.orderId", "user", "card_last4", "iban", "payload.file.path"])
def test_an_argument_that_names_an_object_is_an_id(path):
    assert is_id(path)


@pytest.mark.parametrize("path", ["amount", "cabin", "identity", "", "valid", "user.age"])
def test_other_arguments_are_no_ids(path):
    assert not is_id(path)


def test_the_last_word_of_a_path_tells_free_text():
    assert [is_text_name(path) for path in ("message", "o.cancelReason", "message_count", "")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_sentence_has_four_words_that_are_mostly_letters():
    values = ["User wants a refund", "User wants refund", "1 + 2 * 3", "12 Main Street Springfield", ""]
    assert [is_sentence(value) for value in values] == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("tool", "paths", "naming"),
    [
        ("cancel_order", {"order_id", "user_id"}, {"order_id"}),
        ("exchange_order_items", {"order_id", "item_ids", "new_item_ids"}, {"order_id"}),
        ("update_flights", {"reservation_id", "payment_id"}, {"reservation_id"}),
        ("archive_items", {"item_ids"}, {"item_ids"}),
        ("charge", {"payment_id"}, {"payment_id"}),
        ("set_quota", {"user", "gb"}, {"user"}),
        ("set_quota", {"gb"}, set()),
    ],
)
def test_the_object_of_a_change_is_named_by_the_arguments_the_tools_name_speaks_of(tool, paths, naming):
    assert naming_arguments(tool, paths) == naming


# Refusals


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can’t cancel this order.",
        "Unfortunately, I am unable to change it. Anything else?",
        "I'm sorry. This booking is not eligible for a refund.",
        "I understand how you feel. However, a refund is not possible.",
        "I must decline this request.",
        "We aren't able to do that for basic economy.",
    ],
)
def test_a_plain_no_is_a_refusal(text):
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure, I can do that.",
        "I cannot find your order. What is its number?",
        "I can't cancel it without your user ID.",
        "Can't you use another card?",
        "Your order is cancelled. I cannot undo this.",
        "The cannon is able to fire.",
    ],
)
def test_asking_and_explaining_is_no_refusal(text):
    assert not is_refusal(text)
