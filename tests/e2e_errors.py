"""Wrong inputs: the exit status, what the message names and what the remedy says, as text and as JSON. Prints the table
that results, as Markdown."""
import contextlib
import dataclasses
import json
import os
import re
import shutil
import socket
import subprocess

from pawl_e2e import ENV, ROOT, free_port, get, processes_of, prove, run, running, scratch, wait_for

BENCH = "--model m --concurrency 1 --isl 4 --osl 4"


@dataclasses.dataclass
class Case:
    what: str
    command: str  # split at blanks; "%" stands for a blank inside an argument
    status: int
    message: str
    remedy: str
    place: bool = False  # the error names file, line and column


def workspace(folder, schema):
    folder.mkdir()
    (folder / "pawl.yaml").write_text(f"schema: {schema}\n")


def cases(tmp, taken_port):
    plan = f"upgrade plan --catalog {tmp}/catalog --image a:b"
    upgrade = f"{plan} --recipe demo-fp8-h200-sglang"
    return [
        Case("unknown flag", "demo --scal=1/2", 2, "--scal", "did you mean --scale?"),
        Case("unknown flag of a command below", f"{upgrade} --polic x", 2, "--polic", "did you mean --policy?"),
        Case("unknown command", "demmo", 2, 'there is no command "pawl demmo"', "did you mean demo?"),
        Case("unknown command below another", "upgrade pln", 2, 'there is no command "pawl upgrade pln"', "did you mean plan?"),
        Case("no command", "", 2, "needs a command", "see pawl --help"),
        Case("missing flag", plan, 2, "--recipe is required", "see pawl upgrade plan --help"),
        Case("wrong value of a flag", "demo --progress jsn", 2, "jsn", "see pawl demo --help"),
        Case("not a number", f"bench --url http://127.0.0.1 --concurrency many {BENCH[8:]}", 2, "many", "see pawl bench --help"),
        Case("number out of range", f"bench --url http://127.0.0.1 {BENCH} --range-ratio 2", 2, "--range-ratio", "see pawl bench --help"),
        Case("scale above 1", "demo --scale 2", 2, "--scale 2", "1/32"),
        Case("scale that is no number", "demo --scale abc", 2, "--scale abc", "1/32"),
        Case("unknown recipe, near", f"{plan} --recipe demo-fp8-h200-sglan", 3, "no recipe 'demo-fp8-h200-sglan'", "did you mean demo-fp8-h200-sglang?"),
        Case("unknown recipe", f"{plan} --recipe zzz", 3, "no recipe 'zzz'", "pawl catalog list"),
        Case("broken YAML", f"{upgrade.replace('/catalog', '/broken')}", 3, "nvidia-master.yaml", "mend the line", place=True),
        Case("folder that is not there", f"{upgrade.replace('/catalog', '/nowhere')}", 3, "nowhere does not exist", ""),
        Case("folder without a catalogue", f"{upgrade.replace('/catalog', '/empty')}", 3, "there is no recipe catalogue", "configs/runners.yaml"),
        Case("image with a blank", f"{plan[:-3]}a%b --recipe demo-fp8-h200-sglang", 3, "'a b' is not an image", "repository:tag"),
        Case("unknown policy", f"{upgrade} --policy nope", 3, "policies/nope.yaml", "policies/2026-10.yaml"),
        Case("unknown schema", "schema bench-reslt", 3, "bench-reslt", "did you mean bench-result?"),
        Case("no workspace", f"sweep list --workspace {tmp}/empty", 3, "is no pawl workspace", "pawl demo"),
        Case("workspace of a newer pawl", f"sweep list --workspace {tmp}/newer", 3, "made by a newer pawl", "use that newer pawl", place=True),
        Case("unknown change request", f"cr show 99 --workspace {tmp}/bare", 3, "no change request 99", "pawl upgrade start"),
        Case("unknown run", f"sweep status 99 --workspace {tmp}/bare", 3, "no run 99", "pawl sweep list"),
        Case("unknown twin profile", "twin --port 0 --profile generic-nw", 3, "no twin profile generic-nw", "generic-new"),
        Case("address that is none", f"bench --url ftp://x {BENCH}", 3, "ftp://x", "http://host:port"),
        Case("port in use (serve)", f"serve --workspace {tmp}/bare --port {taken_port}", 4, f"port {taken_port}", "choose another port"),
        Case("port in use (twin)", f"twin --port {taken_port} --profile generic-new", 4, f"port {taken_port}", "choose another port"),
        Case("workspace in use", f"resume --workspace {tmp}/busy", 4, "is in use by pawl PID", "another workspace"),
        Case("server not reachable", f"bench --url http://127.0.0.1:{free_port()} {BENCH}", 5, "cannot reach", "check that the server runs"),
    ]


def check_text(case, err):
    assert err.startswith("pawl: "), err
    assert case.message in err, f"{case.message!r} is not in\n{err}"
    assert case.remedy in err, f"the remedy {case.remedy!r} is not in\n{err}"
    if case.place:
        assert re.match(r"pawl: \S+\.yaml:\d+:\d+: .*\n  \| .*\n  \| *\^\n", err), f"no file:line:column, line and mark in\n{err}"


def check_json(case, err, folder):
    document = json.loads(err)
    assert document["schema"] == "pawl.error/1", document
    error = document["error"]
    assert error["exit_status"] == case.status, error
    assert case.message in error["message"] or case.message in error.get("place", {}).get("file", ""), error
    assert case.remedy in error.get("remedy", ""), error
    if case.place:
        place = error["place"]
        assert set(place) == {"file", "line", "column", "text"}, place
        file = next(f for f in (folder / place["file"], folder / "broken" / place["file"]) if f.exists())
        assert file.read_text().splitlines()[place["line"] - 1] == place["text"] and 1 <= place["column"] <= len(place["text"]) + 1, place
    return error


def one_case(pawl, tmp, case):
    """The proof of one case and, once called, its row of the table."""
    def proof():
        args = [arg.replace("%", " ") for arg in case.command.split()]
        text = run(pawl, *args, status=case.status, cwd=tmp)
        assert text.stdout == "", text.stdout
        check_text(case, text.stderr)
        machine = run(pawl, *args, "--json", status=case.status, cwd=tmp)
        assert machine.stdout == "", machine.stdout
        error = check_json(case, machine.stderr, tmp)
        message, remedy = (re.sub(rf"{re.escape(str(tmp))}/", "", error.get(part, "—")).replace("|", "\\|") for part in ("message", "remedy"))
        print(f"| {case.what} | {case.status} | {message} | {remedy} |")
    proof.__name__ = f"{case.what}: {case.status}"
    return proof


with scratch() as tmp, socket.socket() as taken, contextlib.ExitStack() as stack:
    pawl = tmp / "pawl"
    shutil.copytree(ROOT / "data/demo", tmp / "catalog")
    shutil.copytree(ROOT / "data/demo", tmp / "broken")
    with open(tmp / "broken/configs/nvidia-master.yaml", "a") as file:
        file.write("broken-recipe:\n  image: [lmsysorg/sglang\n  model: }\n")
    (tmp / "empty").mkdir()
    workspace(tmp / "bare", "pawl.workspace/1")
    workspace(tmp / "newer", "pawl.workspace/99")
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    first = stack.enter_context(running(pawl, "demo", "--workspace", tmp / "busy", log=tmp / "busy.log"))
    wait_for("the first pawl to lock its workspace", lambda: (tmp / "busy/lock").exists() and (tmp / "busy/lock").read_text().strip() == str(first.pid))

    def listings_work_while_another_pawl_works():
        for command in ("sweep list", "upgrade status", "cr list"):
            run(pawl, *command.split(), "--workspace", tmp / "busy")
        assert first.poll() is None, "the first pawl ended too early for this to prove anything"

    def first_pawl_ends_what_it_started_on_sigterm():
        first.terminate()
        wait_for("the first pawl to end", lambda: first.poll() is not None, 30)
        assert first.returncode == 130, first.returncode
        wait_for("its engines to end", lambda: not processes_of(tmp), 30)

    def job(name, argv, ready_timeout_s):
        """Runs a job whose engine is `argv`; its result."""
        folder = tmp / name
        folder.mkdir()
        row = {"image": "a:b", "model": "m", "model-prefix": "demo", "precision": "fp8", "framework": "sglang", "runner": "h200", "isl": 16, "osl": 16,
               "tp": 1, "pp": 1, "dcp-size": 1, "pcp-size": 1, "conc": 1, "max-model-len": 288, "ep": 1, "dp-attn": False, "spec-decoding": "none",
               "exp-name": "demo_16_16", "disagg": False, "run-eval": False}
        spec = {"schema": "pawl.job/1", "run": 1, "attempt": 1, "job": name, "kind": "benchmark", "row": row,
                "engine": {"kind": "twin", "argv": argv, "env": {}, "served_model": "m", "health_path": "/health", "ready_timeout_s": ready_timeout_s},
                "load": {"backend": "openai", "isl": 16, "osl": 16, "range_ratio": 1.0, "concurrency": 1, "requests": 1, "warmups": 0, "seed": 0},
                "scale": {"numerator": 1, "denominator": 1}, "timeout_s": 60.0}
        (folder / "spec.json").write_text(json.dumps(spec))
        return json.loads(run(pawl, "job", folder / "spec.json", "--json", status=6).stdout)["failure"]

    def engine_that_never_becomes_ready():
        failure = job("never-ready", ["/bin/sh", "-c", "echo loading weights; exec sleep 60"], 1.0)
        assert failure["cls"] == "timeout" and "/health" in failure["message"], failure
        assert failure["evidence"] == ["loading weights"], failure
        print(f"| engine that never becomes ready | 6 | {failure['message']} | last log lines: {failure['evidence']} |")

    def engine_that_dies_at_start():
        failure = job("dies", ["/bin/sh", "-c", "echo error: no such device >&2; exit 3"], 30.0)
        assert failure["cls"] == "engine" and "exit status 3" in failure["message"], failure
        assert failure["evidence"] == ["error: no such device"], failure
        print(f"| engine that dies at start | 6 | {failure['message']} | last log lines: {failure['evidence']} |")

    def clock_that_jumps():
        """The calendar clock of the bench alone goes back an hour in the middle of its run."""
        if shutil.which("cc") is None:
            print("  skipped: clock that jumps: there is no C compiler")
            return
        (tmp / "step.c").write_text("""
            #define _GNU_SOURCE
            #include <dlfcn.h>
            #include <time.h>
            int clock_gettime(clockid_t id, struct timespec *t) {
              static int (*real)(clockid_t, struct timespec *);
              static struct timespec start;
              if (!real) { *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime"); real(CLOCK_MONOTONIC, &start); }
              int rc = real(id, t);
              struct timespec now;
              real(CLOCK_MONOTONIC, &now);
              if (id == CLOCK_REALTIME && (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 > 1500) t->tv_sec -= 3600;
              return rc;
            }""")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp / "step.so", tmp / "step.c", "-ldl"], check=True)
        port = free_port()
        with running(pawl, "twin", "--port", port, "--profile", "generic-new", "--tp", "2", "--served-model-name", "m", log=tmp / "twin.log"):
            wait_for("the twin", lambda: get(f"http://127.0.0.1:{port}/health")[0] == 200)
            command = [pawl, "bench", "--url", f"http://127.0.0.1:{port}", "--model", "m", "--concurrency", "2", "--isl", "64", "--osl", "64", "--requests", "16",
                       "--warmups", "1", "--progress", "none", "--json"]
            done = subprocess.run(command, capture_output=True, text=True, env=ENV | {"LD_PRELOAD": str(tmp / "step.so")}, timeout=60)
        result = json.loads(done.stdout)
        (reason,) = [r for r in result["reasons"] if r["code"] == "clock-step"]
        assert result["verdict"] in ("SUSPECT", "INVALID") and result["counts"]["ok"] == 16, result
        print(f"| clock that jumps | {done.returncode} | {result['verdict']}: {reason['text']} | the numbers say so themselves |")

    def on_a_mount(name, options, remount, expected):
        """A demo in a file system of its own, with little room or none to write."""
        if os.geteuid() != 0:
            print(f"  skipped: {name}: mounting needs root")
            return
        folder = tmp / name.replace(" ", "-")
        folder.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True).returncode != 0:
            print(f"  skipped: {name}: this machine does not allow mounts")
            return
        try:
            if remount:
                subprocess.run(["mount", "-o", f"remount,{remount}", folder], check=True)
            error = json.loads(run(pawl, "demo", "--scale", "1/512", "--workspace", folder / "w", "--progress", "none", "--json", status=4).stderr)["error"]
            assert expected in error["message"] and error["remedy"], error
            print(f"| {name} | 4 | {error['message'].replace(str(tmp) + '/', '')} | {error['remedy']} |")
            assert not processes_of(folder), processes_of(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)

    def disk_full():
        on_a_mount("disk full", "size=400k", "", "disk is full")

    def read_only_workspace():
        on_a_mount("read-only workspace", "size=10m", "ro", "ead-only file system")

    print("| input | exit status | message | remedy |\n| --- | ---: | --- | --- |")
    prove(*(one_case(pawl, tmp, case) for case in cases(tmp, taken.getsockname()[1])), listings_work_while_another_pawl_works,
          first_pawl_ends_what_it_started_on_sigterm, engine_that_never_becomes_ready, engine_that_dies_at_start, clock_that_jumps, disk_full, read_only_workspace)
