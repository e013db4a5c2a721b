"""The clients that run.py measures: how each is started and where it says what it saw (README.md: the joins)."""
import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import stamps

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RIVALS = Path(os.environ.get("PAWL_RIVALS", Path.home() / ".cache" / "pawl-rivals"))


@dataclass
class Load:
    """What a cell asks of a client."""
    port: int
    streams: int
    requests: int
    tokens: int
    out: Path  # scratch folder of this run
    tls: bool = False
    host: str = "127.0.0.1"
    model: str = "stamp"

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"


class Client:
    """`command` gives argv, `environment` what to add to the environment; `said` reads what the client wrote."""
    name = ""
    version = ""
    tls = False  # can talk TLS to a server whose certificate nobody knows
    regimes = None  # those that --full measures it in; None: all

    def missing(self):
        """Why it cannot run here; nothing if it can."""
        return None

    def environment(self, load):
        return {}

    def command(self, load):
        raise NotImplementedError

    def said(self, load, stdout):
        """[stamps.Said], or {"mean", "p99"} of TTFT in ms where there are no records."""
        raise NotImplementedError


def named_by_first_token(result):
    """Rows of the result files of vLLM and SGLang: index-aligned lists of ttfts and itls (s) and generated texts."""
    out = []
    for ttft, itls, text in zip(result["ttfts"], result["itls"], result["generated_texts"]):
        found = re.match(r"\s*q(\d{6})", text or "")
        if found and ttft:
            out.append(stamps.Said(("text", int(found[1])), ttft * 1e3, [g * 1e3 for g in itls]))
    return out


class Floor(Client):
    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments
        self.binary = ROOT / "build/release/bin/bare_loop"

    def missing(self):
        return None if self.binary.exists() else "not built: cmake --build build/release --target bare_loop"

    def command(self, load):
        return [self.binary, "--port", load.port, "--streams", load.streams, "--requests", load.requests, "--tokens", load.tokens,
                "--output", load.out / "records.stamps", *self.arguments]

    def said(self, load, stdout):
        _, requests = stamps.read(load.out / "records.stamps")
        return [stamps.Said(("name", str(n)), r.ttft_ms, r.gaps_ms) for n, r in requests.items() if r.events]


class Ours(Client):
    """`pawl bench`; with records, joined request by request: each line holds the id and every event's native time."""
    tls = True
    TOKEN_EVENT = 8  # of an event's marks, see src/measure/record.h

    def __init__(self, name="pawl", records=True, arguments=()):
        self.name, self.records, self.arguments = name, records, list(arguments)
        self.binary = Path(os.environ.get("PAWL", ROOT / "build/release/pawl"))

    def missing(self):
        if not self.binary.exists():
            return f"{self.binary} is not built"
        flags = subprocess.run([self.binary, "bench", "--help"], capture_output=True, text=True).stdout
        self.records = self.records and "--records" in flags
        absent = [a for a in self.arguments if str(a).startswith("--") and a not in flags]
        return f"this pawl has no {', '.join(absent)}" if absent else None

    def command(self, load):
        argv = [self.binary, "bench", "--url", load.url, "--model", load.model, "--concurrency", load.streams, "--requests", load.requests, "--warmups", 0,
                "--isl", 32, "--osl", load.tokens, "--output", load.out / "result.json", *self.arguments]
        argv += ["--insecure"] if load.tls else []
        return argv + (["--records", load.out / "records.jsonl"] if self.records else [])

    def said(self, load, stdout):
        if not self.records:
            ttft = json.loads((load.out / "result.json").read_text())["metrics"]["ttft_ms"]
            return {"mean": ttft["mean"], "p99": ttft["p99"]}
        out = []
        with open(load.out / "records.jsonl") as lines:
            next(lines)  # describes the run
            for line in lines:
                row = json.loads(line)
                if row["outcome"] != "ok" or "first_token_ns" not in row:
                    continue
                times = [e[0] for e in row["events"] if e[4] & self.TOKEN_EVENT]
                out.append(stamps.Said(("name", row["id"]), (row["first_token_ns"] - row["send_ns"]) / 1e6, [(b - a) / 1e6 for a, b in zip(times, times[1:])]))
        return out


class VllmJson(Client):
    """The JSON of vLLM's client: ttfts and itls in seconds, index-aligned with generated_texts, whose first word names the request."""

    def said(self, load, stdout):
        return named_by_first_token(json.loads((load.out / "result.json").read_text()))

    @staticmethod
    def arguments(load):
        return ["--backend", "openai", "--base-url", load.url, "--endpoint", "/v1/completions", "--model", load.model, "--tokenizer", RIVALS / "tokenizer",
                "--dataset-name", "random", "--random-input-len", 32, "--random-output-len", load.tokens, "--num-prompts", load.requests,
                "--max-concurrency", load.streams, "--ignore-eos", "--save-result", "--save-detailed", "--result-dir", load.out, "--result-filename", "result.json",
                "--disable-tqdm", "--ready-check-timeout-sec", 0, *(["--insecure"] if load.tls else [])]


class VllmRs(VllmJson):
    name = "vllm-rs"
    version = "0.33.0"
    tls = True

    def __init__(self):
        self.binary = RIVALS / "vllm/vllm/vllm-rs"

    def missing(self):
        return None if self.binary.exists() else "absent: bench/clients/install-rivals.sh vllm"

    def command(self, load):
        return [self.binary, "bench", "serve", *self.arguments(load)]


class VllmPython(VllmJson):
    name = "vllm-python"
    version = "0.33.0"

    def missing(self):
        return None if (RIVALS / "python/bin/python").exists() and (RIVALS / "vllm/vllm/benchmarks/serve.py").exists() else \
            "absent: bench/clients/install-rivals.sh vllm python"

    def environment(self, load):
        return {"PYTHONPATH": str(RIVALS / "vllm"), "HF_HUB_OFFLINE": "1"}

    def command(self, load):
        return [RIVALS / "python/bin/python", HERE / "stand_ins/run_vllm_serve.py", *self.arguments(load)]


class Sglang(Client):
    """Both clients of sglang.bench_serving: ttfts and itls in seconds beside generated_texts, whose first word names the request."""
    version = "0.5.23"

    def __init__(self, name, script, needs):
        self.name, self.script, self.needs = name, script, needs

    def missing(self):
        there = (RIVALS / "python/bin/python").exists() and any((RIVALS / "sglang/sglang").glob(self.needs))
        return None if there else "absent: bench/clients/install-rivals.sh sglang python"

    def environment(self, load):
        return {"PYTHONPATH": str(RIVALS / "sglang"), "HF_HUB_OFFLINE": "1"}

    def command(self, load):
        return [RIVALS / "python/bin/python", HERE / "stand_ins" / self.script, "--backend", "sglang-oai", "--base-url", load.url, "--model", load.model,
                "--tokenizer", RIVALS / "tokenizer", "--dataset-name", "random-ids", "--random-input-len", 32, "--random-output-len", load.tokens,
                "--random-range-ratio", 1, "--num-prompts", load.requests, "--max-concurrency", load.streams, "--output-file", load.out / "result.jsonl",
                "--output-details", "--disable-tqdm", "--warmup-requests", 0]

    def said(self, load, stdout):
        result = json.loads((load.out / "result.jsonl").read_text().splitlines()[-1])
        return named_by_first_token(result)


class Aiperf(Client):
    """Sends x-request-id and writes it into profile_export.jsonl."""
    name = "aiperf"
    version = "0.13.0"

    def __init__(self):
        self.binary = RIVALS / "aiperf/bin/aiperf"

    def missing(self):
        return None if self.binary.exists() else "absent: bench/clients/install-rivals.sh aiperf"

    def command(self, load):
        return [self.binary, "profile", "--model", load.model, "--url", load.url, "--endpoint-type", "completions", "--streaming", "--tokenizer",
                RIVALS / "tokenizer", "--concurrency", load.streams, "--request-count", load.requests, "--isl", 32, "--isl-stddev", 0, "--osl", load.tokens,
                "--osl-stddev", 0, "--extra-inputs", "ignore_eos:true", "--artifact-dir", load.out, "--ui", "none"]

    def said(self, load, stdout):
        out = []
        for path in sorted(load.out.rglob("profile_export.jsonl")):
            for line in path.read_text().splitlines():
                row = json.loads(line)
                metrics = row["metrics"]
                if row.get("error") or "time_to_first_token" not in metrics:
                    continue
                gaps = metrics.get("inter_chunk_latency", {}).get("value")
                out.append(stamps.Said(("name", row["metadata"]["x_request_id"]), metrics["time_to_first_token"]["value"], gaps))
        return out


class Guidellm(Client):
    name = "guidellm"
    version = "0.8.1"
    regimes = "A"  # overloaded there already: one is enough

    def __init__(self):
        self.binary = RIVALS / "guidellm/bin/guidellm"

    def missing(self):
        return None if self.binary.exists() else "absent: bench/clients/install-rivals.sh guidellm"

    def command(self, load):
        return [self.binary, "run", "--backend", f"kind=openai_http,target={load.url},model={load.model},request_format=/v1/completions",
                "--profile", f"kind=concurrent,streams={load.streams}", "--constraint", f"kind=max_requests,count={load.requests}",
                "--tokenizer", f"kind=hf_auto,model={RIVALS / 'tokenizer'}", "--data", f"kind=synthetic_text,prompt_tokens=32,output_tokens={load.tokens}",
                "--output", f"kind=json,path={load.out / 'result.json'}", "--disable-console"]

    def said(self, load, stdout):
        out = []
        for benchmark in json.loads((load.out / "result.json").read_text())["benchmarks"]:
            for row in benchmark["requests"]["successful"]:
                text = re.match(r"\s*q(\d{6})", row.get("output") or "")
                if text and row.get("time_to_first_token_ms"):
                    out.append(stamps.Said(("text", int(text[1])), row["time_to_first_token_ms"]))
        return out


def all_clients():
    return [Floor("floor-user", ["--stamps", "user"]), Floor("floor-kernel", ["--stamps", "kernel"]),
            Floor("floor-gathered", ["--stamps", "kernel", "--gather-us", 1000]), Ours(), Ours("pawl-no-records", records=False),
            Ours("pawl-ungathered", records=False, arguments=["--gather", "off"]), VllmRs(), VllmPython(), Sglang("sglang", "run_sglang_serving.py", "benchmark/serving.py"),
            Sglang("sglang-rust", "run_sglang_rust.py", "srt/rust_extensions/_bench.*"), Aiperf(), Guidellm()]
