"""The baseline of a recipe, frozen from four places that say the same: a server of ours, saved answers, a dump, and a server
that answers as the public one does. For one recipe of the captured answers, and for the two September threads, whose tables
become rows here."""
import http.server
import json
import re
import shutil
import threading
import urllib.parse

from pawl_e2e import ROOT, get, prove, run, run_json, running, scratch, wait_for

SHARED = ROOT.parent / "shared"
CATALOG = SHARED / "data/inferencex"
FIXTURES = SHARED / "data/inferencex-app/api-fixtures"
MODEL = "Qwen-3.5-397B-A17B"
OLD = "lmsysorg/sglang:v0.5.14-cu130"
RUNS = "https://github.com/SemiAnalysisAI/InferenceX/actions/runs"


def numbers_of(thread, shape):
    """The first table of a thread whose lines fit `shape`: tuples of texts."""
    text = (SHARED / "threads" / thread).read_text()
    found = []
    for line in text.splitlines():
        fits = re.fullmatch(shape, line)
        if fits:
            found.append(fits.groups())
        elif found:
            return found
    raise AssertionError(f"no table in {thread}")


def benchmark(hardware, precision, tp, ep, conc, date, run_id, ident, curve, metrics):
    return {"id": str(ident), "hardware": hardware, "framework": "sglang", "model": "qwen3.5", "precision": precision, "spec_method": "none", "disagg": False,
            "is_multinode": False, "prefill_tp": tp, "prefill_ep": ep, "prefill_dp_attention": False, "prefill_num_workers": 0, "decode_tp": tp, "decode_ep": ep,
            "decode_dp_attention": False, "decode_num_workers": 0, "num_prefill_gpu": tp, "num_decode_gpu": tp, "benchmark_type": "single_turn", "offload_mode": "off",
            "isl": 8192, "osl": 1024, "conc": conc, "image": OLD, "recipe_fingerprint": None, "metrics": metrics, "workers": None, "power_invalid_reasons": None,
            "power_audit": None, "date": date, "run_url": f"{RUNS}/{run_id}/attempts/1", "curve_date": date, "curve_workflow_run_id": curve}


def evaluation(ident, hardware, precision, tp, ep, conc, date, run_id, strict, flexible, disagg):
    return {"id": str(ident), "config_id": 1482, "hardware": hardware, "framework": "sglang", "model": "qwen3.5", "precision": precision, "spec_method": "none", "disagg": disagg,
            "is_multinode": False, "prefill_tp": tp, "prefill_ep": ep, "prefill_dp_attention": False, "prefill_num_workers": 0, "decode_tp": tp, "decode_ep": ep,
            "decode_dp_attention": False, "decode_num_workers": 0, "num_prefill_gpu": tp * ep, "num_decode_gpu": tp * ep, "task": "gsm8k", "date": date, "conc": conc,
            "metrics": {"em_strict": strict, "em_flexible": flexible, "n_eff": 1319}, "timestamp": f"{date}T00:00:00Z", "run_url": f"{RUNS}/{run_id}"}


def info(date, run_id, head, pr=None):
    run_row = {"github_run_id": str(run_id), "name": "Run Sweep", "conclusion": "success", "run_attempt": 1, "html_url": f"{RUNS}/{run_id}", "created_at": f"{date}T01:00:00Z", "date": date}
    change = {"workflow_run_id": str(run_id), "date": date, "base_ref": "a", "head_ref": head, "config_keys": ["k"], "description": "d", "pr_link": pr}
    config = {"github_run_id": str(run_id), "run_started_at": f"{date}T01:00:01Z", "html_url": f"{RUNS}/{run_id}", "head_sha": head}
    return {"runs": [run_row], "changelogs": [change] if pr else [], "configs": [], "runConfigs": [config]}


def thread_fp4_b200():
    table = numbers_of("qwen35-fp4-b200-validated.txt", r"TP(\d)/EP(\d)\t(\d+)\t([\d.]+)\t([\d.]+)\t([\d.]+)\t([\d.]+)")
    rows = [benchmark("b200", "fp4", int(tp), int(ep), int(conc), "2026-08-10", 30506346629, 500000 + i, "2287",
                      {"tput_per_gpu": float(tput), "output_tput_per_gpu": float(out), "mean_tpot": float(tpot) / 1000, "mean_ttft": float(ttft) / 1000})
            for i, (tp, ep, conc, tput, out, tpot, ttft) in enumerate(table)]
    evals = [evaluation(7000, "b200", "fp4", 2, 1, 64, "2026-04-08", 24000000000, 0.967, 0.960, True)]
    return rows, evals, info("2026-08-10", 30506346629, "99e3a3fdaee4f2822ff43442509915f9a3a1bae0")


def thread_fp8_h200():
    table = numbers_of("qwen35-fp8-h200-capacity-deferred.txt", r"(\d+)\t([\d.]+)\t([\d.]+)\t([\d.]+)\t([\d.]+)\t([\d.]+)")
    ids = (432218, 432222, 432231, 432227, 432220)
    rows = [benchmark("h200", "fp8", 8, 8, int(conc), "2026-07-04", 28719990565, ident, "28719990565",
                      {"tput_per_gpu": float(tput), "output_tput_per_gpu": float(out), "median_ttft": float(ttft), "median_tpot": float(tpot) / 1000, "median_e2el": float(e2e)})
            for ident, (conc, tput, out, ttft, tpot, e2e) in zip(ids, table, strict=True)]
    evals = [evaluation(8294, "h200", "fp8", 8, 8, 32, "2026-07-04", 28719990565, 0.9651, 0.9583, True),
             evaluation(8293, "h200", "fp8", 8, 8, 64, "2026-07-04", 28719990565, 0.9689, 0.9583, True)]
    return rows, evals, info("2026-07-04", 28719990565, "e016f0c14bf2aab899de08b538d9b343069b07a5", "https://github.com/SemiAnalysisAI/InferenceX/pull/2061")


class PublicServer(http.server.BaseHTTPRequestHandler):
    """Answers with the rows as they are; every other request meets a proxy that is in trouble."""
    answers, asked, troubles = {}, [], 0

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        self.asked.append(self.path)
        type(self).troubles += 1
        if self.troubles % 2:
            self.send_response(503)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = json.dumps(self.answers[parts.path.rsplit("/", 1)[1]]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def plain(document):
    """What must not depend on where it was read."""
    kept = {k: v for k, v in document.items() if k != "from"}
    kept["notes"] = [n for n in kept["notes"] if "curve_workflow_run_id" not in n]
    kept["points"] = [{"label": p["label"], "result_id": p["result_id"],
                       "row": {k: v for k, v in p["row"].items() if not k.startswith("curve_") and k not in ("id", "pawl")}} for p in kept["points"]]
    kept["evals"] = [{k: v for k, v in e.items() if k not in ("config_id", "pawl")} for e in kept["evals"]]
    return kept


def same(a, b):
    a, b = plain(a), plain(b)
    assert a == b, {key: (a.get(key), b.get(key)) for key in a.keys() | b.keys() if a.get(key) != b.get(key)}


with scratch() as tmp:
    pawl = tmp / "pawl"

    def from_everywhere(name, recipe, answers, *more):
        """The baseline of a recipe out of a folder with saved answers, a store and a dump made of it, and our server."""
        db = f"{tmp}/{name}.db"
        run(pawl, "results", "import", answers, "--store", db)
        run(pawl, "results", "export", "--format", "json", "--out", tmp / f"{name}-dump", "--store", db)
        log = tmp / f"{name}.json"
        with running(pawl, "serve", "--store", db, "--port", 0, "--json", log=log):
            base = wait_for("the address", lambda: log.read_text().strip() and json.loads(log.read_text())["url"], 20)
            frozen = [run_json(pawl, "baseline", "show", recipe, "--catalog", CATALOG, "--from", place, *more, schema="pawl.baseline/1")
                      for place in (base, answers, tmp / f"{name}-dump", db)]
        for other in frozen[1:]:
            same(other, frozen[0])
        return frozen[0]

    def thread(name, recipe, rows, evals, workflow, date):
        answers = tmp / name
        answers.mkdir()
        for file, content in (("benchmarks", rows), ("evaluations", evals), ("workflow-info", workflow)):
            (answers / f"{file}.json").write_text(json.dumps(content))
        mine = from_everywhere(name, recipe, answers, "--date", date)
        PublicServer.answers = {"benchmarks": rows, "evaluations": evals, "workflow-info": workflow}
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), PublicServer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        public = run_json(pawl, "baseline", "show", recipe, "--catalog", CATALOG, "--date", date, "--from", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
        same(public, mine)
        return mine, public

    def the_fp4_thread():
        mine, public = thread("fp4", "qwen3.5-fp4-b200-sglang", *thread_fp4_b200(), "2026-08-10")
        text = (SHARED / "threads/qwen35-fp4-b200-validated.txt").read_text()
        assert len(mine["points"]) == 7 and not mine["missing"], mine
        assert ", ".join(f"GET {source}" for source in mine["sources"]) in text, mine["sources"]
        assert mine["producers"] == [{"run": 30506346629, "attempt": 1, "url": f"{RUNS}/30506346629/attempts/1", "head": "99e3a3fdaee4f2822ff43442509915f9a3a1bae0",
                                      "change_request": ""}], mine["producers"]
        assert not mine["evals"] and "2026-04-08" in mine["eval_note"] and mine["eval_note"].startswith("N/A"), mine["eval_note"]
        assert any("2287 is not the producer" in note for note in public["notes"]), public["notes"]

    def the_fp8_thread():
        mine, _ = thread("fp8", "qwen3.5-fp8-h200-sglang", *thread_fp8_h200(), "2026-07-04")
        text = (SHARED / "threads/qwen35-fp8-h200-capacity-deferred.txt").read_text()
        assert ", ".join(source.removeprefix("/api/v1/") for source in mine["sources"]) in text, mine["sources"]
        assert ", ".join(p["result_id"] for p in mine["points"]) in text and mine["producers"][0]["change_request"].endswith("/2061"), mine
        assert {e["id"] for e in mine["evals"]} == {"8293", "8294"} and not mine["eval_note"], mine["evals"]
        assert sum("labelled disagg: true with 64 prefill and 64 decode GPUs" in note for note in mine["notes"]) == 2, mine["notes"]

    def a_recipe_of_the_captured_answers():
        answers = tmp / "captured"
        answers.mkdir()
        for name in ("benchmarks.json", "evaluations.json"):
            shutil.copy(FIXTURES / name, answers)
        mine = from_everywhere("mi300x", "dsr1-fp8-mi300x-sglang", answers)
        assert len(mine["points"]) == 5 and mine["date"] == "2026-05-18" and mine["image"] == "lmsysorg/sglang:v0.5.12-rocm700-mi30x", mine

    def what_was_not_published_is_an_error():
        seen = run(pawl, "baseline", "show", "qwen3.5-fp8-h200-sglang", "--catalog", CATALOG, "--from", tmp / "fp4", "--date", "2026-08-10", status=3)
        assert "no published row on 2026-08-10" in seen.stderr, seen.stderr

    def a_place_that_answers_nonsense_is_refused():
        class Nonsense(PublicServer):
            def do_GET(self):
                body = b'[{"metrics": {"tput_per_gpu": NaN}}]'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nonsense)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        run(pawl, "results", "query", "--model", MODEL, "--from", f"http://127.0.0.1:{server.server_port}", status=3)
        server.shutdown()
        assert "127.0.0.1:1" in run(pawl, "results", "query", "--model", MODEL, "--from", "http://127.0.0.1:1", status=5).stderr

    if not SHARED.exists():
        print("  skipped: no ../shared with the catalogue, the threads and the captured answers")
        prove(a_place_that_answers_nonsense_is_refused)
    prove(the_fp4_thread, the_fp8_thread, a_recipe_of_the_captured_answers, what_was_not_published_is_an_error, a_place_that_answers_nonsense_is_refused)
