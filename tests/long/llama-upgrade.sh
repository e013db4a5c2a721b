#!/usr/bin/env bash
# duration: 20 min, of which 15 build the engines once; pawl upgrade moves a recipe from llama.cpp b9093 to b11434 with a real model: the flag that is gone fails for real, the repair by hand passes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tests/engines/llama.sh
llama_engines "${1:-$PWD/build/engines}"
exec python3 tests/engines/llama_upgrade.py
