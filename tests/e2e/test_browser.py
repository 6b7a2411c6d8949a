"""The HTML report in a real browser: it loads from a file, asks nobody for anything, and runs nothing of the log's."""

import json
import re
import shutil
import subprocess

import pytest

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
ATTACK = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "</script><svg onload=document.title='owned'>'\"]]>--><a href=\"javascript:document.title='owned'\">x</a>"
)
SORT = """
<script>
window.addEventListener("load", () => {
  const failures = [];
  window.addEventListener("error", (event) => failures.push(event.message));
  for (const heading of document.querySelectorAll("th")) {
    for (const target of [heading, ...heading.querySelectorAll("button, a")]) target.click();
  }
  const asked = performance.getEntriesByType("resource").map((each) => each.name);
  const probe = {failures, asked, rows: document.querySelectorAll("tbody tr").length};
  document.documentElement.setAttribute("data-probe", JSON.stringify(probe));
});
</script>
"""

OWN_CALLS = re.compile(r"^https?://[^/]*\.(google|googleapis|gvt1|gstatic)\.com/")
"""Chromium fetches its dictionaries and updates, whatever page is open."""

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(not BROWSER, reason="chromium is not installed"),
    pytest.mark.timeout(600),
]


@pytest.fixture
def page(likewise, runs_file, tmp_path):
    """A report of runs that attack whoever reads it, in texts, ids and tools."""
    path = runs_file(
        {
            f"first {ATTACK}": {f"1{ATTACK}": [ATTACK, "Your trip is cancelled."], "2": ["Hi.", "I cannot do that."]},
            "second": {"1": ["Hello."], "2": ["Hello."]},
        }
    )
    done = likewise("report", path, "--html", tmp_path / "report.html", "--no-store")
    assert done.returncode == 0, done.stderr
    return tmp_path / "report.html"


def opened(page, tmp_path):
    """The document after its scripts ran, and what the browser logged of console and network."""
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--log-net-log={tmp_path / 'net.json'}",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, console


def title(document):
    return re.search(r"<title[^>]*>(.*?)</title>", document, re.DOTALL)[1]


def requests(tmp_path):
    log = (tmp_path / "net.json").read_text(encoding="utf-8", errors="replace")
    return set(re.findall(r'"url":"((?:https?|wss?)://[^"]*)"', log))


def test_the_page_runs_nothing_of_the_logs_and_asks_nobody(page, tmp_path):
    document, console = opened(page, tmp_path)
    assert title(document) != "owned"
    assert title(document) == title(page.read_text(encoding="utf-8"))
    assert console == []
    assert not [url for url in requests(tmp_path) if not OWN_CALLS.search(url)]


def test_sorting_by_every_column_raises_no_error(page, tmp_path):
    """A copy of the page without its policy, with a script that clicks every heading."""
    text = re.sub(r"<meta[^>]*Content-Security-Policy[^>]*>", "", page.read_text(encoding="utf-8"))
    probed = tmp_path / "probed.html"
    probed.write_text(text.replace("</body>", SORT + "</body>"), encoding="utf-8")
    document, console = opened(probed, tmp_path)
    probe = json.loads(re.search(r'data-probe="([^"]*)"', document)[1].replace("&quot;", '"'))
    assert probe["failures"] == []
    assert probe["asked"] == []
    assert probe["rows"] > 0
    assert console == []
    assert title(document) != "owned"
