#!/usr/bin/env bash
# duration: 4 min; every test of the simulated upgrade loop: schedules, planted faults, swapped steps, policy settings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --build build/dev --target sim_test
exec build/dev/bin/sim_test "$@"
