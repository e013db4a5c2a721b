#!/usr/bin/env bash
# duration: 40 min a target by default; libFuzzer on YAML, changelog, key patterns, answers of servers, tokenizers, data sets, artifacts of runs and logs of engines. Arguments: [TARGET] [EXECUTIONS in all]; goes on where it stopped
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ROOT="$PWD"
source tools/packages.sh
targets=(yaml changelog key_pattern response tokenizer data_set ingest engine_log)
if [[ -n "${1:-}" && "$1" != all ]]; then targets=("$1"); fi
for target in "${targets[@]}"; do
  [[ -f "tests/fuzz/${target}_fuzz.cc" ]] || { echo "there is no target \"$target\": $(cd tests/fuzz && ls ./*_fuzz.cc | sed 's/^..//; s/_fuzz.cc//' | paste -sd' ')" >&2; exit 2; }
done
wanted="${2:-40000000}"
[[ "$wanted" =~ ^[0-9]+$ ]] || { echo "\"$wanted\" is no number of executions" >&2; exit 2; }
chunk="${CHUNK:-2000000}"
install_packages build fuzz
if [[ ! -f build/fuzz/build.ninja ]]; then cmake --preset fuzz >/dev/null; fi
cmake --build build/fuzz -j "$(jobs_to_use)" --target "${targets[@]/#/fuzz_}" >build/fuzz/build.log || { tail -n 30 build/fuzz/build.log >&2; exit 1; }

# Short inputs, little bookkeeping of the allocator: what counts here is how many are tried.
declare -A length=([yaml]=160 [changelog]=320 [key_pattern]=48 [response]=512 [tokenizer]=1024 [data_set]=512 [ingest]=1024 [engine_log]=512)
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:malloc_context_size=1:quarantine_size_mb=4:allocator_release_to_os_interval_ms=-1

# Work in chunks: after each one the count is written, so that a stopped job loses one chunk at most.
for target in "${targets[@]}"; do
  state="build/fuzz/state/$target"
  mkdir -p "$state/corpus" "$state/found"
  done_before="$(cat "$state/executions" 2>/dev/null || echo 0)"
  while ((done_before < wanted)); do
    runs=$((wanted - done_before < chunk ? wanted - done_before : chunk))
    log="$state/last.log"
    began=$SECONDS
    if ! "build/fuzz/bin/fuzz_$target" -runs="$runs" -max_len="${length[$target]:-256}" -reload=0 -timeout=600 -rss_limit_mb=2048 -print_final_stats=1 \
        -dict=tests/fuzz/dictionary.txt -artifact_prefix="$state/found/" "$state/corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1; then
      grep -aE 'must hold|ERROR:|runtime error|SUMMARY' "$log" >&2 || tail -n 20 "$log" >&2
      echo "$target: a finding after $done_before executions; the input is in $state/found, the log is $log" >&2
      echo "again: build/fuzz/bin/fuzz_$target $(ls -t "$state"/found/* | head -n 1)" >&2
      exit 1
    fi
    executed="$(sed -n 's/^stat::number_of_executed_units: //p' "$log" | tr -d ' ')"
    done_before=$((done_before + executed))
    echo "$done_before" >"$state/executions"
    printf '%s: %d of %d executions, %d inputs, %d/s\n' "$target" "$done_before" "$wanted" "$(ls "$state/corpus" | wc -l)" $((executed / (SECONDS - began > 0 ? SECONDS - began : 1)))
  done
  echo "$target: $done_before executions, nothing found"
done
