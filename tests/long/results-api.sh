#!/usr/bin/env bash
# duration: 10 min, network for PyPI; schemathesis against the OpenAPI document of a running server, every check. Argument: [EXAMPLES a route]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="$(mktemp -d "${TMPDIR:-/tmp}/pawl-schema-XXXXXX")"
trap 'rm -rf "$folder"' EXIT
tool="${SCHEMATHESIS:-}"
if [[ -z "$tool" ]]; then
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet schemathesis==4.32.5
  tool="$folder/venv/bin/schemathesis"
fi
python3 tests/results/schema_check.py "${PAWL:-build/release/pawl}" "$folder" "$tool" "${1:-50}"
