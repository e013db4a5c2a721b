#!/usr/bin/env bash
# duration: 25 min; kill -9 at 100 random instants of `pawl demo`, each followed by `pawl resume`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PAWL_KILLS="${1:-100}" exec python3 e2e_kill.py
