#!/usr/bin/env bash
# Lists what an installation holds: tools/release/sbom.sh RELEASE_ENVIRONMENT FOLDER_OF_THE_WHEEL
set -euo pipefail
release="$1" dist="$2"
installed="$(mktemp -d)"
trap 'rm -rf "$installed"' EXIT
python3 -m venv "$installed/env"
"$installed/env/bin/pip" install --quiet "$(ls "$PWD/$dist"/likewise-*.whl)[serve,postgres]"
"$installed/env/bin/pip" uninstall --quiet --yes pip setuptools
"$release/bin/cyclonedx-py" environment --output-format JSON --output-file "$dist/sbom.json" "$installed/env/bin/python"
echo "$dist/sbom.json: $("$release/bin/python" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["components"]))' "$dist/sbom.json") components"
