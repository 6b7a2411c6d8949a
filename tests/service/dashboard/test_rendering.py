"""What every page loads and carries."""

import hashlib
import re
from importlib.resources import files

import pytest

from likewise.report import html
from likewise.service.dashboard.rendering import HEADERS, POLICY, asset, html_page, link, render

OWN = files("likewise.service.dashboard")


class Person:
    name, csrf, is_admin = "<b>anna</b>", "token", True


def test_nothing_may_run_or_load_but_what_the_service_serves_as_a_file():
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == rules["form-action"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert HEADERS["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize("name", ["report.css", "dashboard.css", "htmx.min.js"])
def test_an_assets_address_changes_with_its_content(name):
    found = asset(name)
    assert link(name) == f"/static/{name}?{hashlib.sha256(found.content).hexdigest()[:16]}"


def test_style_sheets_load_nothing_further():
    for name in ("report.css", "dashboard.css"):
        text = asset(name).content.decode()
        assert "@import" not in text
        assert not re.search(r"url\((?!#)", text)


def test_the_script_is_the_published_one_and_may_neither_evaluate_nor_keep_pages():
    digest = hashlib.sha256((OWN / "static" / "htmx.min.js").read_bytes()).hexdigest()
    assert digest == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
    page = render("error.html.j2", title="x", words="y")
    config = re.search(r"name=\"htmx-config\" content='([^']+)'", page)[1]
    for setting in ('"allowEval":false', '"allowScriptTags":false', '"includeIndicatorStyles":false'):
        assert setting in config
    assert '"historyCacheSize":0' in config


def test_what_comes_from_others_comes_with_its_licence_and_is_small():
    assert b"Zero-Clause BSD" in (OWN / "static" / "htmx.LICENSE.txt").read_bytes()
    assert b"Bitstream" in (OWN / "fonts" / "DejaVu.LICENSE.txt").read_bytes()
    sizes = [len(path.read_bytes()) for folder in ("static", "fonts") for path in (OWN / folder).iterdir()]
    assert sum(sizes) < 1_600_000


def test_templates_escape_by_themselves_and_a_missing_value_is_an_error():
    assert "&lt;script&gt;" in render("error.html.j2", title="<script>", words="y")
    assert "<b>anna" not in render("verdicts.html.j2", **verdicts_context())
    with pytest.raises(Exception, match="'title' is undefined"):
        render("error.html.j2", words="y")


def verdicts_context():
    class Empty:
        items, next = (), None

    shown = {"asked": {}, "decisions": (), "labels": (), "further": None, "continued": False}
    return {"who": Person, "page": Empty, **shown}


def test_the_page_that_is_shown_is_marked_in_the_menu():
    text = render("verdicts.html.j2", **verdicts_context())
    assert text.count('aria-current="page"') == 1
    assert '<a href="/verdicts" aria-current="page">' in text


def test_a_page_has_its_status_and_headers():
    answer = html_page("error.html.j2", 404, title="Not found", words="")
    assert answer.status_code == 404
    assert {name.lower() for name in HEADERS} <= set(answer.headers.keys())
    assert "report.css" in html.template_environment().list_templates()
