#!/usr/bin/env bash
# duration: 15 min and 7 GiB of memory; 100, 1,000 and 10,000 candidates at once in simulation: steps a second, memory, growth
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --build build/release --target pawl-sim
for n in 100 1000 10000; do build/release/bin/pawl-sim crowd "$n"; done
