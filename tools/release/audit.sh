#!/usr/bin/env bash
# Known weaknesses of what an installation holds: tools/release/audit.sh RELEASE_ENVIRONMENT FOLDER_OF_THE_WHEEL
set -euo pipefail
release="$1" dist="$2"
installed="$(mktemp -d)"
trap 'rm -rf "$installed"' EXIT
python3 -m venv "$installed/env"
"$installed/env/bin/pip" install --quiet "$(ls "$PWD/$dist"/likewise-*.whl)[serve,postgres]"
"$installed/env/bin/pip" uninstall --quiet --yes pip setuptools
site="$("$installed/env/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
status=0
timeout 600 "$release/bin/pip-audit" --path "$site" --progress-spinner off --timeout 20 >"$installed/said" 2>&1 || status=$?
cat "$installed/said"
if [ "$status" -ne 0 ] && ! grep -q "known vulnerabilit" "$installed/said"; then
  echo "the audit could not be made: the advisory service gave no answer (see above). Nothing is known of weaknesses." >&2
fi
exit "$status"
