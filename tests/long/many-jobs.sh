#!/usr/bin/env bash
# duration: 10 min; sweeps of 1,000, 3,000 and 10,000 jobs, all at once, on the simulated executor: time and memory, and that they grow with the jobs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[[ -f build/dev/build.ninja ]] || cmake --preset dev >/dev/null
cmake --build build/dev --target runner_test >/dev/null
printf '| jobs | dispatch s | whole run s | ms a job | peak MB | looks a job |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n'
for jobs in 1000 3000 "${1:-10000}"; do
  PAWL_MANY_JOBS=$jobs build/dev/bin/runner_test --gtest_filter='*ManyJobsAtOnce' --gtest_brief=1 | grep '^|'
done
