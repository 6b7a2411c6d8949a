"""What an audit found out, from the JSON of pip-audit, which passes packages that its service does not know.

Run: python tools/release/audit_verdict.py FILE
Ends with 0: no known weakness; 1: weaknesses; 2: the audit could not be made.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OURS = "likewise"
"""Not published, so no service knows it."""


def verdict(said: dict[str, Any]) -> tuple[int, str]:
    """The exit code, and a sentence for each thing that is to be known."""
    packages = [each for each in said.get("dependencies", []) if each["name"] != OURS]
    asked = [each for each in packages if "skip_reason" not in each]
    weak = [
        f"{each['name']} {each['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for each in asked
        for found in each.get("vulns", [])
    ]
    if weak:
        return 1, "\n".join([f"{len(weak)} known weakness(es):", *weak])
    left = [each["name"] for each in packages if "skip_reason" in each]
    if left or not asked:
        names = f": {', '.join(left[:5])}{', ...' if len(left) > 5 else ''}" if left else ""
        return 2, (
            f"the audit could not be made: the advisory service knows nothing of {len(left)} of {len(packages)} "
            f"packages{names}. Nothing is known of their weaknesses."
        )
    return 0, f"no known weakness in {len(asked)} packages"


def main() -> None:
    """Say it."""
    path = Path(sys.argv[1])
    answered = path.is_file() and path.stat().st_size > 0  # not where the service could not be reached
    code, text = verdict(json.loads(path.read_text(encoding="utf-8")) if answered else {})
    print(text)
    sys.exit(code)


if __name__ == "__main__":
    main()
