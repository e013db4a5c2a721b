"""A real upgrade of a real engine on one box, on the process executor: llama.cpp's server, two builds, one model.

The recipe's launch script says --no-mmap, which the new build no longer has. The baseline is measured and published with the old
build; the upgrade meets the real refusal; somebody who reads it repairs the script on main; the same upgrade then runs through
smoke and full sweep to its comparison and the request is ready."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pawl_e2e import ENV, ROOT, run, run_json, scratch  # noqa: E402

RECIPE = "smollm2-q4-cpu-llamacpp"
SCALE = "1/16"
OLD, NEW, MODEL = os.environ["LLAMA_OLD"], os.environ["LLAMA_NEW"], os.environ["SMOLLM2"]
SCRIPT_PATH = "benchmarks/single_node/fixed_seq_len/smollm2_q4_h200_llamacpp.sh"
SCRIPT = """#!/usr/bin/env bash
source "$(dirname "$0")/../../benchmark_lib.sh"
check_env_vars MODEL CONC ISL OSL RESULT_FILENAME
llama-server -m "$MODEL" --alias "$MODEL" --host 127.0.0.1 --port "$PORT" -c $((2304 * CONC)) --parallel "$CONC" -t 2 %s > llama.log 2>&1 &
SERVER_PID=$!
wait_for_server_ready --port "$PORT" --server-log llama.log --server-pid "$SERVER_PID"
run_benchmark_serving --model "$MODEL" --port "$PORT"
"""


def git(*args, cwd):
    subprocess.run(["git", "-c", "user.name=engineer", "-c", "user.email=engineer@localhost", *map(str, args)], cwd=cwd, check=True, capture_output=True, env=ENV, timeout=60)


def words(candidate):
    return " ".join(str(candidate.get(key, "")) for key in ("state", "outcome", "reason"))


with scratch() as tmp:
    pawl, w = tmp / "pawl", tmp / "w"
    catalog = tmp / "catalog"
    shutil.copytree(ROOT / "data/demo", catalog)
    (catalog / "configs/nvidia-master.yaml").write_text(
        f"{RECIPE}:\n  image: dir:{OLD}\n  model: {MODEL}\n  model-prefix: smollm2\n  runner: h200\n  precision: q4\n  framework: llamacpp\n  multinode: false\n"
        "  scenarios:\n    fixed-seq-len:\n    - isl: 1024\n      osl: 1024\n      search-space:\n      - { tp: 1, ep: 1, conc-list: [1, 2] }\n")
    (catalog / SCRIPT_PATH).parent.mkdir(parents=True, exist_ok=True)
    (catalog / SCRIPT_PATH).write_text(SCRIPT % "--no-mmap")

    print("baseline: the old build", flush=True)
    run(pawl, "sweep", "run", "--workspace", w, "--catalog", catalog, "--recipe", RECIPE, "--scale", SCALE, "--publish", "--progress", "none")
    status = run_json(pawl, "sweep", "status", "1", "--workspace", w)
    assert status["run"]["state"] == "success" and len(status["rows"]) == 2, status["run"]
    for row in status["rows"]:
        assert not row["pawl"]["simulated"] and pathlib.Path(row["pawl"]["engine_args"][0]).name == "llama-server" and "--no-mmap" in row["pawl"]["engine_args"], row["pawl"]
        print(f"  conc {row['conc']}: {row['output_tput_per_gpu']:.1f} output tok/s, TTFT {row['mean_ttft'] * 1000:.0f} ms, {row['pawl']['verdict']}")

    print("upgrade: the new build, the old script", flush=True)
    first = run(pawl, "upgrade", "start", "--workspace", w, "--recipe", RECIPE, "--image", f"dir:{NEW}", "--scale", SCALE, "--progress", "none", status=None)
    thread = run_json(pawl, "cr", "show", "1", "--workspace", w)
    bodies = "\n".join(comment["body"] for comment in thread["comments"])
    assert "invalid argument: --no-mmap" in bodies, bodies[-3000:]
    print("  its thread says: error: invalid argument: --no-mmap")
    request = 1
    if first.returncode != 0:  # no planner knew the repair: somebody who reads the thread does
        print("repair by hand: --load-mode none on main", flush=True)
        git("clone", "--branch", "main", w / "forge.git", tmp / "clone", cwd=tmp)
        script = tmp / "clone" / SCRIPT_PATH
        script.write_text(SCRIPT % "--load-mode none")
        git("commit", "-am", "llama.cpp: --no-mmap is --load-mode none now", cwd=tmp / "clone")
        git("push", "origin", "main", cwd=tmp / "clone")
        run(pawl, "upgrade", "start", "--workspace", w, "--recipe", RECIPE, "--image", f"dir:{NEW}", "--scale", SCALE, "--progress", "none")
        request = 2
    shown = run_json(pawl, "cr", "show", str(request), "--workspace", w)
    assert shown["change_request"]["state"] == "ready", shown["change_request"]
    final = shown["comments"][-2]["body"]
    assert "Final full sweep" in final and "passed" in final.splitlines()[0], final
    print("ready. Its last report:\n" + final.split("---")[0])
