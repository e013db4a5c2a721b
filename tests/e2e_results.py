"""The results store by its commands: artifacts in, answers out, the same from SQLite, a copy, a dump and a server; writing
through the server with a token; and other people's answers, served as they were captured."""
import json
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
import zipfile

from pawl_e2e import ROOT, get, prove, run, run_json, running, scratch, wait_for

FIXTURES = ROOT.parent / "shared/data/inferencex-app/api-fixtures"
# What our server adds to a captured row, and says of none.
ADDED = {"id", "benchmark_type", "offload_mode", "recipe_fingerprint", "power_invalid_reasons", "power_audit", "curve_date", "curve_workflow_run_id", "pawl", "image", "runConfigs"}


def row(conc, tput, **more):
    return {"hw": "b200-nv", "framework": "sglang", "infmax_model_prefix": "dsr1", "model": "x", "precision": "fp8", "spec_decoding": "none", "image": "lmsysorg/sglang:v1",
            "tp": 8, "ep": 1, "dp_attention": "false", "conc": conc, "isl": 1024, "osl": 1024, "tput_per_gpu": tput, "output_tput_per_gpu": 50,
            "median_ttft": 0.2, "median_tpot": 0.01, "median_intvty": 1000 / conc, **more}


def artifacts(folder, rows, run=17, date="2026-11-20"):
    (folder / "server_logs_a").mkdir(parents=True)
    (folder / "bmk_a").mkdir()
    (folder / "bmk_a/r.json").write_text(json.dumps(rows))
    (folder / "server_logs_a/server.log").write_text("line one\nThe Server is ready\n" + "x" * 70000 + "\nend\n")
    (folder / "run.json").write_text(json.dumps({"id": run, "run_attempt": 1, "name": f"run {run}", "status": "completed", "conclusion": "success", "head_sha": "abc",
                                                 "html_url": f"https://ci.example/runs/{run}", "created_at": f"{date}T01:02:03Z"}))
    return folder


def post(url, body, token):
    request = urllib.request.Request(url, data=body, method="POST", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


with scratch() as tmp:
    pawl, db = tmp / "pawl", tmp / "results.db"
    folder = artifacts(tmp / "artifacts", [row(4, 100), row(16, 300), row(64, 500, median_ttft="NaN"), row(8, "NaN"), row(2, 1, hw="abacus")])
    query = "/api/v1/benchmarks?model=DeepSeek-R1-0528"

    def ingest_says_what_became_of_every_row():
        seen = run_json(pawl, "results", "ingest", folder, "--store", db, schema="pawl.ingest/1")
        counts = seen["counts"]
        assert seen["inserted"] == 3 and counts["skipped"] == {"nonFiniteThroughput": 1, "unknownHardware": 1} and counts["non_finite_metric"] == {"median_ttft": 1}, seen
        again = run_json(pawl, "results", "ingest", folder, "--store", db)
        assert again["inserted"] == 0 and again["updated"] == 3, again
        assert run_json(pawl, "store", "verify", "--store", db)["sound"]

    def nothing_to_store_is_an_error():
        empty = tmp / "empty"
        empty.mkdir()
        assert "no row" in run(pawl, "results", "ingest", empty, "--run", 1, "--date", "2026-01-01", "--store", db, status=3).stderr
        assert run(pawl, "results", "query", "--model", "DeepSeek-R1-0528", "--from", tmp / "nowhere", status=3)
        assert not (tmp / "nowhere").exists()

    def rows_are_the_same_from_a_copy_a_backup_and_a_dump():
        run(pawl, "store", "copy", tmp / "copy.db", "--store", db)
        run(pawl, "store", "backup", tmp / "backup.db", "--store", db)
        run(pawl, "results", "export", "--format", "json", "--out", tmp / "dump", "--store", db)
        for other in (tmp / "copy.db", tmp / "backup.db", tmp / "dump"):
            for asked in (query, "/api/v1/availability", "/api/v1/submissions", "/api/v1/latest-images"):
                seen = run_json(pawl, "results", "diff", db, other, "--query", asked, status=None)
                # A dump does not tell when a store took a run.
                assert not seen["changed"] and not set(seen["missing"]) - {"pawl.published_at"} and seen["left"] == seen["right"] == seen["matched"], (other, asked, seen)
        lines = run(pawl, "results", "export", "--store", db).stdout.splitlines()
        assert len(lines) == 4 and "median_tpot" in lines[0], lines[:2]

    def purge_hides_and_comes_back():
        size = lambda: len(run_json(pawl, "results", "query", "--model", "DeepSeek-R1-0528", "--store", db)["answer"])
        run(pawl, "results", "purge", 17, "--reason", "test", "--store", db)
        assert size() == 0
        run(pawl, "results", "purge", 17, "--undo", "--store", db)
        assert size() == 3

    def the_server_answers_and_takes_runs_with_a_token():
        token = run_json(pawl, "store", "token", "create", "--name", "ci", "--store", db)["token"]
        admin = run_json(pawl, "store", "token", "create", "--name", "boss", "--scopes", "admin", "--store", db)["token"]
        assert token not in db.read_bytes().decode("latin1")
        unofficial = tmp / "unofficial"
        artifacts(unofficial / "99", [row(4, 777)], run=99)
        log = tmp / "serve.json"
        with running(pawl, "serve", "--store", db, "--artifacts", unofficial, "--port", 0, "--json", log=log) as server:
            base = wait_for("the address", lambda: log.read_text().strip() and json.loads(log.read_text())["url"], 20).rstrip("/")
            rows = json.loads(get(base + query)[2])
            assert [r["conc"] for r in rows] == [4, 16, 64] and all(isinstance(r["id"], str) for r in rows), rows
            ident = rows[0]["id"]
            assert json.loads(get(f"{base}/api/v1/server-log-files?id={ident}")[2]) == ["server.log"]
            part = json.loads(get(f"{base}/api/v1/server-log?id={ident}&offset=65530&limit=20")[2])
            assert part["serverLog"] == "x" * 20 and part["nextOffset"] == 65550, part
            found = json.loads(get(f"{base}/api/v1/server-log-search?id={ident}&q=the%20SERVER")[2])["matches"]
            assert len(found) == 1 and found[0]["after"] == " is ready" and found[0]["offset"] == 9, found
            assert json.loads(get(f"{base}/api/v1/log-availability?ids={ident},999")[2]) == {ident: True}
            overlay = json.loads(get(f"{base}/api/unofficial-run?runId=99,98")[2])
            assert [r["id"] for r in overlay["benchmarks"]] == [0] and overlay["runInfos"][0]["id"] == 99, overlay
            assert get(f"{base}/api/unofficial-run?runId=98")[0] == 404 and get(f"{base}/api/unofficial-run?runId=../..")[0] == 400

            events = subprocess.Popen(["curl", "-sN", f"{base}/api/v1/events"], stdout=subprocess.PIPE, text=True)
            next(line for line in events.stdout if line.startswith("event: hello"))
            archive = tmp / "run18.zip"
            with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as z:
                z.writestr("bmk_a/r.json", json.dumps([row(4, 111)]))
            url = f"{base}/api/v1/ingest?run=18&date=2026-11-21"
            assert post(url, archive.read_bytes(), "pawl_wrong")[0] == 401 and post(url, archive.read_bytes(), admin)[0] == 401
            code, body = post(url, archive.read_bytes(), token)
            assert code == 200 and json.loads(body)["inserted"] == 1, (code, body)
            assert next(line for line in events.stdout if line.startswith("event: store"))
            assert [r["metrics"]["tput_per_gpu"] for r in json.loads(get(base + query)[2])] == [111]
            assert post(f"{base}/api/v1/ingest?run=1", b"no archive", token)[0] == 400
            assert post(f"{base}/api/v1/invalidate", b"", token)[0] == 401 and json.loads(post(f"{base}/api/v1/invalidate", b"", admin)[1])["invalidated"]
            assert "pawl_requests_total" in get(base + "/metrics")[2]
            actions = [e["action"] for e in run_json(pawl, "store", "audit", "--store", db)["entries"]]
            assert {"ingest", "invalidate", "token", "purge"} <= set(actions), actions
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=20) == 0
            events.wait(timeout=20)  # its stream was ended, not cut

    def captured_answers_are_served_as_they_were_captured():
        if not FIXTURES.exists():
            print("          skipped: no ../shared/data")
            return
        store = tmp / "captured"
        store.mkdir()
        for name in ("benchmarks.json", "evaluations.json", "workflow-info.json", "reliability.json"):
            shutil.copy(FIXTURES / name, store)
        history = tmp / "history"
        history.mkdir()
        shutil.copy(FIXTURES / "benchmarks-history.json.gz", history)
        for place in (store, history):
            run(pawl, "results", "import", place, "--store", f"{place}.db")

        def same(name, place, asked, allowed=frozenset()):
            seen = run_json(pawl, "results", "diff", FIXTURES / name, f"{place}.db", "--query", asked, status=None)
            rest = {k: v for k, v in seen["changed"].items() if k not in allowed}
            assert not rest and not seen["missing"] and not seen["only_left_count"] and not seen["only_right_count"], (name, seen)
            assert {k.split(".")[-1] for k in seen["added"]} <= ADDED, seen["added"]
            return seen["matched"]

        assert same("benchmarks.json", store, query) == 435
        assert same("evaluations.json", store, "/api/v1/evaluations") == 531
        assert same("workflow-info.json", store, "/api/v1/workflow-info?date=2026-06-14") == 10
        assert same("reliability.json", store, "/api/v1/reliability") == 5546
        matched = sum(run_json(pawl, "results", "diff", FIXTURES / "benchmarks-history.json.gz", f"{history}.db", "--query",
                               f"/api/v1/benchmarks/history?model=DeepSeek-R1-0528&isl={isl}&osl={osl}", status=None)["matched"]
                      for isl, osl in ((1024, 1024), (1024, 8192), (8192, 1024)))
        assert matched == 1462, matched

    prove(ingest_says_what_became_of_every_row, nothing_to_store_is_an_error, rows_are_the_same_from_a_copy_a_backup_and_a_dump, purge_hides_and_comes_back,
          the_server_answers_and_takes_runs_with_a_token, captured_answers_are_served_as_they_were_captured)
