"""Engines without a container: `image: dir:FOLDER`, started by the recipe's own launch script. The server in the folder is the
simulated engine under another name, so that the script, its library and the failures are real and the numbers are not."""
import pathlib
import shutil

from pawl_e2e import ROOT, prove, run, run_json, scratch

RECIPE = "tiny-q4-cpu-toyserve"
SCRIPT = """#!/usr/bin/env bash
set -euo pipefail
source "$(dirname "$0")/../../benchmark_lib.sh"
check_env_vars MODEL TP CONC ISL OSL MAX_MODEL_LEN RANDOM_RANGE_RATIO RESULT_FILENAME EP_SIZE

start_gpu_monitor
toyserve --served-model-name "$MODEL" --tp "$TP" --port "$PORT" %s > toyserve.log 2>&1 &
SERVER_PID=$!
wait_for_server_ready --port "$PORT" --server-log toyserve.log --server-pid "$SERVER_PID"
run_benchmark_serving --model "$MODEL" --port "$PORT" --result-dir /workspace/
stop_gpu_monitor
"""

with scratch() as tmp:
    pawl = tmp / "pawl"

    def engine(name):
        folder = tmp / name
        (folder / "bin").mkdir(parents=True)
        (folder / "bin/toyserve").write_text(f'#!/bin/sh\nfor word in "$@"; do [ "$word" = --old-switch ] && {{ echo "error: invalid argument: --old-switch"; exit 1; }}; done\n'
                                             f'exec {pawl} twin --profile generic-new "$@"\n')
        (folder / "bin/toyserve").chmod(0o755)
        return folder

    def catalogue(name, image, more="", script=SCRIPT):
        folder = tmp / name
        shutil.copytree(ROOT / "data/demo", folder)
        (folder / "configs/nvidia-master.yaml").write_text(
            f"{RECIPE}:\n  image: {image}\n  model: toy\n  model-prefix: tiny\n  runner: h200\n  precision: q4\n  framework: toyserve\n  multinode: false\n  scenarios:\n"
            "    fixed-seq-len:\n    - isl: 1024\n      osl: 1024\n      search-space:\n      - { tp: 1, ep: 1, conc-list: [1, 2] }\n")
        if script:
            (folder / "benchmarks/single_node/fixed_seq_len/tiny_q4_h200_toyserve.sh").write_text(script % more)
        return folder

    def sweep(name, catalog, **how):
        return run(pawl, "sweep", "run", "--workspace", tmp / name, "--catalog", catalog, "--recipe", RECIPE, "--scale", "1/128", "--progress", "none", **how)

    def a_launch_script_starts_the_engine_of_a_folder():
        sweep("good", catalogue("good.catalog", f"dir:{engine('engine')}"))
        status = run_json(pawl, "sweep", "status", "1", "--workspace", tmp / "good")
        assert status["run"]["state"] == "success" and len(status["rows"]) == 2, status["run"]
        assert {row["image"] for row in status["rows"]} == {f"dir:{tmp / 'engine'}"}
        job = run_json(pawl, "sweep", "logs", "1", "--workspace", tmp / "good")["jobs"][1]
        run(pawl, "sweep", "logs", "1", job["job"], "--engine", "--workspace", tmp / "good")
        folder = pathlib.Path(job["folder"])
        assert (folder / "launch/benchmarks/single_node/fixed_seq_len/tiny_q4_h200_toyserve.sh").read_text() == SCRIPT % ""
        assert (folder / "toyserve.log").stat().st_size > 0

    def the_rows_name_what_really_ran():
        for row in run_json(pawl, "sweep", "status", "1", "--workspace", tmp / "good")["rows"]:
            assert row["pawl"]["engine_args"][:2] == [str(pawl), "twin"] and "--served-model-name" in row["pawl"]["engine_args"], row["pawl"]

    def a_failing_row_cancels_its_own_matrix_only():
        """Two matrices: the scripts of 8k/1k fail, those of 1k/1k do not."""
        catalog = catalogue("families.catalog", f"dir:{tmp / 'engine'}", script=SCRIPT.replace("start_gpu_monitor\n", 'if [[ "$ISL" == 8192 ]]; then echo "no memory for 8k"; exit 1; fi\nstart_gpu_monitor\n', 1))
        master = catalog / "configs/nvidia-master.yaml"
        master.write_text(master.read_text() + "    - isl: 8192\n      osl: 1024\n      search-space:\n      - { tp: 1, ep: 1, conc-list: [1, 2] }\n")
        sweep("families", catalog, status=6)
        states = {}
        for job in run_json(pawl, "sweep", "logs", "1", "--workspace", tmp / "families")["jobs"]:
            states.setdefault(job["family"], []).append(job["state"])
        assert states["single-node 1k1k"] == ["succeeded"] * 2 and states["single-node 8k1k"] == ["failed", "cancelled"], states
        assert len(run_json(pawl, "sweep", "status", "1", "--workspace", tmp / "families", status=6)["rows"]) == 2

    def the_words_of_an_engine_that_refuses_a_flag_are_the_evidence():
        done = sweep("refused", catalogue("refused.catalog", f"dir:{tmp / 'engine'}", "--old-switch"), status=6)
        assert "error: invalid argument: --old-switch" in done.stdout, done.stdout

    def a_program_that_is_not_there_is_named():
        (tmp / "empty").mkdir()
        done = sweep("missing", catalogue("missing.catalog", f"dir:{tmp / 'empty'}"), status=6)
        assert "toyserve" in done.stdout and "not found" in done.stdout, done.stdout

    def without_a_script_nothing_says_how_to_start():
        err = sweep("without", catalogue("without.catalog", f"dir:{tmp / 'engine'}", script=None), status=3).stderr
        assert "no launch script" in err and "benchmarks/single_node/fixed_seq_len/" in err, err

    prove(a_launch_script_starts_the_engine_of_a_folder, the_rows_name_what_really_ran, a_failing_row_cancels_its_own_matrix_only,
          the_words_of_an_engine_that_refuses_a_flag_are_the_evidence, a_program_that_is_not_there_is_named,
          without_a_script_nothing_says_how_to_start)
