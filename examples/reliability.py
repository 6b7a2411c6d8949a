"""Serve only what holds: a model that is not sure of itself, asked five times.

    python examples/reliability.py

Runs offline against a table of answers. For a real model, change the line marked below.
"""

from __future__ import annotations

import sys

from local_endpoint import local_endpoint

from likewise import Endpoint, ReliabilityLayer

QUESTIONS = ("What is the capital of France?", "Is drug X safe for children?")


def main() -> None:
    """Ask two questions; the second must not be served."""
    with local_endpoint() as url:
        model = Endpoint("table", url)  # a real one: Endpoint("gpt-4o-mini"), with OPENAI_API_KEY set
        wrapped = ReliabilityLayer(runs=5, mode="adaptive").wrap(model)
        for question in QUESTIONS:
            verdict = wrapped.query(question)
            lines = [question, f"  {verdict.decision}, {verdict.label}, {verdict.runs_agreed} agree: {verdict.answer}"]
            lines += [f"  because {reason}" for reason in verdict.reasons]
            sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
