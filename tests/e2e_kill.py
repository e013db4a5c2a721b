"""kill -9 at random instants of an upgrade, then `pawl resume`: it ends validated, nothing is lost and nothing doubled.

Five instants by default; PAWL_KILLS and PAWL_SEED set others (./dev long kill-loop: a hundred).
"""
import os
import random
import signal
import subprocess
import time

from pawl_e2e import ENV, processes_of, prove, run, run_json, scratch

KILLS = int(os.environ.get("PAWL_KILLS", "5"))
SEED = int(os.environ.get("PAWL_SEED", str(random.randrange(1 << 30))))
SCALE = "1/512"
POINTS, EVALS = 5, 1


def demo_command(pawl, workspace):
    return [str(pawl), "demo", "--scale", SCALE, "--workspace", str(workspace), "--progress", "none"]


def kill_after(pawl, workspace, seconds, everything):
    """Starts a demo and kills it: pawl alone, its jobs live on; or everything, as when the machine loses its power."""
    process = subprocess.Popen(demo_command(pawl, workspace), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=ENV)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.002)
    process.kill()
    if everything:
        for pid in processes_of(workspace.parent):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    process.wait()


def check_whole(pawl, workspace):
    def ask(*args):
        return run_json(pawl, *args, "--workspace", workspace)

    runs = ask("sweep", "list")["runs"]
    assert [r["purpose"] for r in runs] == ["baseline", "smoke", "final"], runs
    assert len({r["marker"] for r in runs}) == len(runs)
    for r in runs:
        status = ask("sweep", "status", r["id"])
        rows = [row["pawl"]["point_key"] for row in status["rows"]]
        assert len(rows) == len(set(rows)) == (2 if r["purpose"] == "smoke" else POINTS), (r["purpose"], rows)
        assert len(status["evals"]) == EVALS
    requests = ask("cr", "list")["change_requests"]
    assert len(requests) == 1 and requests[0]["state"] == "ready", requests
    # A life that was killed was a session; the next one says that it goes on. Everything else is there once.
    comments = [c for c in ask("cr", "show", "1")["comments"] if "/resumed-" not in c["key"]]
    assert len(comments) == len({c["key"] for c in comments}) == 3, [c["key"] for c in comments]
    (candidate,) = ask("upgrade", "status")["candidates"]
    assert candidate["outcome"] == "validated" and candidate["repairs"] == 0
    ahead = subprocess.run(["git", "-C", workspace / "forge.git", "rev-list", "--count", f"main..{candidate['branch']}"], check=True, capture_output=True, text=True, env=ENV)
    assert ahead.stdout.strip() == "2", ahead.stdout


def main():
    print(f"  seed {SEED}")
    draw = random.Random(SEED)
    with scratch() as tmp:
        pawl = tmp / "pawl"

        def an_upgrade_survives_being_killed():
            began = time.monotonic()
            run(*demo_command(pawl, tmp / "whole"))
            whole = time.monotonic() - began
            check_whole(pawl, tmp / "whole")
            for n in range(KILLS):
                workspace, at, everything = tmp / f"w{n}", draw.uniform(0, whole), draw.random() < 0.5
                kill_after(pawl, workspace, at, everything)
                text = f"kill {n + 1}/{KILLS} after {at:.3f} s of {whole:.1f}{', everything' if everything else ''}"
                try:
                    if not (workspace / "demo.json").exists():
                        run(*demo_command(pawl, workspace))  # killed before it had written down what to do
                    else:
                        run(pawl, "resume", "--workspace", workspace, "--progress", "none")
                    check_whole(pawl, workspace)
                except Exception:
                    print(f"  {text}: FAILED; PAWL_SEED={SEED}", flush=True)
                    raise
                print(f"  {text}: validated", flush=True)

        def no_process_is_left():
            left = processes_of(tmp)
            assert not left, left

        prove(no_process_is_left, first=an_upgrade_survives_being_killed)


main()
