"""Settings: what an administrator changes, and what stays out of the page and the database."""

import re

from service.dashboard.conftest import Browser, running_pages
from service_history import PASSWORD


def test_a_new_key_is_shown_once_and_works(served, anna):
    answer = anna.post(
        "/settings/keys", {"name": "ci", "scope": ["score", "read"], "per_minute": "50"}, page="/settings"
    )
    secret = re.search(r'value="(lw_[^"]+)"', answer.text)[1]
    assert secret not in anna.get("/settings").text
    (key,) = [key for key in served.service.store.keys.list() if key.name == "ci"]
    assert (key.scopes, key.per_minute, key.created_by) == ({"score", "read"}, 50, "user:anna")
    asked = anna.http.get("/v1/verdicts", headers={"Authorization": f"Bearer {secret}"})
    assert asked.status_code == 200
    with open(served.service.settings.database_url.get_secret_value().removeprefix("sqlite:///"), "rb") as file:
        assert secret.rpartition("_")[2].encode() not in file.read()


def test_a_revoked_key_is_refused_at_once(served, anna):
    secret = re.search(
        r'value="(lw_[^"]+)"', anna.post("/settings/keys", {"name": "old", "scope": "read"}, page="/settings").text
    )[1]
    assert anna.http.get("/v1/verdicts", headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    prefix = secret.split("_")[1]
    assert anna.post("/settings/keys/revoke", {"prefix": prefix}, page="/settings").status_code == 200
    assert anna.http.get("/v1/verdicts", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert anna.post("/settings/keys/revoke", {"prefix": prefix}, page="/settings").status_code == 404


def test_a_key_needs_a_name_and_a_scope_that_exists(anna):
    for fields in ({"name": "", "scope": "read"}, {"name": "x"}, {"name": "x", "scope": "everything"}):
        answer = anna.post("/settings/keys", fields, page="/settings")
        assert answer.status_code == 422
        assert "A key needs a name and at least one scope." in answer.text
    assert (
        anna.post("/settings/keys", {"name": "x", "scope": "read", "burst": "-1"}, page="/settings").status_code == 422
    )
    assert anna.post("/settings/keys", {"name": "x" * 101, "scope": "read"}, page="/settings").status_code == 413


def test_how_long_verdicts_are_kept_is_set_here_and_noted_with_who_did(served, anna):
    assert anna.post("/settings/retention", {"days": "90"}, page="/settings").status_code == 200
    assert served.service.store.settings.get("retention_days") == 90
    assert "anna" in anna.get("/settings").text
    newest = served.service.store.audit.page(limit=1).items[0]
    assert (newest.actor, newest.action, newest.target) == ("user:anna", "setting changed", "retention_days")
    anna.post("/settings/retention", {"days": "0"}, page="/settings")
    assert served.service.store.settings.get("retention_days") is None
    assert anna.post("/settings/retention", {"days": "many"}, page="/settings").status_code == 422


def test_a_time_that_the_service_was_started_with_is_not_changed_here(tmp_path):
    with running_pages(tmp_path, retention_days=30) as served, Browser(served.url).http as http:
        anna = Browser(served.url)
        anna.http = http
        anna.sign_in("anna", PASSWORD)
        assert "30 days, as the service was started" in anna.get("/settings").text
        assert anna.post("/settings/retention", {"days": "90"}, page="/settings").status_code == 409
        assert served.service.store.settings.get("retention_days") is None


def test_a_viewer_cannot_send_what_only_an_administrator_may(served, victor, anna):
    token = victor.csrf("/")
    for path, fields in (
        ("/settings/keys", {"name": "mine", "scope": "admin"}),
        ("/settings/keys/revoke", {"prefix": "x"}),
        ("/settings/retention", {"days": "1"}),
        ("/settings/alerts/test", {}),
        ("/analyze", {"agent": "a", "query": "?"}),
    ):
        answer = victor.http.post(path, data={"csrf": token, **fields}, headers={"Origin": victor.url})
        assert answer.status_code == 403, path
        assert "This takes an administrator." in answer.text
    assert not [key for key in served.service.store.keys.list() if key.name == "mine"]


def test_a_test_message_without_a_channel_says_that_none_is_set(anna):
    answer = anna.post("/settings/alerts/test", {}, page="/settings")
    assert answer.status_code == 502
    assert "no channel is set" in answer.text
