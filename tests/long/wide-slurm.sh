#!/usr/bin/env bash
# duration: 10 min; a sweep of 1,000 jobs (argument: another number) on a real Slurm cluster of this machine, beside one of a tenth: time, memory and looks at the queue
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
exec python3 tests/slurm/wide_sweep.py "${1:-1000}"
