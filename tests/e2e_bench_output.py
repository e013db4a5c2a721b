"""What `pawl bench` makes of a run: formats, records, report, the numbers of other tools, show and compare. The upstream
processing script of InferenceX runs on our file where ../shared holds it."""
import contextlib
import json
import math
import os
import pty
import re
import subprocess
import sys

from pawl_e2e import ENV, PAWL, ROOT, free_port, get, prove, running, scratch, wait_for



def bench(*args, **kwargs):
    return subprocess.run([str(PAWL), "bench", *map(str, args)], capture_output=True, text=True, timeout=120, env=ENV, **kwargs)


with scratch() as tmp, contextlib.ExitStack() as stack:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    twin = stack.enter_context(running(tmp / "pawl", "twin", "--port", port, "--profile", "generic-new", "--tp", "4", "--served-model-name", "demo", log=tmp / "twin.log"))
    wait_for("the twin to be healthy", lambda: get(f"{url}/health")[0] == 200 or twin.poll() is not None, 30)
    load = ["--url", url, "--model", "demo", "--concurrency", 4, "--isl", 64, "--osl", 16, "--requests", 20]

    def one_run_gives_every_format():
        done = bench(*load, "--records", tmp / "run.jsonl", "--report", tmp / "run.html", "--output", tmp / "result.json", "--output", f"vllm:{tmp}/vllm.json",
                     "--output", f"sglang:{tmp}/sglang.jsonl", "--output", f"inferencex:{tmp}/ix.json", "--output", f"aiperf:{tmp}/aiperf", "--output", f"csv:{tmp}/run.csv",
                     "--goodput", "ttft:100000", "--save-detailed", "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "90,99,99.9", "--metadata", "gpu=none",
                     "--compat", "all", "--label", "x")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "goodput/s" in done.stdout
        result = json.loads((tmp / "result.json").read_text())
        vllm = json.loads((tmp / "vllm.json").read_text())
        assert vllm["completed"] == 20 and vllm["total_output_tokens"] == 320 and vllm["gpu"] == "none" and vllm["label"] == "x"
        assert len(vllm["itls"]) == 20 and "p99.9_e2el_ms" in vllm
        assert abs(vllm["duration"] - result["duration_s"]) < 1e-9
        sglang = [json.loads(line) for line in (tmp / "sglang.jsonl").read_text().splitlines()]
        assert len(sglang) == 1 and sglang[0]["total_throughput"] > 0 and sglang[0]["request_rate"] == "inf"
        lines = [json.loads(line) for line in (tmp / "aiperf/profile_export.jsonl").read_text().splitlines()]
        assert len(lines) == 20 and all(line["metrics"]["output_sequence_length"]["value"] == 16 for line in lines)
        assert json.loads((tmp / "aiperf/profile_export_aiperf.json").read_text())["request_count"]["avg"] == 20
        assert (tmp / "run.csv").read_text().startswith("metric,unit,n,mean")
        assert result["details"]["goodput"]["good"] == 20
        assert result["details"]["first_request"]["body"].startswith("{") and "POST /v1/completions" in result["details"]["first_request"]["head"]
        page = (tmp / "run.html").read_text()
        assert "<svg" in page and "<script" not in page and not re.search(r"(src|href)=", page)

    def inferencex_processing_takes_our_file():
        row = json.loads((tmp / "ix.json").read_text())
        for key, value in row.items():
            if key.endswith("ms") or "tpot" in key:
                assert isinstance(value, float) and value > 0, key
        assert abs((row["benchmark_end_time_unix"] - row["benchmark_start_time_unix"]) - row["duration"]) < 0.01
        script = next((ROOT / "../shared/data").glob("inferencex*/utils/process_result.py"), None) if (ROOT / "../shared/data").exists() else None
        if script is None:
            print("    skipped: ../shared holds no process_result.py")
            return
        env = ENV | {"RUNNER_TYPE": "h200", "FRAMEWORK": "vllm", "PRECISION": "fp8", "SPEC_DECODING": "none", "RESULT_FILENAME": "ix", "ISL": "64", "OSL": "16", "DISAGG": "false",
                     "MODEL_PREFIX": "m", "IMAGE": "i", "TP": "1", "EP_SIZE": "1", "DP_ATTENTION": "false", "RECIPE_FINGERPRINT": "0" * 64}
        done = subprocess.run([sys.executable, str(script.resolve())], cwd=tmp, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr[-1500:]
        agg = json.loads((tmp / "agg_ix.json").read_text())
        assert math.isclose(agg["tput_per_gpu"], row["total_token_throughput"], rel_tol=1e-9)
        assert math.isclose(agg["mean_ttft"], row["mean_ttft_ms"] / 1000, rel_tol=1e-9)

    def records_give_the_same_numbers_again():
        result = json.loads((tmp / "result.json").read_text())
        done = bench("show", tmp / "run.jsonl", "--json", "--compat", "all", "--goodput", "ttft:100000", "--output", f"vllm:{tmp}/again.json", "--output", f"sglang:{tmp}/sglang.jsonl",
                     "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "90,99,99.9", "--report", tmp / "again.html")
        assert done.returncode == 0, done.stderr
        again = json.loads(done.stdout)
        for key in ("counts", "total_output_tokens", "osl_source"):
            assert again[key] == result[key], key
        for metric in ("ttft_ms", "tpot_ms", "itl_ms", "gap_ms", "e2el_ms", "lag_ms"):
            assert again["metrics"][metric] == result["metrics"][metric], metric
        assert again["details"]["compat"] == result["details"]["compat"]
        first, second = json.loads((tmp / "vllm.json").read_text()), json.loads((tmp / "again.json").read_text())
        for key, value in second.items():
            if key not in ("date", "label", "gpu"):
                assert first[key] == value, key
        assert len((tmp / "sglang.jsonl").read_text().splitlines()) == 2

    def a_result_is_shown_and_compared():
        assert "VALID" in bench("show", tmp / "result.json").stdout or "SUSPECT" in bench("show", tmp / "result.json").stdout
        done = bench("compare", tmp / "result.json", tmp / "run.jsonl", "--json")
        assert done.returncode == 0, done.stderr
        changes = json.loads(done.stdout)["changes"]
        assert changes and all(change["change_pct"] in (0, None) for change in changes), changes

    def bad_words_are_refused_before_anything_is_sent():
        for flags, word in ((["--output", "nope:x"], "nope"), (["--goodput", "ttft"], "objective"), (["--compat", "x"], "profile"), (["--metric-percentiles", "42"], "42"),
                            (["--metadata", "x"], "metadata"), (["--records", "/nonexistent/dir/x"], "cannot write")):
            done = bench(*load, *flags)
            assert done.returncode in (2, 3, 4) and word in done.stderr, (flags, done.returncode, done.stderr)
        done = bench("show", tmp / "vllm.json")
        assert done.returncode == 3 and "neither a result nor the records" in done.stderr, done.stderr

    def progress_as_json_has_numbers():
        done = bench(*load[:-1], 150, "--progress", "json", "--json")
        lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        assert any("output_tokens_per_s" in line and "in_flight" in line for line in lines), done.stderr[-500:]

    def a_terminal_is_drawn_over_and_no_color_is_respected():
        for colour in (True, False):
            master, slave = pty.openpty()
            env = {key: value for key, value in ENV.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | ({} if colour else {"NO_COLOR": "1"})
            process = subprocess.Popen([str(PAWL), "bench", *map(str, load[:-1]), "150"], stdout=subprocess.DEVNULL, stderr=slave, env=env)
            os.close(slave)
            seen = b""
            while True:
                try:
                    part = os.read(master, 65536)
                except OSError:
                    break
                if not part:
                    break
                seen += part
            assert process.wait(60) == 0
            text = seen.decode()
            assert "in flight" in text and "TTFT" in text and "\033[2K" in text, text[-400:]
            assert ("\033[36m" in text) == colour, text[-400:]

    prove(one_run_gives_every_format, inferencex_processing_takes_our_file, records_give_the_same_numbers_again, a_result_is_shown_and_compared,
          bad_words_are_refused_before_anything_is_sent, progress_as_json_has_numbers, a_terminal_is_drawn_over_and_no_color_is_respected)
