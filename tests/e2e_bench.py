"""pawl bench against pawl twin, over both backends: every request counted, kernel times, a TPOT near the twin's law."""
import json
import os
import signal
import time

from pawl_e2e import ENV, check_against_schema, free_port, get, prove, run, run_json, running, scratch, wait_for

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

        common = ("bench", "--url", url, "--model", "demo", "--isl", 16, "--osl", 4)

        def open_loop_sends_at_its_rate():
            result = run_json(pawl, *common, "--rate", 40, "--arrivals", "constant", "--duration", 1, "--warmups", 0, schema="pawl.bench-result/1")
            check_against_schema(result, "bench-result")
            assert result["counts"]["ok"] == result["counts"]["planned"] == 40, result["counts"]
            assert 0.9 < result["duration_s"] < 3, result["duration_s"]

        def sweep_measures_each_point():
            points = run_json(pawl, *common, "--sweep-concurrency", "1,3", "--requests", 6, "--warmups", 0, schema="pawl.bench-sweep/1")["points"]
            assert [p["concurrency"] for p in points] == [1, 3]
            for point in points:
                check_against_schema(point["result"], "bench-result")
                assert point["result"]["counts"]["ok"] == 6, point["result"]["counts"]

        def search_finds_a_rate_that_holds():
            # The twin holds any rate that is asked of it here with 10 s, and none with a microsecond.
            none = run_json(pawl, *common, "--find-max-rate", "--slo", "ttft_p99:0.001ms", "--probe", 0.1, "--warmups", 0, "--concurrency", 4,
                            schema="pawl.bench-sweep/1", status=1)
            assert none["max_rate_per_s"] is None and not any(p["holds"] for p in none["points"]), none["max_rate_per_s"]

        def stop_gives_what_was_measured():
            with running(pawl, *common, "--concurrency", 4, "--requests", 100000, "--warmups", 0, "--json", log=tmp / "stopped.json") as process:
                time.sleep(1.5)
                process.send_signal(signal.SIGINT)
                assert process.wait(timeout=20) == 130
            result = json.loads((tmp / "stopped.json").read_text())
            assert result["client"]["stopped"] and result["counts"]["ok"] > 0 and result["verdict"] == "SUSPECT", (result["verdict"], result["reasons"])

        def calibration_is_kept_and_stored_with_results():
            os.environ["XDG_CACHE_HOME"] = ENV["XDG_CACHE_HOME"] = str(tmp / "cache")
            found = run_json(pawl, "bench", "calibrate", "--streams", 8, "--tokens", 8, "--most-streams", 0, schema="pawl.calibration/1")
            assert found["token_events"] == 8 * 8 * 3 and abs(found["ttft_error_after_burst_mean_ms"]) < 5, found
            result = run_json(pawl, *common, "--concurrency", 1, "--requests", 2, "--warmups", 0)
            assert result["calibration"] == found, result.get("calibration")

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

        prove(completions_are_measured, chat_completions_are_measured, open_loop_sends_at_its_rate, sweep_measures_each_point, search_finds_a_rate_that_holds,
              stop_gives_what_was_measured, calibration_is_kept_and_stored_with_results, progress_lines_are_json, wrong_model_name_is_invalid_and_says_why,
              twin_ends_on_sigterm_with_status_0)
