#!/usr/bin/env bash
# duration: 3 h; every regime and every client that is installed against the server of known truth, three runs a cell
# It goes on where it stopped: finished cells are in the state file (build/clients-full.jsonl, or --state FILE). Nothing else should run on the machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset release >/dev/null
cmake --build build/release --target pawl stamp_server bare_loop
exec bench/clients/run.py --full "$@"
