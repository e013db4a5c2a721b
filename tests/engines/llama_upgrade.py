"""llama.cpp's server, two builds, one model. The launch script says --no-mmap, which the new build no longer has: the baseline is measured
and published with the old build; the upgrade meets the real refusal; somebody who reads it repairs the script on main; the same upgrade then
runs through smoke and full sweep to its comparison, and the request is ready."""
import os

from upgrade import Box  # finds pawl_e2e
from pawl_e2e import scratch

OLD, NEW, MODEL = os.environ["LLAMA_OLD"], os.environ["LLAMA_NEW"], os.environ["SMOLLM2"]
RECIPE = "smollm2-q4-cpu-llamacpp"
MASTER = (f"{RECIPE}:\n  image: dir:{OLD}\n  model: {MODEL}\n  model-prefix: smollm2\n  runner: h200\n  precision: q4\n  framework: llamacpp\n  multinode: false\n"
          "  scenarios:\n    fixed-seq-len:\n    - isl: 1024\n      osl: 1024\n      search-space:\n      - { tp: 1, ep: 1, conc-list: [1, 2] }\n")
SCRIPT = """#!/usr/bin/env bash
source "$(dirname "$0")/../../benchmark_lib.sh"
check_env_vars MODEL CONC ISL OSL RESULT_FILENAME
llama-server -m "$MODEL" --alias "$MODEL" --host 127.0.0.1 --port "$PORT" -c $((2304 * CONC)) --parallel "$CONC" -t 1 %s > llama.log 2>&1 &
SERVER_PID=$!
wait_for_server_ready --port "$PORT" --server-log llama.log --server-pid "$SERVER_PID"
run_benchmark_serving --model "$MODEL" --port "$PORT"
"""

with scratch() as tmp:
    box = Box(tmp, RECIPE, MASTER, "benchmarks/single_node/fixed_seq_len/smollm2_q4_h200_llamacpp.sh", SCRIPT % "--no-mmap", "1/32")
    for row in box.baseline():
        assert "--no-mmap" in row["pawl"]["engine_args"], row["pawl"]
    by_hand = box.without_repairs()
    assert not box.upgrade(f"dir:{NEW}", *by_hand), "the new build has no --no-mmap"
    said = "\n".join(comment["body"] for comment in box.thread(1)["comments"])
    assert "invalid argument: --no-mmap" in said, said[-3000:]
    print("  its thread says: error: invalid argument: --no-mmap")
    box.repair_on_main(SCRIPT % "--load-mode none", "llama.cpp: --no-mmap is --load-mode none now")
    assert box.upgrade(f"dir:{NEW}", *by_hand)
    box.show_validated(2)

with scratch() as tmp:
    print("\nthe same, and the loop repairs it itself", flush=True)
    box = Box(tmp, RECIPE, MASTER, "benchmarks/single_node/fixed_seq_len/smollm2_q4_h200_llamacpp.sh", SCRIPT % "--no-mmap", "1/32")
    box.baseline()
    assert box.upgrade(f"dir:{NEW}")
    assert any("invalid argument: --no-mmap" in comment["body"] for comment in box.thread(1)["comments"])
    box.show_validated(1)
