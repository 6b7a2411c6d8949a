"""Where the rollouts and labels lie that do not travel with the repository."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder() -> Path:
    """LIKEWISE_DATA, or `shared/data` beside the checkout; missing data fails a test, it does not skip it."""
    folder = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} does not exist; set LIKEWISE_DATA to the folder with rollouts/, gold/, nli/")
    return folder
