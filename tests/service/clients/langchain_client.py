"""LangChain's OpenAI client against the address that is given; prints what it got as JSON."""

import json
import sys

from langchain_openai import ChatOpenAI

url, key = sys.argv[1:]
model = ChatOpenAI(model="tiny", base_url=f"{url}/v1", api_key=key, max_retries=2, temperature=0)


def refund(order: str) -> str:
    """Refund an order."""
    return order


found = {"plain": model.invoke("Is it safe?").content}
found["stream"] = "".join(chunk.content for chunk in model.stream("Is it safe?"))
found["calls"] = model.bind_tools([refund]).invoke("Refund it").tool_calls
try:
    model.invoke("Contradict yourself")
except Exception as problem:
    found["refused"] = [type(problem).__name__, getattr(problem, "status_code", None), getattr(problem, "code", None)]
print(json.dumps(found))
