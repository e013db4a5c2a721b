#!/usr/bin/env bash
# duration: 10 min; llama.cpp, vLLM on the CPU and Dynamo, measured by pawl and vLLM's Rust client with a witness on the wire
# Needs root and what bench/clients/engines/install-engines.sh and bench/clients/install-rivals.sh put in place; an engine that is absent is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cmake --preset release >/dev/null
cmake --build build/release --target pawl
exec bench/clients/engines/run.py "$@"
