#!/usr/bin/env bash
# duration: 40 min; unit tests and the demo under ASan+UBSan and under TSan
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# A report ends the process that made it, also a child of the demo, and so fails the run.
export ASAN_OPTIONS=abort_on_error=1:detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
for preset in ${*:-asan tsan}; do
  echo "== $preset: build"
  ./dev build "$preset"
  echo "== $preset: unit tests"
  ctest --test-dir "build/$preset" -j2 -L unit --output-on-failure
  for breakage in none flag capacity accuracy; do
    echo "== $preset: pawl demo --break $breakage"
    folder="$(mktemp -d)"
    status=0
    "build/$preset/pawl" demo --scale 1/512 --break "$breakage" --workspace "$folder/w" --progress none || status=$?
    case "$breakage:$status" in
      none:0 | flag:0 | capacity:7 | accuracy:1) ;;
      *) echo "exit status $status"; exit 1 ;;
    esac
    if grep -rlE 'Sanitizer|runtime error:' "$folder" --include='*.log'; then
      echo "a sanitizer reported in the logs above"
      exit 1
    fi
    rm -rf "$folder"
  done
done
