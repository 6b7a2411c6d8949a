"""Which likewise this is: its version, Python's, and the ids of the models in the package."""

from __future__ import annotations

import platform

from likewise.core.errors import LikewiseError
from likewise.core.version import VERSION

__all__ = ["version_line"]


def version_line() -> str:
    """One line for bug reports; the ids are those in the signature of each number. No graph is loaded."""
    from likewise.backends.judges import embedded_judge
    from likewise.backends.onnx_encoder import embedded_encoder

    try:
        models = f"judge {embedded_judge().judge_id}, encoder {embedded_encoder().encoder_id}"
    except (LikewiseError, OSError):
        models = "models that cannot be read: `likewise doctor` says why"
    return f"likewise {VERSION} (Python {platform.python_version()}, {models})"
