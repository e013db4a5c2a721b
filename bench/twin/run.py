#!/usr/bin/env python3
"""Measures the twin against a bare sender in one run (README.md)."""
import argparse
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAW = """name: bench
describes: "steps of a fixed length, for measuring the twin itself"
engine: sglang
version: "0"
load_s: 0
accuracy: 1
context_length: 100000000
max_running_requests: 100000
law:
  "1": {decode_base_ms: %s, decode_per_seq_ms: 0, decode_exponent: 1, decode_per_ktoken_ms: 0, prefill_base_ms: 0, prefill_tok_per_ms: 1000000,
        admit_ms: 0, jitter: 0, chunk_tokens: 1000000, kv_tokens: 100000000000}
flags: []
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def truth(port):
    return json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/twin/truth", timeout=60))


def wait_until(condition, limit_s=30):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit("waited in vain")


def twin(options, step_ms, streams):
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "twins"
        data.mkdir()
        (data / "bench.yaml").write_text(LAW % step_ms)
        port = free_port()
        process = subprocess.Popen(["taskset", "-c", "0", options.pawl, "twin", "--data", folder, "--profile", "bench", "--port", str(port), "--served-model-name", "demo"],
                                   stdout=subprocess.DEVNULL)
        try:
            wait_until(lambda: truth(port))
            reader = subprocess.Popen(["taskset", "-c", "1", options.peer, "drain", "--port", str(port), "--streams", str(streams), "--seconds", str(options.seconds + 6)],
                                      stdout=subprocess.DEVNULL)
            wait_until(lambda: truth(port)["requests"] == streams)
            time.sleep(1)  # the burst of the beginnings is over
            before, used, began = truth(port), cpu_s(process.pid), time.monotonic()
            time.sleep(options.seconds)
            after, spent, wall = truth(port), cpu_s(process.pid) - used, time.monotonic() - began
            reader.wait()
            events = after["events"] - before["events"]
            return {"streams": streams, "step_ms": step_ms, "events": events, "events_per_s": round(events / wall), "events_per_cpu_s": round(events / spent),
                    "core_share": round(spent / wall, 3), "late_us": after["late_us"]}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def bare(options, streams):
    port = free_port()
    sender = subprocess.Popen(["taskset", "-c", "0", options.peer, "send", "--port", str(port), "--streams", str(streams), "--seconds", str(options.seconds)],
                              stdout=subprocess.PIPE, text=True)
    sender.stdout.readline()
    reader = subprocess.Popen(["taskset", "-c", "1", options.peer, "drain", "--port", str(port), "--streams", str(streams), "--seconds", str(options.seconds + 0.5)],
                              stdout=subprocess.DEVNULL)
    result = json.loads(sender.stdout.readline())
    reader.kill()
    reader.wait()
    return {"streams": streams} | result


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pawl", default=ROOT / "build/release/pawl")
    options.add_argument("--peer", default=ROOT / "build/release/bin/event_peer")
    options.add_argument("--seconds", type=float, default=5)
    options = options.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    floor = bare(options, 1000)
    fast = twin(options, 2, 1000)
    wide = twin(options, 100, 4000)
    print(json.dumps({"bare_sender": floor, "twin": fast, "twin_4000": wide, "twin_over_bare": round(fast["events_per_cpu_s"] / floor["events_per_cpu_s"], 3)}, indent=1))


main()
