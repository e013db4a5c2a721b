"""pawl bench against pawl twin, over both backends: every request counted, kernel times, a TPOT near the twin's law."""
import json
import signal

from pawl_e2e import check_against_schema, free_port, get, prove, run, run_json, running, scratch, wait_for

CONCURRENCY, ISL, OSL = 8, 256, 32
# docs/twin.md, "The law", with the constants of data/twins/generic-new.yaml for 2 GPUs: one iteration with B = 8 and
# about 8 × 272 tokens in the cache. Prefills of others add a little, hence only 25 %.
LAW_TPOT_MS = 4.95 + 0.585 * CONCURRENCY**0.7 + 0.0018 * CONCURRENCY * (ISL + OSL / 2) / 1000

with scratch() as tmp:
    pawl, port = tmp / "pawl", free_port()
    url = f"http://127.0.0.1:{port}"
    with running(pawl, "twin", "--port", port, "--profile", "generic-new", "--tp", "2", "--served-model-name", "demo", log=tmp / "twin.log") as twin:
        wait_for("the twin to be healthy", lambda: get(f"{url}/health")[0] == 200 or twin.poll() is not None, 30)

        def bench(backend, *args, **how):
            return run_json(pawl, "bench", "--url", url, "--model", "demo", "--backend", backend, "--concurrency", CONCURRENCY, "--isl", ISL, "--osl", OSL,
                            "--output", tmp / f"{backend}.json", *args, schema="pawl.bench-result/1", **how)

        def check(backend):
            result = bench(backend)
            check_against_schema(result, "bench-result")
            assert result["verdict"] in ("VALID", "SUSPECT"), (result["verdict"], result["reasons"])
            assert result["clock"] == "kernel", result["clock"]
            assert result["counts"]["ok"] == result["num_requests"] == result["counts"]["planned"] == 10 * CONCURRENCY, result["counts"]
            tpot = result["metrics"]["tpot_ms"]["mean"]
            assert abs(tpot / LAW_TPOT_MS - 1) < 0.25, f"mean TPOT {tpot:.2f} ms, law {LAW_TPOT_MS:.2f} ms"
            assert json.loads((tmp / f"{backend}.json").read_text()) == result

        def completions_are_measured():
            check("openai")

        def chat_completions_are_measured():
            check("openai-chat")

        def progress_lines_are_json():
            done = run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 2, "--isl", 16, "--osl", 4, "--progress", "json")
            lines = [json.loads(line) for line in done.stderr.splitlines()]
            assert lines and all(line["schema"] == "pawl.progress/1" for line in lines), done.stderr

        def wrong_model_name_is_invalid_and_says_why():
            done = run(pawl, "bench", "--url", url, "--model", "other", "--concurrency", 2, "--isl", 16, "--osl", 4, "--json", status=1)
            result = json.loads(done.stdout)
            assert result["verdict"] == "INVALID" and result["reasons"], result
            assert result["counts"]["ok"] == 0 and result["counts"]["failed"] == result["num_requests"], result["counts"]

        def twin_ends_on_sigterm_with_status_0():
            twin.send_signal(signal.SIGTERM)
            assert twin.wait(timeout=20) == 0

        prove(completions_are_measured, chat_completions_are_measured, progress_lines_are_json, wrong_model_name_is_invalid_and_says_why,
              twin_ends_on_sigterm_with_status_0)
