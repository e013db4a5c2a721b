"""Sweeps of N/10 and N jobs on a real cluster: nothing lost, nothing doubled; what pawl itself costs while they run."""
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from pawl_e2e import ENV, ROOT, run_json, scratch  # noqa: E402

AT_ONCE = 4  # two cores: more at once measure each other


def catalogue(folder, jobs):
    """One recipe with that many points: distinct combinations of tp, ep and concurrency."""
    shutil.copytree(ROOT / "data/demo", folder)
    spaces, left = [], jobs
    for tp in range(1, 33):
        for ep in (1, 2, 4, 8):
            concs = list(range(1, 1 + min(left, 8)))
            if concs:
                spaces.append(f"      - {{ tp: {tp}, ep: {ep}, conc-list: {concs} }}")
            left -= len(concs)
    assert left == 0, f"at most {32 * 4 * 8} jobs"
    (folder / "configs/nvidia-master.yaml").write_text(
        "wide-fp8-h200-sglang:\n  image: lmsysorg/sglang:v0.5.14-cu130\n  model: example/Demo-8B-FP8\n  model-prefix: demo\n  runner: h200\n  precision: fp8\n"
        "  framework: sglang\n  multinode: false\n  scenarios:\n    fixed-seq-len:\n    - isl: 1024\n      osl: 1024\n      search-space:\n" + "\n".join(spaces) + "\n")
    return folder


def sweep(tmp, jobs):
    name = f"wide{jobs}"
    folder = tmp / name
    folder.mkdir()
    (folder / "executor.yaml").write_text(f"executor: slurm\nslurm:\n  owner: {name}\n  options: [--exclusive]\n  poll_s: 2\n")
    began = time.monotonic()
    process = subprocess.Popen(
        [tmp / "pawl", "sweep", "run", "--workspace", folder, "--catalog", catalogue(tmp / f"{name}.catalog", jobs), "--recipe", "wide-fp8-h200-sglang", "--scale", "1/1024",
         "--marker", "m", "--no-fail-fast", "--progress", "none"], stdout=subprocess.DEVNULL, env=ENV)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)
    rows = run_json(tmp / "pawl", "sweep", "status", "1", "--workspace", folder)["rows"]
    keys = [row["pawl"]["point_key"] for row in rows]
    listed = subprocess.run(["squeue", "-h", "--states=all", "-o", "%j"], check=True, capture_output=True, text=True, env=ENV).stdout.split()
    listed = [line for line in listed if line.startswith(f"{name}-")]
    lost, doubled = jobs - len(set(keys)), len(keys) - len(set(keys))
    # A job whose client was late on a busy machine is measured again, and keeps what it measured first: no second submit.
    again = len(list((folder / "runs/1/1").glob("*/result.invalid-*.json")))
    twice = len(listed) - len(set(listed)) - again
    print(f"| {jobs} | {seconds:.0f} | {usage.ru_utime + usage.ru_stime:.2f} | {usage.ru_maxrss / 1024:.0f} | {lost} | {doubled} | {twice} | {again} |", flush=True)
    return lost == 0 and doubled == 0 and twice == 0


with scratch() as tmp:
    ENV["SLURM_CONF"] = str(tmp / "cluster/slurm.conf")
    cluster = [ROOT / "tests/slurm/cluster.sh"]
    subprocess.run([*cluster, "up", tmp / "cluster", str(AT_ONCE)], check=True, stdout=subprocess.DEVNULL)
    try:
        print("| jobs | s | CPU s of pawl | RSS MB of pawl | rows lost | rows doubled | jobs submitted twice | measured again, client late |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        wanted = int(sys.argv[1])
        good = [sweep(tmp, jobs) for jobs in (wanted // 10, wanted)]
    finally:
        subprocess.run([*cluster, "down", tmp / "cluster"], check=False)
sys.exit(0 if all(good) else 1)
