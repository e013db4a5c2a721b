#!/usr/bin/env bash
# duration: 40 min; 1,000,000 simulated crash schedules in memory and 100,000 on a database file, every invariant after every step
# Usage: crash-schedules.sh [memory|file [FIRST [LAST]]]
# Blocks of 10,000 seeds. A block that was played leaves build/crash-schedules/KIND-FIRST.json and is not played again, so
# that an interrupted job goes on and several may share the work. PAWL_SIM_FOLDER: where the database files lie.
# `pawl-sim tables docs/simulation.md build/crash-schedules/*.json` writes what they came to into the documentation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --build build/release --target pawl-sim
sim=build/release/bin/pawl-sim
records=build/crash-schedules
mkdir -p "$records"
blocks() {  # KIND FIRST LAST
  local first database="" folder=""
  if [[ "$1" == file ]]; then
    folder="$(mktemp -d "${PAWL_SIM_FOLDER:-/tmp}/pawl-sim.XXXXXX")"
    database="$folder/pawl.db"
  fi
  for ((first = $2; first <= $3; first += 10000)); do
    [[ -f "$records/$1-$first.json" ]] && continue
    echo "$1, from seed $first"
    if ! "$sim" run "$first" 10000 "$database" "$records/.$1-$first"; then
      echo "an invariant broke: scenario-SEED.json is what it takes" >&2
      return 1
    fi
    mv "$records/.$1-$first" "$records/$1-$first.json"
  done
  if [[ -n "$folder" ]]; then rm -rf "$folder"; fi
  echo "$1: the schedules of seeds $2 to $3 keep every invariant"
}
case "${1:-both}" in
  memory) blocks memory "${2:-1}" "${3:-1000000}" ;;
  file) blocks file "${2:-1}" "${3:-100000}" ;;
  both)
    blocks memory 1 1000000
    blocks file 1 100000
    ;;
  *)
    echo "crash-schedules.sh [memory|file [FIRST [LAST]]]" >&2
    exit 2
    ;;
esac
