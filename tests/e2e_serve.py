"""pawl serve on the workspace of a small demo: API, pages, errors, and a clean end."""
import json
import signal

from pawl_e2e import get, processes_of, prove, run_json, running, scratch, wait_for

with scratch() as tmp:
    pawl, w, log = tmp / "pawl", tmp / "w", tmp / "serve.json"
    demo = run_json(pawl, "demo", "--scale", "1/512", "--workspace", w)

    def document():
        try:
            return json.loads(log.read_text())
        except ValueError:
            return None

    with running(pawl, "serve", "--workspace", w, "--port", "0", "--json", log=log) as server:
        wait_for("the address of the server", lambda: document() or server.poll() is not None, 20)
        base = document()["url"]

        def json_of(path, status=200):
            code, kind, body = get(base + path)
            assert code == status and kind.startswith("application/json"), (code, kind, body[:300])
            return json.loads(body)

        def page(path, status=200):
            code, kind, body = get(base + path)
            assert code == status and kind.startswith("text/html"), (code, kind, body[:300])
            return body

        def address_is_printed_as_one_document():
            assert document()["schema"] == "pawl.serve/1" and base.startswith("http://127.0.0.1:"), document()

        def health_says_ok():
            assert json_of("healthz")["status"] == "ok"

        def benchmarks_are_the_published_rows():
            served = {(r["decode_tp"], r["conc"]): r["metrics"]["mean_tpot"] for r in json_of("api/v1/benchmarks?model=Demo-8B")}
            baseline = run_json(pawl, "sweep", "status", 1, "--workspace", w)["rows"]
            assert served == {(r["tp"], r["conc"]): r["mean_tpot"] for r in baseline}, served

        def evaluations_are_listed():
            rows = json_of("api/v1/evaluations")
            assert rows and {r["task"] for r in rows} == {"arith24"}, rows

        def a_run_of_the_workspace_goes_into_another_store_with_its_logs():
            other = tmp / "other.db"
            seen = run_json(pawl, "results", "ingest", 1, "--workspace", w, "--store", other, schema="pawl.ingest/1")
            rows = json_of("api/v1/benchmarks?model=Demo-8B")
            assert seen["inserted"] >= len(rows) and not seen["counts"]["skipped"], seen
            verify = run_json(pawl, "store", "verify", "--store", other)
            assert verify["sound"] and verify["rows"] == seen["counts"]["rows"], verify
            overlay = json_of("api/unofficial-run?runId=1")
            found = (len(overlay["benchmarks"]), len(overlay["evaluations"]))
            assert found == (seen["counts"]["rows"], seen["counts"]["evals"]) and overlay["runInfos"][0]["conclusion"] == "success", (found, seen)

        def start_page_links_the_change_request():
            body = page("")
            assert 'href="/cr/1"' in body and demo["candidate"]["recipe"] in body

        def thread_page_shows_both_languages_and_the_receipt():
            body = page("cr/1")
            assert "<strong>validated</strong>" in body and "修复次数" in body and "<table" in body

        def unknown_paths_are_404():
            assert "error" in json_of("api/v1/nothing", 404)
            assert "Not found" in page("cr/99", 404)
            assert get(base + "nothing")[0] == 404

        def unknown_model_is_400():
            assert json_of("api/v1/benchmarks?model=nothing", 400) == {"error": "Unknown model"}

        def sigterm_ends_it_with_status_0():
            server.send_signal(signal.SIGTERM)
            assert server.wait(timeout=20) == 0
            assert not processes_of(tmp), processes_of(tmp)

        prove(address_is_printed_as_one_document, health_says_ok, benchmarks_are_the_published_rows, evaluations_are_listed, a_run_of_the_workspace_goes_into_another_store_with_its_logs,
              start_page_links_the_change_request, thread_page_shows_both_languages_and_the_receipt, unknown_paths_are_404, unknown_model_is_400,
              sigterm_ends_it_with_status_0)
