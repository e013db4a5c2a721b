"""The same answers scored by pawl and by lm-eval: a real small model, and the twin, whose answers are right and wrong about as often.

Between the harnesses and the engine stands a proxy that asks the engine once for each prompt and gives everybody the same text. A prompt that lm-eval
sends and pawl did not is counted: then the two would not have asked the same.
"""
import argparse
import glob
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

TASK = r"""task: agreement
dataset_path: json
dataset_kwargs:
  data_files: {train: %(train)s, test: %(test)s}
output_type: generate_until
training_split: train
fewshot_split: train
test_split: test
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
num_fewshot: 5
fewshot_config: {sampler: first_n}
generation_kwargs: {until: ["Question:", "</s>", "<|im_end|>"], do_sample: false, temperature: 0.0, max_gen_toks: 96}
filter_list:
  - name: strict-match
    filter: [{function: regex, regex_pattern: "#### (\\-?[0-9\\.\\,]+)"}, {function: take_first}]
  - name: flexible-extract
    filter: [{function: regex, group_select: -1, regex_pattern: "(-?[$0-9.,]{2,})|(-?[0-9]+)"}, {function: take_first}]
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
    ignore_case: true
    ignore_punctuation: false
    regexes_to_ignore: [",", "\\$", "(?s).*#### ", "\\.$"]
metadata: {version: 3.0}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=600) as answer:
        return json.load(answer)


class Proxy:
    """Asks the engine behind it once a prompt."""

    def __init__(self, engine):
        self.texts, self.asked, self.new = {}, 0, 0
        lock = threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["prompt"][0] if isinstance(body["prompt"], list) else body["prompt"]
                proxy.asked += 1
                if prompt not in proxy.texts:
                    wanted = {"model": body["model"], "prompt": prompt, "max_tokens": body["max_tokens"], "temperature": 0, "stop": body.get("stop") or []}
                    choice = post(engine + "/v1/completions", wanted)["choices"][0]
                    with lock:
                        proxy.new += 1
                        proxy.texts[prompt] = (choice["text"], choice.get("finish_reason"))
                text, reason = proxy.texts[prompt]
                payload = json.dumps({"choices": [{"index": 0, "text": text, "finish_reason": reason, "logprobs": None}],
                                      "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def do_GET(self):
                self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def wait_healthy(url, process, limit_s=120):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url + "/health", timeout=5) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass
        assert process.poll() is None, "the engine ended"
        time.sleep(0.2)
    raise AssertionError("the engine was not ready in time")


def pawl_eval(options, url, model, output, *more, status=None):
    done = subprocess.run([options.pawl, "eval", "run", "--task", options.task, "--url", url, "--model", model, "--concurrency", "4", "--limit", str(options.questions),
                           "--threshold", "0", "--output", output, "--progress", "none", *more], capture_output=True, text=True)
    assert status is None or done.returncode == status, f"pawl eval run: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads((output / "result.json").read_text())


def samples_of(folder):
    lines = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    return {sample["doc_id"]: sample for sample in lines[1:]}


def agree(name, options, engine, model):
    proxy = Proxy(engine)
    ours = options.work / f"{name}-ours"
    began = time.monotonic()
    result = pawl_eval(options, proxy.url, model, ours, status=0)
    took = time.monotonic() - began
    asked_by_us = proxy.new
    theirs = options.work / f"{name}-theirs"
    env = os.environ | {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(options.work / "hf"), "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run([options.lm_eval, "run", "--model", "local-completions", "--model_args",
                           f"model={model},base_url={proxy.url}/v1/completions,num_concurrent=4,max_retries=2,tokenizer_backend=None,tokenized_requests=False",
                           "--tasks", "agreement", "--include_path", str(options.task.parent), "--output_path", str(theirs), "--log_samples", "--limit", str(options.questions)],
                          capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    results = json.loads(pathlib.Path(glob.glob(f"{theirs}/**/results_*.json", recursive=True)[0]).read_text())["results"]["agreement"]
    mine = samples_of(ours)
    verdicts = differ = 0
    right = {"strict": 0, "flexible": 0}
    for line in open(glob.glob(f"{theirs}/**/samples_agreement_*.jsonl", recursive=True)[0]):
        sample = json.loads(line)
        kind = "strict" if sample["filter"] == "strict-match" else "flexible"
        own = mine[sample["doc_id"]]
        verdicts += 1
        right[kind] += own[f"passed_{kind}"]
        same = own[f"passed_{kind}"] == (sample["exact_match"] == 1.0) and own[kind] == sample["filtered_resps"][0] and own["response"] == sample["resps"][0][0]
        if not same:
            differ += 1
            print(f"  {name}: question {sample['doc_id']}, {kind}: pawl {own[kind]!r} {own[f'passed_{kind}']}, lm-eval {sample['filtered_resps'][0]!r} {sample['exact_match']}")
    off = 0
    for kind, theirs_name in (("strict", "strict-match"), ("flexible", "flexible-extract")):
        off = max(off, abs(result[f"em_{kind}"] - results[f"exact_match,{theirs_name}"]), abs(result[f"em_{kind}_se"] - results[f"exact_match_stderr,{theirs_name}"]))
    print(f"{name}: {len(mine)} questions, asked in {took:.0f} s; {verdicts} verdicts, {differ} differ; strict {result['em_strict']:.4f} ± {result['em_strict_se']:.4f} "
          f"({right['strict']} right), flexible {result['em_flexible']:.4f} ± {result['em_flexible_se']:.4f} ({right['flexible']} right); scores and errors off by at most {off:.1e}; "
          f"prompts of lm-eval that pawl did not send: {proxy.new - asked_by_us}", flush=True)
    assert len(mine) == options.questions and verdicts == 2 * options.questions
    assert differ == 0 and off <= 1e-9 and proxy.new == asked_by_us


def killed_and_gone_on_with(options, engine, model):
    """A real engine, streamed: killed in the middle, and every question is asked once."""
    output = options.work / "killed"
    command = [options.pawl, "eval", "run", "--task", options.task, "--url", engine, "--model", model, "--concurrency", "2", "--limit", "24", "--threshold", "0", "--output", output,
               "--progress", "none"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    file = output / "samples.jsonl"
    while not file.exists() or file.read_bytes().count(b"\n") < 9:
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = samples_of(output) if file.read_bytes().endswith(b"\n") else None
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    after = samples_of(output)
    assert sorted(after) == list(range(24))
    if kept is not None:
        assert all(after[k] == kept[k] for k in kept)
    print(f"killed after {len(kept) if kept is not None else 'some'} of 24 answers, gone on with: 24 answered, each once", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("pawl", "llama-server", "model", "gsm8k", "lm-eval", "work"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--questions", type=int, default=100)
    options = parser.parse_args()
    tasks = options.work / "tasks"
    tasks.mkdir(parents=True)
    options.task = tasks / "agreement.yaml"
    options.task.write_text(TASK % {"train": options.gsm8k / "train-head64.jsonl", "test": options.gsm8k / "test.jsonl"})

    port = free_port()
    twin = subprocess.Popen([options.pawl, "twin", "--profile", "generic-new", "--port", str(port), "--served-model-name", "twin", "--answers", options.gsm8k / "test.jsonl",
                             "--accuracy", "0.6"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_healthy(f"http://127.0.0.1:{port}", twin)
        agree("twin", options, f"http://127.0.0.1:{port}", "twin")
    finally:
        twin.terminate()
        twin.wait()

    port = free_port()
    env = os.environ | {"LD_LIBRARY_PATH": str(options.llama_server.parent)}
    with open(options.work / "llama.log", "wb") as log:
        llama = subprocess.Popen([options.llama_server, "-m", options.model, "--host", "127.0.0.1", "--port", str(port), "-c", "16384", "-np", "4", "-t", "2", "--no-repack"],
                                 stdout=log, stderr=log, env=env)
    try:
        wait_healthy(f"http://127.0.0.1:{port}", llama)
        killed_and_gone_on_with(options, f"http://127.0.0.1:{port}", "small")
        agree("llama.cpp", options, f"http://127.0.0.1:{port}", "small")
    finally:
        llama.terminate()
        llama.wait()
    evidence = subprocess.run([options.pawl, "evidence", options.work / "llama.log"], capture_output=True, text=True)
    print(evidence.stdout)


if __name__ == "__main__":
    sys.exit(main())
