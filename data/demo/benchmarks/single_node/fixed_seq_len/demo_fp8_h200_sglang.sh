#!/usr/bin/env bash
# Launch script of demo-fp8-h200-sglang, in the field's form. `pawl demo` passes its flags to the simulated engine.
set -euo pipefail

python3 -m sglang.launch_server \
  --model-path "$MODEL" --host 0.0.0.0 --port "$PORT" \
  --tp-size "$TP" --ep-size "$EP_SIZE" \
  --context-length "$MAX_MODEL_LEN" \
  --attention-backend flashinfer \
  --kv-cache-dtype fp8_e4m3 \
  --mem-fraction-static 0.8 \
  --stream-interval 1 \
  --disable-radix-cache \
  --trust-remote-code > server.log 2>&1 &
