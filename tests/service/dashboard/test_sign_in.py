"""Signing in and out over HTTP."""

import pytest

from service_history import PASSWORD


def session_cookie(answer):
    return next(each for each in answer.history[0].headers.get_list("set-cookie") if each.startswith("likewise="))


def test_a_session_begins_under_a_cookie_that_scripts_and_other_sites_do_not_get(stranger):
    answer = stranger.sign_in("anna")
    assert answer.url.path == "/"
    cookie = session_cookie(answer)
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie


def test_signing_in_leads_to_the_page_that_was_asked_for_and_nowhere_else(stranger):
    assert stranger.sign_in("anna", wanted="/verdicts?label=HIGH").url.path == "/verdicts"
    for elsewhere in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "/a\r\nb"):
        assert stranger.sign_in("anna", wanted=elsewhere).url.path == "/"


def test_who_asks_for_a_page_is_sent_back_to_it_after_signing_in(stranger):
    asked = stranger.http.get("/verdicts", params={"label": "HIGH"}, follow_redirects=False)
    assert asked.headers["location"] == "/login?next=%2Fverdicts%3Flabel%3DHIGH"


@pytest.mark.parametrize(("name", "password"), [("anna", "wrong horse battery"), ("nobody at all", PASSWORD)])
def test_a_wrong_name_and_a_wrong_password_are_told_in_the_same_words(stranger, name, password):
    answer = stranger.sign_in(name, password)
    assert answer.status_code == 401
    assert "Name or password is wrong." in answer.text
    assert password not in answer.text
    assert not stranger.http.cookies.get("likewise")


def test_a_form_that_no_page_of_ours_gave_is_refused(stranger):
    answer = stranger.http.post("/login", data={"name": "anna", "password": PASSWORD, "csrf": "guessed"})
    assert answer.status_code == 403
    assert not stranger.http.cookies.get("likewise")


def test_a_form_from_another_site_is_refused_though_the_cookie_comes_with_it(stranger):
    stranger.sign_in("anna")
    for origin in ("https://evil.example", "null"):
        answer = stranger.post("/settings/retention", {"days": "1"}, page="/settings", headers={"Origin": origin})
        assert answer.status_code == 403
        assert "Form refused" in answer.text
    without = stranger.http.post("/settings/retention", data={"days": "1"}, headers={"Origin": stranger.url})
    assert without.status_code == 403
    assert (
        stranger.get("/settings").text.count('id="days" name="days" type="number" min="0" max="36500" value="0"') == 1
    )


def test_signing_out_ends_the_session_also_for_who_kept_its_cookie(stranger):
    stranger.sign_in("anna")
    kept = stranger.http.cookies.get("likewise")
    assert stranger.post("/logout", {}, page="/").url.path == "/login"
    answer = stranger.http.get("/", headers={"Cookie": f"likewise={kept}"}, follow_redirects=False)
    assert answer.headers["location"] == "/login"


def test_what_is_no_form_of_ours_is_refused_before_it_is_read(stranger):
    assert stranger.http.post("/login", json={"name": "anna"}).status_code == 415
    many = "&".join(f"field{i}=1" for i in range(200))
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert stranger.http.post("/login", content=many, headers=kind).status_code == 400
    assert stranger.http.post("/login", content="name=" + "a" * 300_000, headers=kind).status_code == 413
    assert stranger.http.post("/login", content=b"name=%ff\xff", headers=kind).status_code == 400


def test_styles_and_scripts_may_be_kept_for_good_and_nothing_else_is_served(stranger):
    answer = stranger.get("/static/dashboard.css")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert stranger.get("/static/htmx.min.js").status_code == 200
    for name in ("..%2f__init__.py", "htmx.LICENSE.txt", "nothing.css"):
        assert stranger.get(f"/static/{name}").status_code == 404
