#!/usr/bin/env bash
# duration: 1 min; the reference's own processing scripts (fetched) on what a sweep leaves: rows, aggregate, comparison, validator
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
exec python3 tests/field/reference_scripts.py "${source_of[@]}"
