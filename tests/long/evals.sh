#!/usr/bin/env bash
# duration: 15 min; gsm8k on a real small model: each answer judged by pawl and by lm-eval, the same verdict for each, the same scores to 1e-9
# Needs: LLAMA_SERVER (a llama-server program) and LLAMA_MODEL (a .gguf), GSM8K (folder with test.jsonl and train-head64.jsonl; default the shared
# data beside the checkout), LM_EVAL (lm-eval 0.4.13's program; without it one is made with `uv venv` and PyPI). QUESTIONS: how many (100).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
: "${PAWL:=$PWD/build/release/pawl}" "${GSM8K:=$PWD/../shared/data/gsm8k}" "${QUESTIONS:=100}"
: "${LLAMA_SERVER:?the path of a llama-server program}" "${LLAMA_MODEL:?the path of a .gguf file}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
if [[ -z "${LM_EVAL:-}" ]]; then
  uv venv --quiet "$work/venv"
  uv pip install --quiet --python "$work/venv/bin/python" "lm-eval[api]==0.4.13"
  LM_EVAL="$work/venv/bin/lm-eval"
fi
python3 tests/evals/agreement.py --pawl "$PAWL" --llama-server "$LLAMA_SERVER" --model "$LLAMA_MODEL" --gsm8k "$GSM8K" --lm-eval "$LM_EVAL" \
  --questions "$QUESTIONS" --work "$work"
