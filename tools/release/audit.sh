#!/usr/bin/env bash
# Known weaknesses of what an installation holds: tools/release/audit.sh RELEASE_ENVIRONMENT FOLDER_OF_THE_WHEEL
set -euo pipefail
release="$1" dist="$2" here="$(dirname "$0")"
installed="$(mktemp -d)"
trap 'rm -rf "$installed"' EXIT
python3 -m venv "$installed/env"
"$installed/env/bin/pip" install --quiet "$(ls "$PWD/$dist"/likewise-*.whl)[serve,postgres]"
"$installed/env/bin/pip" uninstall --quiet --yes pip setuptools
site="$("$installed/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
# It ends with 0 although nothing was found out, so that its exit code says nothing: audit_verdict.py reads its answer.
timeout 600 "$release/bin/pip-audit" --path "$site" --progress-spinner off --timeout 20 --format json \
  --output "$installed/said.json" || true
"$release/bin/python" "$here/audit_verdict.py" "$installed/said.json"
