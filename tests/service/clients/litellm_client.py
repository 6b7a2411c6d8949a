"""LiteLLM against the address that is given; prints what it got as JSON."""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # its list of prices would be fetched otherwise

import litellm

url, key = sys.argv[1:]
litellm.telemetry = False
litellm.suppress_debug_info = True
TOOLS = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object", "properties": {}}}}]


def ask(text, **more):
    messages = [{"role": "user", "content": text}]
    return litellm.completion(
        model="openai/tiny", api_base=f"{url}/v1", api_key=key, messages=messages, num_retries=0, **more
    )


found = {"plain": ask("Is it safe?").choices[0].message.content}
found["stream"] = "".join(chunk.choices[0].delta.content or "" for chunk in ask("Is it safe?", stream=True))
calls = ask("Refund it", tools=TOOLS).choices[0].message.tool_calls
found["calls"] = [{"name": call.function.name, "args": json.loads(call.function.arguments)} for call in calls]
try:
    ask("Contradict yourself")
except Exception as problem:
    found["refused"] = [type(problem).__name__, getattr(problem, "status_code", None), "likewise" in str(problem)]
print(json.dumps(found))
