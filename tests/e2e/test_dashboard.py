"""The pages in a real browser, with the shipped judge and a real agent behind a real address."""

import io
import json
import re
import shutil

import pytest
from pypdf import PdfReader

from likewise.backends.judges import embedded_judge
from likewise.backends.onnx_encoder import embedded_encoder
from likewise.service.security.login import create_user
from llm_server import Reply, serving
from service_history import ALSO, ATTACK, NO, PASSWORD, YES, record_of, verdict_of, write
from service_process import running

pytestmark = [pytest.mark.service, pytest.mark.timeout(600)]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = {"desk": {"width": 1240, "height": 900}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def agent():
    """An agent that allows a refund, and every third time does not."""
    asked = []

    def answer(request):
        asked.append(request.body)
        said = NO if len(asked) % 3 == 0 else (YES, ALSO)[len(asked) % 2]
        return Reply(200, json.dumps({"answer": said}).encode(), {"Content-Type": "application/json"})

    with serving(answer) as server:
        yield server


@pytest.fixture(scope="module")
def served(agent, tmp_path_factory):
    agents = {"support": {"url": agent.url, "protocol": "json", "version": "2"}}
    folder = tmp_path_factory.mktemp("dashboard")
    with running(folder, judge=embedded_judge(), encoder=embedded_encoder(), agents=agents) as found:
        create_user(found.service.store, "anna", PASSWORD, "admin", actor="tests")
        calm, clash, hostile = verdict_of(YES, ALSO, YES), verdict_of(YES, NO), verdict_of(ATTACK, NO, query=ATTACK)
        earlier = [record_of(calm, version="1", task="refund", days=3, minutes=i) for i in range(4)]
        earlier += [
            record_of(calm, version="1", task="late", days=3),
            record_of(clash, version="2", task="late", days=1),
        ]
        write(found.service.store, [*earlier, record_of(hostile, id="hostile", agent=f"attacker {ATTACK}"[:200])])
        yield found


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    assert path, "Chromium is not installed: apt-get install chromium"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(served, chromium):
    """Open a signed-in page of some size and scheme; at the end nothing may have gone wrong in any of them."""
    contexts, wrong, asked = [], [], []

    def _visit(size="desk", scheme="light", **options):
        context = chromium.new_context(viewport=WIDTHS[size], color_scheme=scheme, base_url=served.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto("/login")
        page.get_by_label("Name").fill("anna")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{served.url}/")
        return page

    yield _visit
    for context in contexts:
        context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith((served.url, "data:", "blob:"))] == []


def test_from_signing_in_to_the_audit_report(served, agent, visit, tmp_path):
    page = visit()
    page.get_by_role("link", name="Run an agent").click()
    page.get_by_label("Question").fill("Can I get a refund?")
    page.locator("#runs").fill("5")
    page.get_by_label("Task").fill("refund")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url(re.compile("/verdicts/"), timeout=120_000)

    # The contradiction is there, quoted, and marked in the runs.
    assert page.get_by_role("heading", name="Where runs contradict each other").is_visible()
    marks = page.locator(".run-card mark").all_text_contents()
    assert "A refund is not possible." in marks
    assert page.locator(".run-card.clash").count() >= 2
    assert page.locator(".chips.big").inner_text().split("\n")[0].startswith("refused")

    with page.expect_download() as saving:
        page.get_by_role("link", name="Audit report (PDF)").click()
    saving.value.save_as(tmp_path / "report.pdf")
    text = " ".join(part.extract_text() for part in PdfReader(tmp_path / "report.pdf").pages)
    assert "A refund is not possible." in " ".join(text.split())

    # The fork tree comes by itself.
    page.get_by_role("link", name="all runs of this task").click()
    tree = page.get_by_role("img", name=re.compile("Fork tree of 17 runs"))
    tree.wait_for(timeout=120_000)
    assert "first fork at turn 0" in tree.get_attribute("aria-label")

    page.get_by_role("link", name="Compare two versions on this task").click()
    page.get_by_role("heading", name=re.compile("Consistency: ")).wait_for(timeout=120_000)
    assert page.get_by_label("Base").input_value() == "1"
    assert page.get_by_label("Candidate").input_value() == "2"
    assert page.locator("table.tasks tbody tr").count() == 1


def test_a_filter_changes_the_list_without_leaving_the_page(visit):
    page = visit()
    page.goto("/verdicts")
    before = page.locator("ol.verdicts > li").count()
    with page.expect_response(re.compile("label=HIGH")) as changed:
        page.get_by_label("Label").select_option("HIGH")
    assert "<html" not in changed.value.text()
    page.wait_for_function("document.querySelectorAll('ol.verdicts .l-critical').length === 0")
    assert 0 < page.locator("ol.verdicts > li").count() < before


def test_text_that_attacks_runs_nowhere(served, visit):
    page = visit()
    agent = f"attacker {ATTACK}"[:200]
    for path in ("/", "/verdicts", "/verdicts/hostile"):
        page.goto(path)
        assert page.title() != "owned"
        assert "<script>document.title" in page.locator("main").inner_text()
    page.goto("/verdicts/hostile")
    page.get_by_role("link", name="all runs of this task").click()
    page.locator(".analysis").wait_for(timeout=120_000)
    assert page.title() != "owned"
    page.goto("/")
    page.get_by_role("link", name=agent[:30]).click()
    assert page.title() != "owned"
    assert page.evaluate("document.querySelectorAll('img').length") == 0


PATHS = ["/", "/agent?name=support", "/verdicts", "/verdicts/hostile", "/analyze", "/settings"]
SLOW = ["/task?agent=support&task=late&analysis=1", "/compare?agent=support&base=1&candidate=2"]


@pytest.mark.parametrize("size", ["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_scrolls_sideways_and_all_text_can_be_read(visit, size, scheme):
    page = visit(size, scheme)
    for path in [*PATHS, *SLOW]:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[size]["width"], path
        assert page.evaluate(CONTRAST) == [], path


CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3]));
  const linear = (v) => v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4;
  const luminance = (c) => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const background = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const poor = [];
  for (const element of document.querySelectorAll("main *, header *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest(".gone")) continue;
    const style = getComputedStyle(element), svg = element.closest("svg");
    const ink = over(rgba(svg ? style.fill : style.color), background(element));
    const [a, b] = [luminance(ink), luminance(background(element))].sort((x, y) => y - x);
    const contrast = (a + .05) / (b + .05), name = element.className.baseVal ?? element.className;
    if (contrast < 4.5) poor.push(`${element.tagName} ${name} ${element.textContent.slice(0, 30)} ${contrast}`);
  }
  return poor.slice(0, 8);
}
"""


def test_everything_can_be_reached_and_seen_by_keyboard(visit):
    page = visit()
    for path in ("/", "/verdicts", "/settings", "/analyze"):
        page.goto(path)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]"
            ".filter((e) => e.checkVisibility() && e.type !== 'radio').length"
        )
        seen = 1
        for _ in range(min(wanted, 60) - 1):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement === document.body"):
                break
            seen += 1
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", page.evaluate("document.activeElement.outerHTML.slice(0, 120)")
        assert seen >= min(wanted, 60) - 4, path  # a date takes several tabs, a group of radios one
    page.goto("/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_every_field_has_a_name_and_every_page_a_heading_and_a_language(visit):
    page = visit()
    for path in PATHS:
        page.goto(path)
        unnamed = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter((e) => !e.labels.length && !e.ariaLabel).map((e) => e.outerHTML)"
        )
        assert unnamed == [], path
        assert page.locator("h1").count() == 1, path
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.evaluate("[...document.querySelectorAll('svg[role=img]')].every((e) => e.ariaLabel)"), path
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        assert len(set(ids)) == len(ids), path


def test_the_pages_work_without_scripts(visit):
    page = visit(java_script_enabled=False)
    page.goto("/task?agent=support&task=refund")
    page.get_by_role("link", name="Analyse its runs").click()
    assert page.locator(".analysis svg").first.is_visible()
    page.goto("/verdicts")
    page.get_by_label("Label").select_option("HIGH")
    page.get_by_role("button", name="Show").click()
    assert "label=HIGH" in page.url
    assert page.locator("ol.verdicts .l-critical").count() == 0


def test_a_key_is_made_shown_once_and_revoked(visit):
    page = visit()
    page.goto("/settings")
    page.get_by_text("New key").click()
    page.locator("#key-name").fill("browser")
    page.get_by_label("score").check()
    page.get_by_role("button", name="Make the key").click()
    secret = page.locator("#secret").input_value()
    assert secret.startswith("lw_")
    page.goto("/settings")
    assert secret not in page.content()
    page.get_by_role("button", name="Revoke the key browser").click()
    page.wait_for_url(re.compile("/settings#keys"))
    assert "revoked" in page.locator("li.key", has_text="browser").inner_text()


def test_a_report_is_read_back_as_text(visit):
    page = visit()
    answer = page.request.get("/verdicts/hostile/report.pdf")
    text = " ".join(part.extract_text() for part in PdfReader(io.BytesIO(answer.body())).pages)
    assert "<script>document.title='owned'</script>" in " ".join(text.split())
