"""Five runs of an agent with a refund tool, one refund: tools behind a recorder, permission asked once.

    python examples/refund_once.py

Runs offline against a table of answers. For a real model, change the line marked below.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from local_endpoint import local_endpoint

from likewise import Endpoint, ReliabilityLayer
from likewise.reliability.replay import ToolRecorder

SENT: list[str] = []


def send_refund(order_id: str) -> str:
    """What must not happen five times."""
    SENT.append(order_id)
    return "sent"


def permit(name: str, arguments: Mapping[str, Any]) -> bool:
    """Ask somebody; here, say yes and show what was asked."""
    sys.stdout.write(f"may I call {name}({dict(arguments)})? yes\n")
    return True


def main() -> None:
    """Ask once; the tool is called once for all five runs."""
    refund = ToolRecorder("ask", permit=permit).wrap(send_refund)
    with local_endpoint() as url:
        model = Endpoint("table", url)  # a real one: Endpoint("gpt-4o-mini"), with OPENAI_API_KEY set

        async def agent(query: str) -> str:
            status = refund("A7")
            (said,) = await model.sample(f"{query} What is the capital of France?", 1)
            return f"Refund of order A7 is {status}. {said.text}"

        verdict = ReliabilityLayer(runs=5).wrap(agent).query("Refund order A7.")
    sys.stdout.write(f"refunds sent: {len(SENT)}; {verdict.runs_agreed} runs agree; {verdict.decision}\n")


if __name__ == "__main__":
    main()
