#!/usr/bin/env bash
# duration: 5 min; an ingest killed a hundred times at random moments, on SQLite and on PostgreSQL, and two ingesters at once: the store is sound, runs are whole. Argument: [KILLS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="$(mktemp -d "${TMPDIR:-/tmp}/pawl-kill-XXXXXX")"
chmod 755 "$folder" # the server of the test runs as another user
trap 'rm -rf "$folder"' EXIT
python3 tests/results/kill_ingest.py "${PAWL:-build/release/pawl}" "$folder" "${1:-100}"
