"""The audit report: read back from the paper."""

import io
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pypdf import PdfReader

from likewise.reliability.policy import Mode
from likewise.service.dashboard.pdf import LONGEST, verdict_pdf
from likewise.store.store import Store
from service_history import ALSO, ATTACK, NO, YES, record_of, verdict_of, write

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def stored(tmp_path, verdict, **origin):
    with Store.open(f"sqlite:///{tmp_path / 'history.sqlite'}") as store:
        write(store, [record_of(verdict, id="one", **origin)])
        return store.verdicts.get("one")


def printed(tmp_path, verdict, *, font=None, **origin):
    """The report's text as a reader gives it, spaces and line ends made one."""
    content = verdict_pdf(stored(tmp_path, verdict, **origin), asked_by="anna", font=font, now=NOW)
    reader = PdfReader(io.BytesIO(content))
    return reader, " ".join(" ".join(page.extract_text() for page in reader.pages).split())


def test_everything_of_a_verdict_is_on_paper(tmp_path):
    verdict = verdict_of(YES, NO, ALSO, RuntimeError("upstream 500"), sources={"policy": YES}, mode=Mode.FULL)
    reader, text = printed(tmp_path, verdict)
    for part in (
        "Answer refused, trust critical",
        "Can I get a refund?",
        "Consensus, not served",
        "Runs 0 and 1, contradiction 1.00, by nli",
        "A refund is not possible. All sales are final.",
        "class A · the consensus · contradicts run 1",
        "RuntimeError: upstream 500",
        "Does it rest on the sources?",
        "[supported] A refund is possible within 30 days.",
        "Do not serve this answer; have a person review it.",
        "asked for by anna",
        "2026-03-01 12:00:00 UTC",
    ):
        assert part in text, part
    assert re.search(r"SHA-256 [0-9a-f]{64}", text)
    assert reader.metadata.title == "Verdict one"
    assert reader.trailer["/Root"]["/Lang"] == "en"
    assert reader.outline[0].title == "Question"


def test_script_tags_and_markup_are_text_and_nothing_is_opened_or_run(tmp_path):
    markup = "**bold** __under__ --strike-- [a link](https://evil.example) {nb} <b>b</b>"
    verdict = verdict_of(f"{ATTACK} {markup}", NO, query=ATTACK)
    content = verdict_pdf(stored(tmp_path, verdict, task=ATTACK, model=ATTACK), asked_by=ATTACK, now=NOW)
    reader = PdfReader(io.BytesIO(content))
    text = " ".join(" ".join(page.extract_text() for page in reader.pages).split())
    assert text.count("<script>document.title='owned'</script>") >= 4
    assert markup in text
    for name in (b"/JavaScript", b"/JS", b"/AA", b"/URI", b"/Launch", b"/EmbeddedFile", b"/AcroForm"):
        assert name not in content
    assert all("/Annots" not in page for page in reader.pages)
    assert str(reader.trailer["/Root"]["/OpenAction"][1]).startswith("/Fit")  # a place on the first page, no act


def test_the_digest_changes_with_any_letter_of_what_is_stored(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    digests = [
        re.search(r"SHA-256 ([0-9a-f]{64})", printed(tmp_path / folder, verdict_of(answer, NO))[1])[1]
        for folder, answer in (("a", YES), ("b", f"{YES} "))
    ]
    assert digests[0] != digests[1]


@pytest.mark.parametrize("text", ["Grüße, naïve façade", "Привет, Ελλάδα", "∀x ∈ ℝ: x² ≥ 0 → ✓", "½ € 中"])
def test_letters_of_other_scripts_are_printed_and_what_the_font_lacks_is_counted(tmp_path, text):
    _, read = printed(tmp_path, verdict_of(text, NO, query=text))
    if "中" not in text:
        assert text in read
        assert "characters for which the font has no sign" not in read
    else:
        assert "½ € \ufffd" in read
        assert re.search(r"\d+ characters for which the font has no sign", read)


FURTHER = Path("/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf")


@pytest.mark.skipif(not FURTHER.exists(), reason="no further font on this machine")
def test_a_further_font_is_taken_for_what_the_first_lacks(tmp_path):
    _, read = printed(tmp_path, verdict_of(YES, NO), font=FURTHER)
    assert YES in read


def test_a_very_long_answer_is_shortened_and_says_by_how_much(tmp_path):
    reader, text = printed(tmp_path, verdict_of("word " * 8_000, NO))
    assert "19,999 more characters are stored" in text or f"{40_000 - 1 - LONGEST:,} more characters" in text
    assert len(reader.pages) < 40


def test_control_characters_and_half_of_a_pair_do_no_harm(tmp_path):
    _, text = printed(tmp_path, verdict_of("a\x00b\x1b[31mred\x1b[0m \u202eright to left\u202c \ufeffend", NO))
    assert "abred right to left end" in text
