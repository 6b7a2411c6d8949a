"""JSON as it is sent."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

__all__ = ["Json"]


class Json(Response):
    """A JSON answer in ASCII: halves of surrogate pairs, which models do write, are escapes and break nothing."""

    media_type = "application/json"

    def __init__(self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:  # noqa: ANN401
        """Send `content`, which holds no NaN."""
        super().__init__(content, status_code, headers)

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - whatever JSON can hold
        """The bytes."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
