"""What the OpenAPI document says where the types of the code cannot: bodies that are passed on, and errors."""

from __future__ import annotations

from typing import Any

from likewise.service.schemas import ErrorOut

__all__ = ["CHAT_BODY", "CHAT_RESPONSES", "UPLOAD_BODY", "error_responses"]

_WORDS = {
    400: "The request is not valid.",
    401: "No API key, or an unknown one.",
    403: "The API key lacks the scope.",
    404: "There is no such thing.",
    409: "The runs do not agree, and the policy serves no such answer.",
    413: "The request is too large.",
    429: "Too many requests; see Retry-After.",
    502: "The agent or upstream gave no answer.",
    503: "The service cannot serve now; see Retry-After.",
    504: "The agent or upstream gave no answer in time, or the comparing took too long.",
}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Responses of these statuses, beside those that every path may give."""
    return {
        status: {"model": ErrorOut, "description": _WORDS[status]}
        for status in sorted({400, 401, 403, 413, 429, 503, *statuses})
    }


_MESSAGE = {"type": "object", "required": ["role"], "properties": {"role": {"type": "string"}}}
_CHAT = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {"type": "string"},
        "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
        "stream": {"type": "boolean"},
        "n": {"type": "integer", "minimum": 1, "maximum": 16},
    },
    "example": {"model": "gpt-4o", "messages": [{"role": "user", "content": "Is drug X safe in pregnancy?"}]},
}
_COMPLETION = {
    "type": "object",
    "example": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "No."}, "finish_reason": "stop"}],
        "likewise": {"decision": "serve", "label": "HIGH", "reliability": 1.0, "runs_agreed": "3/3"},
    },
}
CHAT_BODY: dict[str, Any] = {
    "openapi_extra": {"requestBody": {"required": True, "content": {"application/json": {"schema": _CHAT}}}}
}
CHAT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A chat completion; a stream of chunks where `stream` is true.",
        "content": {
            "application/json": {"schema": _COMPLETION},
            "text/event-stream": {"schema": {"type": "string"}},
        },
    },
    **error_responses(404, 409, 502, 504),
    "default": {"description": "The upstream's own error, as it came."},
}
UPLOAD_BODY: dict[str, Any] = {
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "description": "A file of recorded runs in any format that `likewise formats` lists, as it is.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
                "application/x-ndjson": {"schema": {"type": "string"}},
                "application/json": {"schema": {}},
            },
        }
    }
}
