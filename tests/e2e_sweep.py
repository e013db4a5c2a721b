"""One sweep by hand on this machine: run, look at its jobs and logs, stop it, go on, run it again, cancel it."""
import json
import pathlib
import signal
import subprocess

from pawl_e2e import ENV, ROOT, prove, run, run_json, scratch, wait_for

CATALOGUE = ROOT / "data/demo"
RECIPE = "demo-fp8-h200-sglang"

with scratch() as tmp:
    pawl = tmp / "pawl"
    stopped = tmp / "stopped"

    def sweep(folder, *more, scale="1/512"):
        return ["sweep", "run", "--workspace", folder, "--catalog", CATALOGUE, "--recipe", RECIPE, "--scale", scale, "--progress", "none", *more]

    def jobs(folder, number="1"):
        return run_json(pawl, "sweep", "logs", number, "--workspace", folder, schema="pawl.run-jobs/1")["jobs"]

    def started(folder, scale):
        process = subprocess.Popen([str(pawl), *map(str, sweep(folder, scale=scale))], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
        wait_for("a running job", lambda: any((folder / "runs/1/1").glob("*/job.log")))
        return process

    def a_stopped_run_is_gone_on_with():
        process = started(stopped, "1/128")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        before = {job["job"]: job["state"] for job in jobs(stopped)}
        assert "queued" in before.values() and "running" not in before.values(), before
        run(pawl, "sweep", "rerun", "1", "--workspace", stopped, "--progress", "none")
        status = run_json(pawl, "sweep", "status", "1", "--workspace", stopped)
        assert (status["run"]["state"], status["run"]["attempt"], status["run"]["done"]) == ("success", 1, 14), status["run"]

    def the_logs_of_each_job_can_be_read():
        names = [job["job"] for job in jobs(stopped) if job["folder"]]
        assert {job["family"] for job in jobs(stopped)} == {"single-node 8k1k", "eval", ""}, jobs(stopped)
        assert "simulated" in run(pawl, "sweep", "logs", "1", names[0], "--engine", "--workspace", stopped).stdout
        err = run(pawl, "sweep", "logs", "1", names[0][:-1], "--workspace", stopped, status=3).stderr
        assert names[0] in err or "did you mean" in err, err

    def evidence_is_read_from_the_engines_of_a_run():
        document = run_json(pawl, "evidence", "1", "--against", "1", "--workspace", stopped, schema="pawl.evidence/1")
        assert len(document["logs"]) == 6 and all(log["findings"] == [] and "ready" in log["evidence"] for log in document["logs"]), document
        assert len(run_json(pawl, "evidence", "1", "--job", next(job["job"] for job in jobs(stopped) if job["folder"]), "--workspace", stopped)["logs"]) == 1

    def what_succeeded_runs_again_only_when_asked():
        err = run(pawl, "sweep", "rerun", "1", "--workspace", stopped, status=3).stderr
        assert "nothing failed" in err and "--all" in err, err
        run(pawl, "sweep", "rerun", "1", "--all", "--workspace", stopped, "--progress", "none")
        status = run_json(pawl, "sweep", "status", "1", "--workspace", stopped)
        assert (status["run"]["state"], status["run"]["attempt"]) == ("success", 2), status["run"]

    def a_cancel_reaches_the_pawl_that_works():
        folder = tmp / "cancelled"
        process = started(folder, "1/16")
        run(pawl, "sweep", "cancel", "1", "--workspace", folder)
        assert process.wait(timeout=60) == 8
        assert {job["state"] for job in jobs(folder) if job["folder"]} == {"cancelled"}, jobs(folder)
        err = run(pawl, "sweep", "cancel", "1", "--workspace", folder, status=3).stderr
        assert "has ended already: cancelled" in err, err

    def a_canary_goes_first():
        folder = tmp / "canary"
        run(pawl, *sweep(folder, "--canary"))
        # The cheapest point without an eval of its own.
        assert [job["kind"] for job in jobs(folder)[:2]] == ["setup", "canary"] and len(jobs(folder)) == 14, jobs(folder)

    def a_run_can_be_watched_and_its_artifacts_checked():
        folder = tmp / "canary"
        lines = run(pawl, "sweep", "watch", "1", "--workspace", folder).stdout.splitlines()
        assert len(lines) == 15 and "14 succeeded" in lines[-1] and "GPU h" in lines[-1], lines
        events = [json.loads(line) for line in run(pawl, "sweep", "watch", "1", "--json", "--workspace", folder).stdout.splitlines()]
        assert events[0]["job"]["kind"] == "setup" and events[-1]["job"]["kind"] == "manifest", events
        run(pawl, "sweep", "artifacts", "1", "--verify", "--workspace", folder)
        listed = run_json(pawl, "sweep", "artifacts", "1", "--workspace", folder, schema="pawl.run-artifacts/1")["artifacts"]
        rows = next(one for one in listed if one["name"] == "results_bmk")
        pathlib.Path(rows["path"]).write_text("[]")
        changed = run(pawl, "sweep", "artifacts", "1", "--verify", "--workspace", folder, status=1).stdout
        assert changed.count("changed") == 1, changed

    prove(a_stopped_run_is_gone_on_with, the_logs_of_each_job_can_be_read, evidence_is_read_from_the_engines_of_a_run, what_succeeded_runs_again_only_when_asked, a_cancel_reaches_the_pawl_that_works,
          a_canary_goes_first, a_run_can_be_watched_and_its_artifacts_checked)
