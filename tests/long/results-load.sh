#!/usr/bin/env bash
# duration: 25 min, 8 GB of disk; a million rows in SQLite and in PostgreSQL: ingest, p99 and payload of every P0 route, memory of the server, beside nginx with the same bytes. Argument: [RUNS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ROOT="$PWD"
source tools/packages.sh
install_packages results
folder="$(mktemp -d "${TMPDIR:-/tmp}/pawl-load-XXXXXX")"
chmod 755 "$folder"
trap 'rm -rf "$folder"' EXIT
python3 tests/results/load.py "${PAWL:-build/release/pawl}" "$folder" "${1:-10000}"
