#!/usr/bin/env bash
# duration: 3 min; six single-node launch scripts of the field (three engines), fetched and unmodified, on the twin: a row, an eval and a power sidecar each
# Arguments: a repository that has the commit, and the commit (default: fetched from GitHub into build/).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
commit=843c6254
if (($# > 0)); then
  source_of=("$@")
else
  if [[ ! -d build/reference.git ]]; then git clone --quiet --bare --filter=blob:none https://github.com/SemiAnalysisAI/InferenceX.git build/reference.git; fi
  source_of=(build/reference.git "$commit")
fi
exec python3 tests/field/launch_scripts.py "${source_of[@]}"
