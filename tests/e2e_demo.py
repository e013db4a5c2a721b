"""pawl demo at a small scale: one upgrade from the first commit to the receipt, then everything that it left."""
import json
import subprocess

from pawl_e2e import ENV, check_against_schema, processes_of, prove, run, run_json, scratch

SCALE = "1/512"


def git(workspace, *args):
    return subprocess.run(["git", "-C", workspace / "forge.git", *args], check=True, capture_output=True, text=True, env=ENV).stdout.strip()


with scratch() as tmp:
    pawl, w = tmp / "pawl", tmp / "w"
    demo = {}

    def ask(*args, schema):
        return run_json(pawl, *args, "--workspace", w, schema=schema)

    def thread():
        return ask("cr", "show", "1", schema="pawl.change-request/1")

    def runs():
        return ask("sweep", "list", schema="pawl.runs/1")["runs"]

    def run_of(purpose):
        (found,) = [r for r in runs() if r["purpose"] == purpose]
        return ask("sweep", "status", found["id"], schema="pawl.run/1")

    def demo_validates_the_new_image():
        demo.update(run_json(pawl, "demo", "--scale", SCALE, "--workspace", w, schema="pawl.demo-result/1"))
        assert demo["outcome"] == "validated", demo
        assert demo["candidate"]["outcome"] == "validated" and demo["candidate"]["repairs"] == 0
        assert demo["comparison"]["matched"] == len(demo["comparison"]["points"]) == 5, demo["comparison"]

    def thread_has_two_attempts_and_one_receipt():
        bodies = [c["body"] for c in thread()["comments"]]
        assert len(bodies) == 3, bodies
        assert sum(b.startswith("## Initial attempt — passed") for b in bodies) == 1
        assert sum(b.startswith("## Final full sweep — passed") for b in bodies) == 1
        assert bodies[-1].startswith("pawl: **validated**") and sum("pawl: **validated**" in b for b in bodies) == 1
        assert thread()["change_request"]["state"] == "ready"

    def body_holds_the_frozen_table():
        body = thread()["change_request"]["body"]
        for row in run_of("baseline")["rows"]:
            cells = [row["tput_per_gpu"], row["output_tput_per_gpu"], row["mean_tpot"] * 1000, row["mean_ttft"] * 1000]
            text = "| TP{}/EP{} conc {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} |".format(row["tp"], row["ep"], row["conc"], *cells)
            assert text in body, f"{text} is not in\n{body}"

    def branch_is_two_commits_ahead_of_main():
        branch = demo["candidate"]["branch"]
        assert git(w, "rev-list", "--count", f"main..{branch}") == "2"
        assert git(w, "rev-parse", branch) == demo["candidate"]["head"] == thread()["change_request"]["head"]
        assert git(w, "rev-parse", "main") == demo["candidate"]["base"]

    def diff_is_one_image_line_and_one_entry():
        diff = ask("cr", "diff", "1", schema="pawl.diff/1")["diff"]
        assert run(pawl, "cr", "diff", "1", "--workspace", w).stdout == diff
        image, entry = diff.split("diff --git ")[1:]
        changed = [line for line in image.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        assert changed == ["-  image: lmsysorg/sglang:v0.5.14-cu130", "+  image: lmsysorg/sglang:v0.5.19-cu130"], changed
        added = [line for line in entry.splitlines() if line[:1] == "+" and line[:3] != "+++"]
        removed = [line for line in entry.splitlines() if line[:1] == "-" and line[:3] != "---"]
        assert not removed and sum(line.startswith("+- config-keys:") for line in added) == 1, entry

    def rows_fit_the_shipped_schemas():
        for purpose in ("baseline", "smoke", "final"):
            found = run_of(purpose)
            assert found["rows"] and found["evals"]
            for row in found["rows"]:
                check_against_schema(row, "result-row")
            for row in found["evals"]:
                check_against_schema(row, "eval-row")

    def job_files_fit_the_shipped_schemas():
        folders = [spec.parent for spec in w.glob("runs/*/*/*/spec.json")]
        assert len(folders) == sum(r["jobs"] - 8 for r in runs()), folders  # eight jobs of a sweep measure nothing
        for folder in folders:
            check_against_schema(json.loads((folder / "spec.json").read_text()), "job")
            result = json.loads((folder / "result.json").read_text())
            check_against_schema(result, "job-result")
            if "bench" in result:
                check_against_schema(result["bench"], "bench-result")

    def rows_and_manifest_carry_scale_and_simulation():
        for purpose in ("baseline", "smoke", "final"):
            found = run_of(purpose)
            assert found["manifest"]["scale"] == SCALE, found["manifest"]
            assert found["manifest"]["full_sweep"] == (purpose != "smoke"), purpose
            for row in found["rows"] + found["evals"]:
                assert row["pawl"]["scale"] == SCALE and row["pawl"]["simulated"] is True, row

    def every_listing_prints_one_json_document():
        (candidate,) = ask("upgrade", "status", schema="pawl.candidates/1")["candidates"]
        assert candidate == demo["candidate"]
        assert [(r["purpose"], r["state"], r["failed"]) for r in runs()] == [(p, "success", 0) for p in ("baseline", "smoke", "final")]
        (request,) = ask("cr", "list", schema="pawl.change-requests/1")["change_requests"]
        assert request == thread()["change_request"]
        assert ask("upgrade", "table", schema="pawl.upgrade-table/1")["transitions"]
        spec = next(w.glob("runs/3/1/*/spec.json"))
        assert run_json(pawl, "job", spec, schema="pawl.job-result/1") == json.loads((spec.parent / "result.json").read_text())
        names = [s["name"] for s in ask("schema", schema="pawl.schemas/1")["schemas"]]
        assert {"bench-result", "job", "job-result", "sweep-request", "result-row", "eval-row"} <= set(names), names

    def resume_repeats_nothing():
        before = thread(), runs(), git(w, "for-each-ref")
        again = ask("resume", schema="pawl.demo-result/1")
        assert again["outcome"] == "validated" and again["candidate"] == demo["candidate"]
        assert before == (thread(), runs(), git(w, "for-each-ref"))

    def no_process_is_left():
        assert not processes_of(tmp), processes_of(tmp)

    prove(no_process_is_left, thread_has_two_attempts_and_one_receipt, body_holds_the_frozen_table, branch_is_two_commits_ahead_of_main,
          diff_is_one_image_line_and_one_entry, rows_fit_the_shipped_schemas, job_files_fit_the_shipped_schemas,
          rows_and_manifest_carry_scale_and_simulation, every_listing_prints_one_json_document, resume_repeats_nothing,
          first=demo_validates_the_new_image)
