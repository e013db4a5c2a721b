"""The twin as a product: its faults as pawl bench sees them, its faces, its launch face, same seed same bytes."""
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.request

from pawl_e2e import ENV, free_port, get, prove, run, run_json, running, scratch, wait_for


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return answer.read().decode()


def events(text):
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ") and line != "data: [DONE]"]


with scratch() as tmp:
    pawl = tmp / "pawl"

    @contextlib.contextmanager
    def twin(*args, faults=None, ready=True):
        port = free_port()
        if faults is not None:
            (tmp / "faults.yaml").write_text("faults:\n  - {%s}\n" % faults)
            args += ("--faults", tmp / "faults.yaml")
        with running(pawl, "twin", "--port", port, "--profile", "generic-new", "--tp", "8", "--served-model-name", "demo", *args, log=tmp / "twin.log") as process:
            url = f"http://127.0.0.1:{port}"
            if ready:
                wait_for("the twin to be healthy", lambda: get(f"{url}/health")[0] == 200 or process.poll() is not None, 30)
            yield url, process

    def bench(url, *args, requests=12):
        done = run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 2, "--requests", requests, "--warmups", 0, "--isl", 32, "--osl", 12,
                   "--idle-timeout", 2, "--first-token-timeout", 2, "--json", *args, status=None)
        return json.loads(done.stdout)

    # What is served, what a bench of twelve requests says of it: failure classes it may show, at least one of the first.
    TABLE = {
        "kind: hang, after_requests: 4": {"timeout_first_token"},
        "kind: overload": {"http_status"},
        "kind: overload, status: 529, share: 0.5": {"http_status"},
        "kind: no-instances": {"http_status"},
        "kind: cut-stream, after_tokens: 5": {"early_eof"},
        "kind: malformed-chunk, after_tokens: 5": {"json"},
        "kind: malformed-chunk, after_tokens: 5, at: framing": {"frame"},
        "kind: restart, after_requests: 4, seconds: 1": {"early_eof", "connect"},
        "kind: leak, tokens_per_request: 1000000": {"early_eof", "connect"},
    }

    def each_fault_is_seen_as_its_failure_class():
        for fault, classes in TABLE.items():
            with twin(faults=fault) as (url, _):
                result = bench(url)
            seen = {name for name, count in result["failures"].items() if count}
            assert seen and seen <= classes, f"{fault}: failures {result['failures']}, expected {classes}"
            assert result["counts"]["ok"] + result["counts"]["failed"] + result["counts"].get("timeout", 0) == 12, result["counts"]

    def faults_of_speed_are_seen_in_the_times():
        with twin() as (url, _):
            sound = bench(url)["metrics"]
        with twin(faults="kind: slow-first-request, seconds: 1") as (url, _):
            slow = bench(url)
        assert slow["counts"]["ok"] == 12 and slow["metrics"]["ttft_ms"]["max"] > 1000 > sound["ttft_ms"]["max"], slow["metrics"]["ttft_ms"]
        with twin(faults="kind: slow-rank, rank: 0, factor: 4") as (url, _):
            slow = bench(url)
        assert slow["metrics"]["tpot_ms"]["mean"] > 3 * sound["tpot_ms"]["mean"], slow["metrics"]["tpot_ms"]
        with twin(faults="kind: degrade, per_minute: 120") as (url, _):
            time.sleep(2.5)
            slow = bench(url, requests=4)
        assert slow["metrics"]["tpot_ms"]["mean"] > 2 * sound["tpot_ms"]["mean"], slow["metrics"]["tpot_ms"]

    def a_late_start_is_503_until_it_is_ready():
        with twin(faults="kind: late-start, seconds: 2", ready=False) as (url, process):
            wait_for("an answer", lambda: get(f"{url}/health")[0] == 503)
            assert bench(url)["failures"] == {"http_status": 12}
            wait_for("readiness", lambda: get(f"{url}/health")[0] == 200)
            assert bench(url)["counts"]["ok"] == 12

    def out_of_memory_ends_the_start_with_the_engines_words():
        for at in ("load", "graph-capture"):
            with twin(faults=f"kind: out-of-memory, at: {at}", ready=False) as (url, process):
                assert process.wait(timeout=20) == 137
                assert "CUDA out of memory" in (tmp / "twin.log").read_text()
                refused = run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 1, "--isl", 8, "--osl", 2, status=None)
                assert refused.returncode not in (0, 1) and "refused" in refused.stderr.lower(), refused

    def flags_are_refused_as_the_launcher_does():
        for fault, words in (("kind: reject-flag, flag: --dtype", "unrecognized arguments: --dtype"),
                             ("kind: ambiguous-flag, flag: --dtype, could_match: [--dtype-a, --dtype-b]", "ambiguous option: --dtype could match --dtype-a, --dtype-b")):
            (tmp / "faults.yaml").write_text("faults:\n  - {%s}\n" % fault)
            done = run(pawl, "twin", "--port", 0, "--profile", "generic-new", "--faults", tmp / "faults.yaml", "--", "--dtype", "auto", status=2)
            assert words in done.stderr, done.stderr

    def wrong_answers_come_at_their_rate():
        questions = [{"question": f"How many are {i} and {i} things together, number {i}?", "answer": f"Two times.\n#### {2 * i}"} for i in range(10, 60)]
        (tmp / "answers.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions))

        def right(*args, **how):
            with twin("--answers", tmp / "answers.jsonl", *args, **how) as (url, _):
                with concurrent.futures.ThreadPoolExecutor(16) as many:
                    texts = list(many.map(lambda q: post(f"{url}/v1/completions", {"prompt": "Question: " + q["question"] + "\nAnswer:", "max_tokens": 64}), questions))
            return sum(json.loads(t)["choices"][0]["text"].endswith(q["answer"].split("#### ")[1]) for t, q in zip(texts, questions))

        assert right("--accuracy", 1) == 50
        assert right("--accuracy", 0) == 0
        assert 10 < right("--accuracy", 1, faults="kind: wrong-answers, share: 0.5") < 40

    def every_face_answers_in_its_shape():
        with twin() as (url, _):
            last = events(post(f"{url}/generate", {"text": "a b c", "sampling_params": {"max_new_tokens": 5}, "stream": True}))[-1]
            assert last["meta_info"]["completion_tokens"] == 5 and last["meta_info"]["finish_reason"] == {"type": "length", "length": 5}, last
            whole = json.loads(post(f"{url}/generate", {"text": "a b c", "sampling_params": {"max_new_tokens": 5}}))
            assert whole["text"] == last["text"]
            trt = events(post(f"{url}/v2/models/ensemble/generate_stream", {"text_input": "a b c", "max_tokens": 5}))
            assert "".join(e["text_output"] for e in trt) == whole["text"] and len(trt) == 5
            llama = events(post(f"{url}/completion", {"prompt": "a b c", "n_predict": 5, "stream": True}))
            assert "".join(e["content"] for e in llama) == whole["text"] and llama[-1]["stop"] is True and llama[-1]["tokens_predicted"] == 5, llama[-1]
            assert get(f"{url}/get_model_info")[0] == get(f"{url}/flush_cache")[0] == 200
            truth = json.loads(get(f"{url}/twin/truth")[2])
            assert truth["events"] == 15 and truth["requests"] == 4 and truth["simulated"] == "twin", truth
            assert 'sglang:generation_tokens_total{model_name="demo"} 20' in get(f"{url}/metrics")[2]

    def each_engine_speaks_in_its_own_words():
        lines = {"sglang": "The server is fired up and ready to roll!", "vllm": "GPU KV cache size: ", "trtllm": "[TRT-LLM] [I] ",
                 "llamacpp": "main: server is listening on http://127.0.0.1:"}
        for engine, words in lines.items():
            with twin("--engine", engine, faults='kind: log-line, at: ready, text: "something else"') as (url, _):
                wait_for("its words", lambda: words in (tmp / "twin.log").read_text() and "something else" in (tmp / "twin.log").read_text())
                assert "SIMULATION" in (tmp / "twin.log").read_text().splitlines()[0]
        done = run(pawl, "twin", "launch", "vllm", "--", "demo", "--no-such-flag", status=2)
        assert "api_server.py: error: unrecognized arguments: --no-such-flag" in done.stderr, done.stderr

    def stamps_are_in_the_events_and_in_the_file():
        with twin("--stamp", "--truth", tmp / "truth.stamps") as (url, process):
            got = events(post(f"{url}/v1/completions", {"prompt": "a", "max_tokens": 4, "stream": True}))
            assert [e["twin"]["seq"] for e in got if "twin" in e] == [0, 1, 2, 3]
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0
        raw = (tmp / "truth.stamps").read_bytes()
        assert raw.startswith(b"PAWLSTMP") and got[0]["twin"]["sent_ns"].to_bytes(8, "little") in raw

    def the_same_seed_gives_the_same_bytes():
        def answers(seed):
            with twin("--seed", seed) as (url, _):
                return [post(f"{url}/v1/{path}", body) for path, body in (
                    ("completions", {"prompt": "one two", "max_tokens": 9, "stream": True, "stream_options": {"include_usage": True}}),
                    ("chat/completions", {"messages": [{"role": "user", "content": "one two"}], "max_tokens": 9}))]
        assert answers(5) == answers(5) != answers(6)

    def launch_scripts_of_the_field_start_it_unmodified():
        run(pawl, "twin", "shims", tmp / "shims")
        for line, path in (("python3 -m sglang.launch_server --model-path demo --tp=2 --port {port} --chunked-prefill-size 4096", "/get_server_info"),
                           ("vllm serve demo --port {port} --tensor-parallel-size 2 --max-num-seqs 8", "/version"),
                           ("trtllm-serve demo --port {port} --tp_size 2", "/health")):
            port = free_port()
            process = subprocess.Popen(["bash", "-c", "exec " + line.format(port=port)], env=ENV | {"PATH": f"{tmp / 'shims'}:{os.environ['PATH']}", "PAWL_TWIN_PROFILE": "generic-new"},
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_for(line, lambda: get(f"http://127.0.0.1:{port}/health")[0] == 200, 30)
                assert get(f"http://127.0.0.1:{port}{path}")[0] == 200
                assert json.loads(get(f"http://127.0.0.1:{port}/v1/models")[2])["data"][0]["id"] == "demo"
            finally:
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=20) == 0
        assert subprocess.run([tmp / "shims/python3", "-c", "print(6 * 7)"], env=ENV, capture_output=True, text=True).stdout == "42\n"

    prove(each_fault_is_seen_as_its_failure_class, faults_of_speed_are_seen_in_the_times, a_late_start_is_503_until_it_is_ready,
          out_of_memory_ends_the_start_with_the_engines_words, flags_are_refused_as_the_launcher_does, wrong_answers_come_at_their_rate,
          every_face_answers_in_its_shape, each_engine_speaks_in_its_own_words, stamps_are_in_the_events_and_in_the_file, the_same_seed_gives_the_same_bytes,
          launch_scripts_of_the_field_start_it_unmodified)
