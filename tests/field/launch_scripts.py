"""Six single-node launch scripts of the field, three engines, unmodified: each starts the simulated engine in its engine's place, and leaves a
row, an eval and a power sidecar. Argument: a checkout of the reference catalogue (or its repository with a commit: REPO COMMIT).

What the scripts expect of their container is here as small programs: hf, pip, mpirun, and an nvidia-smi that invents 250 W a GPU. /workspace is the
folder of the job, in a mount namespace of its own."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pawl_e2e import ENV, ROOT, check_against_schema, run, run_json, scratch  # noqa: E402

FOLDER = "benchmarks/single_node/fixed_seq_len"
# script, model prefix, precision, sku, framework, model, image, tp
SCRIPTS = [
    ("qwen3.5_fp8_h200.sh", "qwen3.5", "fp8", "h200", "sglang", "Qwen/Qwen3.5-397B-A17B-FP8", "lmsysorg/sglang:v0.5.19-cu130", 8),
    ("qwen3.5_fp4_b200.sh", "qwen3.5", "fp4", "b200", "sglang", "nvidia/Qwen3.5-397B-A17B-NVFP4", "lmsysorg/sglang:v0.5.19-cu130", 2),
    ("deprecated/minimaxm2.5_fp8_h200.sh", "minimaxm2.5", "fp8", "h200", "vllm", "MiniMaxAI/MiniMax-M2.5", "vllm/vllm-openai:v0.22.0", 8),
    ("dsv4_fp8_h200.sh", "dsv4", "fp8", "h200", "vllm", "deepseek-ai/DeepSeek-V4", "vllm/vllm-openai:v0.22.0", 8),
    ("dsr1_fp4_b200_trt.sh", "dsr1", "fp4", "b200", "trt", "nvidia/DeepSeek-R1-FP4", "nvcr.io/nvidia/tensorrt-llm/release:1.2.0", 8),
    ("dsr1_fp8_h200_trt.sh", "dsr1", "fp8", "h200", "trt", "deepseek-ai/DeepSeek-R1-0528", "nvcr.io/nvidia/tensorrt-llm/release:1.2.0", 8),
]
SHIMS = {
    "hf": "#!/bin/sh\necho \"hf $*\"\n",
    "pip": "#!/bin/sh\necho \"pip $*\"\n",
    "pip3": "#!/bin/sh\necho \"pip3 $*\"\n",
    # Its own options first, then the program.
    "mpirun": "#!/bin/sh\nwhile [ $# -gt 0 ]; do case \"$1\" in -n) shift 2 ;; -*) shift ;; *) exec \"$@\" ;; esac; done\n",
    # Without arguments the table of GPUs; asked for samples, a line a GPU each 50 ms.
    "nvidia-smi": "#!/bin/sh\ncase \"$*\" in *query-gpu*) ;; *) echo 'NVIDIA-SMI (simulated)'; exit 0 ;; esac\n"
                  "echo 'timestamp, index, power.draw [W], clocks.current.sm [MHz]'\n"
                  "while :; do t=$(date '+%Y/%m/%d %H:%M:%S.%3N'); for g in $(seq 0 $(({gpus} - 1))); do echo \"$t, $g, 250.00 W, 1900 MHz\"; done; sleep 0.05; done\n",
}


def script_text(source, name):
    if len(source) == 1:
        return (pathlib.Path(source[0]) / FOLDER / name).read_bytes()
    return subprocess.run(["git", "-C", source[0], "show", f"{source[1]}:{FOLDER}/{name}"], check=True, capture_output=True, timeout=60).stdout


def recipe_of(*parts):
    return "-".join(parts)


def one(tmp, source, script, prefix, precision, sku, framework, model, image, tp):
    folder = tmp / recipe_of(prefix, precision, sku, framework)
    catalog, shims, w = folder / "catalog", folder / "shims", folder / "w"
    shutil.copytree(ROOT / "data/demo", catalog)
    recipe = recipe_of(prefix, precision, sku, framework)
    (catalog / "configs/nvidia-master.yaml").write_text(
        f"{recipe}:\n  image: {image}\n  model: {model}\n  model-prefix: {prefix}\n  runner: {sku}\n  precision: {precision}\n  framework: {framework}\n  multinode: false\n"
        f"  scenarios:\n    fixed-seq-len:\n    - isl: 8192\n      osl: 1024\n      search-space:\n      - {{ tp: {tp}, ep: 1, conc-list: [4, 16] }}\n")
    (catalog / "configs/runners.yaml").write_text(f"labels:\n  {sku}:\n    - {sku}-lab_00\nhardware: {{}}\n")
    text = script_text(source, script)
    script = pathlib.Path(script).name  # where the catalogue looks for it
    (catalog / FOLDER / script).write_bytes(text)
    run(tmp / "pawl", "twin", "shims", shims)
    for name, program in SHIMS.items():
        (shims / name).write_text(program.replace("{gpus}", str(tp)))
        (shims / name).chmod(0o755)
    w.mkdir()
    (w / "executor.yaml").write_text("executor: process\nengines: script\n")
    (folder / "workspace").mkdir()
    command = [tmp / "pawl", "sweep", "run", "--workspace", w, "--catalog", catalog, "--recipe", recipe, "--scale", "1/128", "--progress", "none"]
    env = ENV | {"PATH": f"{shims}:{ENV['PATH']}", "PAWL_TWIN_PROFILE": "generic-new", "PAWL_POWER": "nvidia-smi"}
    done = subprocess.run(["unshare", "--mount", "sh", "-c", f"mount --bind {folder}/workspace /workspace && exec \"$@\"", "sh", *map(str, command)], capture_output=True, text=True, timeout=300,
                          env=env)
    assert done.returncode == 0, f"{script}: {done.stdout}\n{done.stderr}"
    status = run_json(tmp / "pawl", "sweep", "status", "1", "--workspace", w)
    assert len(status["rows"]) == 2 and len(status["evals"]) >= 1, (len(status["rows"]), len(status["evals"]))
    for row in status["rows"]:
        check_against_schema(row, "result-row")
        assert row["power_valid"] == 1 and row["framework"] == framework and row["pawl"]["engine_args"], row
    sidecars = [path for path in w.glob("runs/1/1/bench-*/artifacts/power_validation.json")]
    assert len(sidecars) == 2, sidecars
    for job in w.glob("runs/1/1/*/launch"):
        assert (job / FOLDER / script).read_bytes() == text, "unmodified"
    row = status["rows"][0]
    print(f"| {script} | {framework} | {len(status['rows'])} | {len(status['evals'])} | {row['tput_per_gpu']:.1f} | {row['avg_power_w']:.0f} | {len(row['pawl']['engine_args'])} |", flush=True)


if os.geteuid() != 0:
    sys.exit("needs root: the scripts write to /workspace")
made = not os.path.exists("/workspace")
if made:
    os.mkdir("/workspace")
try:
    with scratch() as tmp:
        print("| script | engine | rows | evals | tok/s/GPU (simulated) | W (invented) | words of the engine's command line |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for script in SCRIPTS:
            one(tmp, sys.argv[1:], *script)
finally:
    if made:
        os.rmdir("/workspace")
