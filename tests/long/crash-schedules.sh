#!/usr/bin/env bash
# duration: 40 min; 1,000,000 simulated crash schedules in memory and 100,000 on a database file, every invariant after every step
# Usage: crash-schedules.sh [FIRST [COUNT [memory|file]]]
# Without arguments: both kinds, in blocks, going on where an earlier run of it stopped (build/crash-schedules.*).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --build build/release --target pawl-sim
sim=build/release/bin/pawl-sim
play() {  # FIRST COUNT memory|file
  if [[ "$3" == file ]]; then
    local folder
    folder="$(mktemp -d "${PAWL_SIM_FOLDER:-/tmp}/pawl-sim.XXXXXX")"
    "$sim" run "$1" "$2" "$folder/pawl.db" || { rm -rf "$folder"; return 1; }
    rm -rf "$folder"
  else
    "$sim" run "$1" "$2"
  fi
}
if (($# > 0)); then
  play "$1" "${2:-10000}" "${3:-memory}"
  exit
fi
for kind in memory file; do
  wanted=1000000
  if [[ "$kind" == file ]]; then wanted=100000; fi
  mark="build/crash-schedules.$kind"
  next="$(cat "$mark" 2>/dev/null || echo 1)"
  while ((next <= wanted)); do
    play "$next" 20000 "$kind" | tee "$mark.last" | grep -v '^  '
    next=$((next + 20000))
    echo "$next" >"$mark"
  done
  echo "$kind: all schedules up to seed $((next - 1)) keep every invariant"
done
