"""Walks through the README as a newcomer: the wheel in an empty environment, every command from top to bottom, timed.

Run from the repository's environment: python tools/release/readme_transcript.py dist/likewise-*.whl [--extras llm]
The folder holds short runs of the shipped file under the names that the README uses, and an agent; a chat endpoint that
follows a script stands in for a real one. Where a command asks for an extra, the extra is installed if --extras names
it. Writes docs/first_ten_minutes.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "first_ten_minutes.md"
LONGEST = 1800.0
"""Seconds after which a step is interrupted, as by Ctrl-C."""
SHOWN = 14
"""Lines of an answer that are shown, from its start."""
INLINE = re.compile(r"`(likewise[^`]*)`")
FITTED = {"module:function": "my_agent:answer", "MODEL": "tiny", "NAME": "support-bot"}
"""What the README leaves to its reader, and what it is here."""
IN_TURNS = {"module:function": "my_agent:chat"}
"""The same for `likewise collect`, whose agent takes messages and tools."""
NAMED = "from my_agent import answer as my_agent\n"
"""What comes before Python of the README that speaks of the reader's agent."""
NEEDS_REPOSITORY = "make"
SERVES = ["likewise", "serve"]


@dataclass(frozen=True)
class Step:
    """Something that the README says to type, or Python that it shows."""

    typed: str
    python: bool = False


@dataclass(frozen=True)
class Done:
    """How a step ended; `code` is None where it was not run, and `said` then is the reason."""

    typed: str
    code: int | None
    seconds: float
    said: str


def steps_of(markdown: str) -> list[Step]:
    """Everything that is to be typed, in order: indented blocks, Python, and commands in the table; each once."""
    found: list[Step] = []
    lines = iter(markdown.splitlines())
    for line in lines:
        if line == "```python":
            found.append(Step("\n".join(iter(lambda: next(lines), "```")), python=True))
        elif line.startswith("    ") and line.strip():
            found.append(Step(line.strip().partition("  #")[0].strip()))
        else:
            found += [
                Step(typed) for typed in INLINE.findall(line) if line.startswith("|") or typed == "likewise doctor"
            ]
    return list(dict.fromkeys(found))


def fitted(words: list[str], folder: Path, wheel: Path) -> list[str]:
    """The words as they are run here: the reader's own names filled in, files found for patterns, the wheel for `.`."""
    if words == ["pip", "install", "."]:
        return ["pip", "install", "--quiet", str(wheel)]
    for name, here in (FITTED | (IN_TURNS if "collect" in words else {})).items():
        words = [re.sub(rf"\b{name}\b", here, word) for word in words]
    found = ([str(p.relative_to(folder)) for p in sorted(folder.glob(w))] or [w] if "*" in w else [w] for w in words)
    return [word for each in found for word in each]


class Newcomer:
    """An empty environment, an empty home, and a folder with runs."""

    def __init__(self, wheel: Path, place: Path, url: str, extras: list[str]) -> None:
        """Make the home; the folder and the environment are made by whoever calls."""
        self.wheel, self.place, self.extras = wheel, place, extras
        self.folder, self.programs = place / "work", place / "env" / "bin"
        home = place / "home"
        home.mkdir()
        pip = {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_"))}
        own = {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "COLUMNS": "100"}
        self.environment = {**pip, **own}
        self.chat = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "a-key"}

    def do(self, step: Step) -> list[Done]:
        """Do what the README says; an extra that is asked for is installed, and the step done again."""
        if step.python:
            code = (NAMED if "my_agent" in step.typed else "") + step.typed
            return [self._run(step.typed, [str(self.programs / "python"), "-c", code])]
        words = shlex.split(step.typed)
        if words[0] == NEEDS_REPOSITORY:
            return [Done(step.typed, None, 0.0, "needs the repository; there is none near")]
        words = fitted(words, self.folder, self.wheel)
        act = self._serve if words == SERVES else self._run
        done = [act(shlex.join(words), words)]
        asked = re.search(r"pip install '?likewise\[([\w-]+)\]", done[0].said)
        if done[0].code == 4 and asked:
            if asked[1] not in self.extras:
                return [*done, Done(f"pip install 'likewise[{asked[1]}]'", None, 0.0, "not asked for with --extras")]
            install = ["pip", "install", "--quiet", f"{self.wheel}[{asked[1]}]"]
            done += [self._run(f"pip install 'likewise[{asked[1]}]'", install), act(shlex.join(words), words)]
        return done

    def _run(self, typed: str, words: list[str]) -> Done:
        started = time.monotonic()
        chat = self.chat if any("llm:" in word for word in words) else {}  # set up by whoever names a chat model
        environment = self.environment | chat
        with subprocess.Popen(
            words, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as program:
            try:
                said, _ = program.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                program.send_signal(signal.SIGINT)  # as whoever has ten minutes would
                said, _ = program.communicate(timeout=180)
        shown = re.sub(r"[^\n]*\r", "", said.decode("utf-8", "replace").replace("\r\n", "\n"))  # as a terminal has it
        return Done(typed, program.returncode, time.monotonic() - started, shown)

    def _serve(self, typed: str, words: list[str]) -> Done:
        """Start the service, ask whether it is ready, and stop it: 0 where it said so."""
        started = time.monotonic()
        with (self.place / "served").open("w+") as said:
            service = subprocess.Popen(words, cwd=self.folder, env=self.environment, stdout=said, stderr=said)
            answer = _ready(service, started + 180)
            seconds = time.monotonic() - started
            code = service.poll()
            service.terminate()
            service.wait(60)
            said.seek(0)
            told = said.read()
        return Done(typed, code if answer is None else 0, seconds, told if answer is None else f"/readyz: {answer}\n")


def _ready(service: subprocess.Popen[bytes], until: float) -> str | None:
    """What the service answers to whoever asks whether it is ready; None where it ended, or never did."""
    while service.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen("http://127.0.0.1:8700/readyz", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.2)
    return None


def page(done: list[Done], wheel: Path, python: str) -> str:
    """The transcript as a page."""
    mean = (os.getloadavg()[2], os.cpu_count() or 1)
    rows = [f"| `{_cell(each)}` | {_code(each)} | {_time(each)} |" for each in done]
    lines = [
        "# The first ten minutes, as they were",
        "",
        "The README from top to bottom, by `tools/release/readme_transcript.py`: the wheel in an empty environment, an",
        "empty home, a folder with short runs of the shipped file, and no repository near. A chat endpoint that",
        "follows a script stands in for a real one. Extras are installed where a command asks for them, PyTorch as",
        "pinned for the tests. What ended with 130 or -15 was interrupted: to train all arms takes hours on a slow",
        "machine, and the same command goes on.",
        "",
        f"{wheel.name}, {wheel.stat().st_size / 1e6:.0f} MB; Python {python}; {datetime.now(UTC):%Y-%m-%d}.",
        f"Load while this was made: {mean[0]:.0f} on {mean[1]} cores (mean of the last quarter of an hour; above",
        f"{mean[1]}, times are those of a busy machine).",
        "",
        "| typed | ended with | seconds |",
        "|---|---|---|",
        *rows,
        "",
        "## What was said",
        "",
    ]
    for each in done:
        text = each.said.rstrip().splitlines()
        more = [f"... {len(text) - SHOWN} more lines"] if len(text) > SHOWN else []
        lines += ["```text", *(f"$ {line}" for line in each.typed.splitlines()), *text[:SHOWN], *more, "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _cell(each: Done) -> str:
    first, *rest = each.typed.replace("|", "\\|").splitlines()
    return f"{first} ..." if rest else first


def _code(each: Done) -> str:
    return "not run" if each.code is None else str(each.code)


def _time(each: Done) -> str:
    return "" if each.code is None else f"{each.seconds:.1f}"


def walk(wheel: Path, extras: list[str]) -> tuple[list[Done], str]:
    """Do everything, and give what was done and the version of Python."""
    sys.path.insert(0, str(ROOT / "tests"))
    from docs.folder import fill
    from docs.test_code_blocks import answer_of
    from llm_server import serving

    with tempfile.TemporaryDirectory() as name, serving(answer_of) as endpoint:
        place = Path(name)
        fill(place / "work")
        newcomer = Newcomer(wheel, place, endpoint.url, extras)
        venv.create(place / "env", with_pip=True)
        done = []
        for step in steps_of((ROOT / "README.md").read_text(encoding="utf-8")):
            for each in newcomer.do(step):
                texts = (_plain(text, place, wheel) for text in (each.typed, each.said))
                done.append(Done(next(texts), each.code, each.seconds, next(texts)))
                print(f"{_code(each):>8} {each.seconds:7.1f} s  {_cell(each)}", flush=True)
    return done, ".".join(map(str, sys.version_info[:3]))


def _plain(text: str, place: Path, wheel: Path) -> str:
    """Without the names of folders that are gone when this is read, nor ports that were free."""
    text = text.replace(str(place / "work"), "/work").replace(str(place), "").replace(f"{wheel.parent}/", "")
    return re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text.replace(str(ROOT), "")))


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--extras", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    wheel = options.wheel.resolve()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it, and children
    done, python = walk(wheel, options.extras)
    options.out.write_text(page(done, wheel, python), encoding="utf-8")
    bad = [each.typed for each in done if each.code not in (None, 0, 1, 4, 130)]
    if bad:
        sys.exit(f"ended in another way than the README says: {'; '.join(bad)}")


if __name__ == "__main__":
    main()
