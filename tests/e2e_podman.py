"""A sweep through podman: every job inside the image of its engine, run by digest from a registry of this machine. The image holds the
libraries of this machine's pawl, so that the simulated engine runs in it."""
import os
import re
import shutil
import subprocess
import sys

from pawl_e2e import ENV, ROOT, free_port, prove, run, run_json, scratch, wait_for

RECIPE = "demo-fp8-h200-sglang"

if os.geteuid() != 0 or any(shutil.which(program) is None for program in ("podman", "runc", "conmon", "busybox", "docker-registry")):
    print("  skipped: needs root and podman, runc, conmon, busybox-static, docker-registry")
    sys.exit(0)

with scratch() as tmp:
    pawl = tmp / "pawl"
    port = free_port()
    registry = f"127.0.0.1:{port}"
    box = tmp / "podman"
    made = subprocess.run([ROOT / "tests/podman/podman.sh", "up", box, registry], timeout=60)
    if made.returncode == 3:
        print("  skipped: podman cannot be used here")
        sys.exit(0)
    assert made.returncode == 0
    for line in (box / "env").read_text().splitlines():
        name, _, value = line.partition("=")
        ENV[name] = value

    def podman(*args, **how):
        return subprocess.run(["podman", *map(str, args)], check=True, capture_output=True, text=True, timeout=120, env=ENV, **how).stdout.strip()

    def image():
        """Root with busybox and what pawl is linked with; pushed, and forgotten here: only the registry has it."""
        root = box / "root"
        # Also those that are loaded when first called.
        seen = subprocess.run(f"ldd {pawl}; for f in /lib/x86_64-linux-gnu/lib{{sqlite3,git2,archive,curl,yaml}}*.so.*; do ldd $f; echo \"x => $f\"; done", shell=True, executable="/bin/bash",
                              capture_output=True, text=True, timeout=60).stdout
        for library in sorted(set(re.findall(r"(/\S+\.so\S*)", seen))):
            target = root / library.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() and os.path.exists(library):
                shutil.copy(os.path.realpath(library), target)
        (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
        tar = tmp / "image.tar"
        subprocess.run(["tar", "-C", root, "-cf", tar, "."], check=True, timeout=60)
        podman("import", "--quiet", tar, f"{registry}/eng/sglang:v0.5.19")
        podman("push", "--quiet", "--digestfile", tmp / "digest", f"{registry}/eng/sglang:v0.5.19")
        podman("rmi", "--all", "--force")
        return (tmp / "digest").read_text().strip()

    def catalogue(name, pinned):
        folder = tmp / name
        shutil.copytree(ROOT / "data/demo", folder)
        master = folder / "configs/nvidia-master.yaml"
        master.write_text(master.read_text().replace("lmsysorg/sglang:v0.5.14-cu130", pinned).replace("conc-end: 32", "conc-end: 8"))
        return folder

    def sweep(name, pinned, executor="executor: podman\n", **how):
        folder = tmp / name
        folder.mkdir()
        (folder / "executor.yaml").write_text(executor)
        return folder, run(pawl, "sweep", "run", "--workspace", folder, "--catalog", catalogue(f"{name}.catalog", pinned), "--recipe", RECIPE, "--scale", "1/512", "--progress", "none", **how)

    def a_sweep_runs_inside_the_image_that_its_digest_names():
        pinned = f"{registry}/eng/sglang@{digest}"
        folder, _ = sweep("pinned", pinned)
        status = run_json(pawl, "sweep", "status", "1", "--workspace", folder)
        assert status["run"]["state"] == "success", status["run"]
        assert len(status["rows"]) == 3 and {row["pawl"]["digest"] for row in status["rows"]} == {digest}, [row["pawl"]["digest"] for row in status["rows"]]
        assert {row["image"] for row in status["rows"]} == {pinned}
        assert podman("ps", "--all", "--quiet") == "", "no container stays"
        foreign = [path for path in folder.rglob("*") if path.lstat().st_uid != os.geteuid()]
        assert not foreign, foreign

    def a_node_of_a_cluster_resolves_a_tag_to_the_digest_that_ran():
        if any(shutil.which(program) is None for program in ("slurmctld", "slurmd", "sbatch", "squeue")):
            print("  skipped: there is no Slurm")
            return
        ENV["SLURM_CONF"] = str(tmp / "cluster/slurm.conf")
        cluster = [ROOT / "tests/slurm/cluster.sh"]
        subprocess.run([*cluster, "up", tmp / "cluster", "2"], check=True, stdout=subprocess.DEVNULL, timeout=60)
        try:
            folder, _ = sweep("node", f"{registry}/eng/sglang:v0.5.19", "executor: slurm\nslurm: {owner: boxes, poll_s: 0.3, jobs_at_once: 2, container: podman}\n")
            _, done = sweep("node.missing", f"{registry}/eng/sglang:none", "executor: slurm\nslurm: {owner: gone, poll_s: 0.3, container: podman}\n", status=6)
        finally:
            subprocess.run([*cluster, "down", tmp / "cluster"], check=False, stdout=subprocess.DEVNULL, timeout=60)
        rows = run_json(pawl, "sweep", "status", "1", "--workspace", folder)["rows"]
        assert {(row["pawl"]["digest"], row["pawl"]["node"] in ("n1", "n2")) for row in rows} == {(digest, True)}, rows[0]["pawl"]
        assert "eng/sglang:none cannot be had on the node" in done.stdout, done.stdout
        assert podman("ps", "--all", "--quiet") == "", "no container stays"

    def an_image_that_is_not_there_is_the_failure_of_the_job():
        folder, done = sweep("missing", f"{registry}/eng/sglang:none", status=6)
        assert "cannot be had" in done.stdout and "eng/sglang:none" in done.stdout, done.stdout
        assert run_json(pawl, "sweep", "status", "1", "--workspace", folder, status=6)["run"]["failure"]["cls"] == "image"

    (tmp / "registry.yml").write_text(f"version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {tmp}/registry}}}}\nhttp: {{addr: '{registry}'}}\n")
    server = subprocess.Popen(["docker-registry", "serve", tmp / "registry.yml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for("the registry", lambda: subprocess.run(["curl", "-sf", f"http://{registry}/v2/"], stdout=subprocess.DEVNULL, timeout=10).returncode == 0)
        digest = image()
        prove(a_sweep_runs_inside_the_image_that_its_digest_names, a_node_of_a_cluster_resolves_a_tag_to_the_digest_that_ran, an_image_that_is_not_there_is_the_failure_of_the_job)
    finally:
        server.kill()
        server.wait()
        subprocess.run([ROOT / "tests/podman/podman.sh", "down", box], timeout=90, check=False)
