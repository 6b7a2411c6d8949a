"""Agreement is not truth: answers of one voice are checked against a source, sentence by sentence.

    python examples/grounded.py

Runs offline against a table of answers. For a real model, change the line marked below.
"""

from __future__ import annotations

import sys

from local_endpoint import local_endpoint

from likewise import Endpoint, ReliabilityLayer

SOURCE = "Order A7 was cancelled on May 3. The refund is $25. It is paid to the card that was charged."


def main() -> None:
    """Ask for a refund's amount; what the source contradicts is shown with the passage."""
    with local_endpoint() as url:
        model = Endpoint("table", url)  # a real one: Endpoint("gpt-4o-mini"), with OPENAI_API_KEY set
        wrapped = ReliabilityLayer(runs=2).wrap(model, sources={"order": SOURCE})
        verdict = wrapped.query("How much is the refund?")
    sys.stdout.write(f"{verdict.runs_agreed} runs agree: {verdict.consensus_answer} ({verdict.decision})\n")
    for sentence in verdict.grounding.sentences if verdict.grounding else ():
        sys.stdout.write(f"  {sentence.status}: {sentence.text} | source: {sentence.passage}\n")


if __name__ == "__main__":
    main()
