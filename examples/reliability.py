"""Serve only what holds: five runs of an agent that is not sure of itself, offline.

    python examples/reliability.py

With a real model, put `Endpoint("gpt-4o-mini")` (pip install 'likewise[llm]', OPENAI_API_KEY set) in place of `agent`.
"""

from __future__ import annotations

import sys

from likewise import ReliabilityLayer
from likewise.reliability.agents import current_run

ANSWERS = {
    "What is the capital of France?": ["Paris is the capital of France."],
    "Is drug X safe for children?": ["Drug X is safe for children.", "Drug X is not safe for children."],
}


def agent(query: str) -> str:
    """Answers by the number of the run: alike, or not."""
    run = current_run()
    answers = ANSWERS[query]
    return answers[(run.index if run else 0) % len(answers)]


def main() -> None:
    """Ask two questions; the second must not be served."""
    wrapped = ReliabilityLayer(runs=5, mode="adaptive").wrap(agent)
    for query in ANSWERS:
        verdict = wrapped.query(query)
        lines = [query, f"  {verdict.decision}, {verdict.label}, {verdict.runs_agreed} agree: {verdict.answer}"]
        lines += [f"  because {reason}" for reason in verdict.reasons]
        sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
