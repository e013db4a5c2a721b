"""Sweeps on a real Slurm cluster of four nodes that this script starts: every job once, whoever dies in between."""
import os
import shutil
import signal
import subprocess
import sys
import time

from pawl_e2e import ENV, ROOT, prove, run, run_json, scratch, wait_for

CATALOGUE = ROOT / "data/demo"
RECIPE = "demo-fp8-h200-sglang"
JOBS = 6

if os.geteuid() != 0 or any(shutil.which(program) is None for program in ("slurmctld", "slurmd", "sbatch", "squeue")):
    print("  skipped: a cluster needs root and slurmctld, slurmd, slurm-client")
    sys.exit(0)


def cluster(verb, folder, *rest):
    subprocess.run([ROOT / "tests/slurm/cluster.sh", verb, folder, *rest], check=True, stdout=subprocess.DEVNULL, timeout=60)


with scratch() as tmp:
    pawl = tmp / "pawl"
    ENV["SLURM_CONF"] = str(tmp / "cluster/slurm.conf")

    def workspace(name, at_once=4):
        folder = tmp / name
        folder.mkdir()
        (folder / "executor.yaml").write_text(f"executor: slurm\nslurm:\n  owner: {name}\n  poll_s: 0.2\n  jobs_at_once: {at_once}\n  record_lag_s: 5\n  find_again_s: 5\n")
        return folder

    def sweep(folder, scale="1/512"):
        return ["sweep", "run", "--workspace", folder, "--catalog", CATALOGUE, "--recipe", RECIPE, "--scale", scale, "--marker", "m", "--progress", "none"]

    def jobs(owner):
        """State of every job that the cluster knows of the workspace, by name."""
        lines = subprocess.run(["squeue", "-h", "--states=all", "-o", "%j|%T|%A|%N"], check=True, capture_output=True, text=True, timeout=30, env=ENV).stdout.split()
        return [line.split("|") for line in lines if line.startswith(f"{owner}-")]

    def once(folder, owner):
        """Every job of the run was submitted once; one whose client was late was measured again, and kept what it measured first."""
        names = [job[0] for job in jobs(owner)]
        again = len(list((folder / "runs/1/1").glob("*/result.invalid-*.json")))
        assert len(set(names)) == JOBS and len(names) - JOBS == again, (names, again)

    def whole(folder, owner):
        """The run succeeded with each row once, and no job of it is left on the cluster."""
        status = run_json(pawl, "sweep", "status", "1", "--workspace", folder)
        assert status["run"]["state"] == "success", status["run"]
        keys = [row["pawl"]["point_key"] for row in status["rows"]]
        assert len(keys) == len(set(keys)) == JOBS - 1 and len(status["evals"]) == 1, keys
        left = [job for job in jobs(owner) if job[1] not in ("COMPLETED", "CANCELLED", "FAILED")]
        assert not left, left
        return status

    def a_sweep_runs_on_the_nodes_of_the_cluster():
        folder = workspace("plain")
        run(pawl, *sweep(folder))
        whole(folder, "plain")
        ran = jobs("plain")
        once(folder, "plain")
        assert {job[1] for job in ran} == {"COMPLETED"}, ran
        assert sorted(job[0] for job in ran)[0] == "plain-1.1.bench-01-tp4-ep1-c4", ran
        nodes = {row["pawl"]["node"] for row in run_json(pawl, "sweep", "status", "1", "--workspace", folder)["rows"]}
        assert nodes <= {"n1", "n2", "n3", "n4"}, nodes

    def the_matrix_of_a_published_upgrade_is_seventeen_jobs_on_a_cluster_with_a_drained_node():
        """Seven points at 8k/1k and two evals: the field's own run of this recipe had 17 jobs. One node takes none."""
        catalog = tmp / "b200.catalog"
        shutil.copytree(CATALOGUE, catalog)
        (catalog / "configs/nvidia-master.yaml").write_text(
            "qwen3.5-fp4-b200-sglang:\n  image: lmsysorg/sglang:v0.5.19-cu130\n  model: nvidia/Qwen3.5-397B-A17B-NVFP4-V2\n  model-prefix: qwen3.5\n  runner: b200\n"
            "  precision: fp4\n  framework: sglang\n  multinode: false\n  scenarios:\n    fixed-seq-len:\n    - isl: 8192\n      osl: 1024\n      search-space:\n"
            "      - { tp: 4, ep: 1, conc-start: 4, conc-end: 4 }\n      - { tp: 2, ep: 1, conc-start: 4, conc-end: 128 }\n")
        (catalog / "configs/runners.yaml").write_text("labels:\n  b200:\n    - b200-lab_00\nhardware: {}\n")
        folder = workspace("b200")
        subprocess.run(["scontrol", "update", "nodename=n1", "state=drain", "reason=test"], check=True, timeout=30, env=ENV)
        try:
            run(pawl, "sweep", "run", "--workspace", folder, "--catalog", catalog, "--recipe", "qwen3.5-fp4-b200-sglang", "--scale", "1/1024", "--marker", "m", "--canary",
                "--progress", "none")
        finally:
            subprocess.run(["scontrol", "update", "nodename=n1", "state=resume"], check=True, timeout=30, env=ENV)
        status = run_json(pawl, "sweep", "status", "1", "--workspace", folder)
        assert status["run"]["state"] == "success" and status["run"]["jobs"] == status["run"]["done"] == 17, status["run"]
        kinds = [job["kind"] for job in run_json(pawl, "sweep", "logs", "1", "--workspace", folder)["jobs"]]
        assert {kind: kinds.count(kind) for kind in kinds} == {
            "setup": 1, "canary": 1, "benchmark": 6, "eval": 2, "collector": 2, "compare": 1, "success-rate": 1, "changelog-metadata": 1, "preview-comment": 1, "manifest": 1}, kinds
        assert len(status["rows"]) == 7 and len(status["evals"]) == 2
        assert {row["pawl"]["node"] for row in status["rows"]} <= {"n2", "n3", "n4"}, "nothing ran on the drained node"
        for row in status["rows"]:
            assert len(row["pawl"]["fingerprint"]) == 64 and row["pawl"]["engine_args"][1:2] == ["twin"], row["pawl"]
        assert status["gpu_hours"][0]["tries"] >= 9 and status["gpu_hours"][0]["gpu_hours"] > 0, status["gpu_hours"]
        totals = status["manifest"]["totals"]  # on a busy machine a client is late: such a row is there and not ok
        assert status["manifest"]["executor"]["name"] == "slurm" and (totals["expected"], totals["missing"]) == (9, 0), status["manifest"]["totals"]
        done = run(pawl, "sweep", "artifacts", "1", "--verify", "--workspace", folder)
        assert "klaud-sweep-manifest" in done.stdout and "changed" not in done.stdout, done.stdout

    def a_killed_pawl_finds_its_jobs_again():
        folder = workspace("killed")
        process = subprocess.Popen([str(pawl), *map(str, sweep(folder, "1/64"))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
        wait_for("running jobs", lambda: any(job[1] == "RUNNING" for job in jobs("killed")))
        process.kill()
        process.wait()
        run(pawl, *sweep(folder, "1/64"))
        whole(folder, "killed")
        once(folder, "killed")

    def an_interrupted_pawl_leaves_its_jobs_to_the_next():
        folder = workspace("interrupted")
        process = subprocess.Popen([str(pawl), *map(str, sweep(folder, "1/64"))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
        wait_for("running jobs", lambda: any(job[1] == "RUNNING" for job in jobs("interrupted")))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        assert any(job[1] == "RUNNING" for job in jobs("interrupted")), jobs("interrupted")
        run(pawl, *sweep(folder, "1/64"))
        whole(folder, "interrupted")
        once(folder, "interrupted")

    def a_crash_of_the_controller_loses_no_row_and_doubles_none():
        folder = workspace("crash")
        process = subprocess.Popen([str(pawl), *map(str, sweep(folder))], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENV)
        wait_for("the first job", lambda: (folder / "runs/1/1").is_dir() and any((folder / "runs/1/1").glob("*/slurm.json")))
        cluster("crash", tmp / "cluster")
        time.sleep(0.5)
        cluster("controller", tmp / "cluster")
        _, err = process.communicate(timeout=110)
        if process.returncode != 0:  # sbatch met the dead controller: the same command goes on
            assert "sbatch" in err or "squeue" in err or "scancel" in err, err
            run(pawl, *sweep(folder))
        whole(folder, "crash")

    def a_cancelled_run_leaves_no_job():
        folder = workspace("cancelled")
        process = subprocess.Popen([str(pawl), *map(str, sweep(folder, "1/16"))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
        wait_for("running jobs", lambda: any(job[1] == "RUNNING" for job in jobs("cancelled")))
        run(pawl, "sweep", "cancel", "1", "--workspace", folder)
        assert process.wait(timeout=60) == 8
        assert all(job[1] not in ("RUNNING", "PENDING", "COMPLETING") for job in jobs("cancelled")), jobs("cancelled")
        states = {job["state"] for job in run_json(pawl, "sweep", "logs", "1", "--workspace", folder)["jobs"] if job["folder"]}
        assert "cancelled" in states and states <= {"cancelled", "succeeded"}, states

    def a_mistake_in_executor_yaml_is_named():
        folder = workspace("mistake")
        (folder / "executor.yaml").write_text("executor: slurm\nslurm:\n  partitoin: low\n")
        err = run(pawl, *sweep(folder), status=3).stderr
        assert "executor.yaml" in err and "partitoin" in err and "partition" in err.replace("partitoin", ""), err
        (folder / "executor.yaml").write_text("executor: slurm\nslurm:\n  partition: none-such\n")
        err = run(pawl, *sweep(folder), status=3).stderr
        assert "invalid partition" in err and "executor.yaml" in err, err

    cluster("up", tmp / "cluster", "4")
    try:
        prove(a_sweep_runs_on_the_nodes_of_the_cluster, the_matrix_of_a_published_upgrade_is_seventeen_jobs_on_a_cluster_with_a_drained_node, a_killed_pawl_finds_its_jobs_again, an_interrupted_pawl_leaves_its_jobs_to_the_next,
              a_crash_of_the_controller_loses_no_row_and_doubles_none, a_cancelled_run_leaves_no_job, a_mistake_in_executor_yaml_is_named)
    finally:
        cluster("down", tmp / "cluster")
