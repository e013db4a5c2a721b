#!/usr/bin/env bash
# duration: 1 min; pawl evidence on a log of 500 MB: seconds, and memory that must stay below 64 MB; and going on from a state
# MB: how large (500).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
: "${PAWL:=$PWD/build/release/pawl}" "${MB:=500}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 - "$MB" "$work/server.log" <<'PYTHON'
import sys
wanted, path = int(sys.argv[1]) * 1_000_000, sys.argv[2]
second = "[2026-01-02 03:04:05"
with open(path, "w") as out:
    written = out.write(f"{second}] server_args=ServerArgs(model_path='/m', tp_size=8, seed=1)\n{second} TP0] max_total_num_tokens=700000, chunked_prefill_size=8192\n"
                        f"{second}] The server is fired up and ready to roll!\n")
    number = 0
    while written < wanted:
        number += 1
        rank = number % 8
        written += out.write(f"{second} TP{rank}] Decode batch, #running-req: {number % 64}, #token: {number}, token usage: 0.13, cuda graph: True, gen throughput (token/s): 2685.93, #queue-req: 0\n" * 3)
        written += out.write(f'{second}] INFO:     127.0.0.1:{number % 60000} - "POST /v1/completions HTTP/1.1" 200 OK\n' * 4)
        if number % 50 == 0:
            written += out.write(f"\x1b[33m{second} TP{rank}] A line that differs: slot s{number:x}z held for {number * 0.1:.1f} s\x1b[0m\n")
        if number % 5000 == 0:
            written += out.write(f"{second} TP{rank}] caught: Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: {number}\n")
PYTHON
python3 - "$PAWL" "$work" <<'PYTHON'
import json, os, resource, subprocess, sys, time
pawl, work = sys.argv[1:]
def read(*more):
    began = time.monotonic()
    done = subprocess.run([pawl, "evidence", f"{work}/server.log", "--json", "--progress", "none", *more], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return json.loads(done.stdout)["logs"][0], time.monotonic() - began
log, seconds = read("--state", f"{work}/state")
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
again, resumed = read("--state", f"{work}/state")
e = log["evidence"]
print(f"{e['bytes'] / 1e6:.0f} MB, {e['lines']} lines: {seconds:.1f} s, {memory:.0f} MB of memory; again from its state {resumed:.2f} s; "
      f"{len(e['notices'])} notices, {e.get('not_kept', {})} not kept, {sum(t['count'] for t in e['tracebacks'])} tracebacks, answers {e['http_after_ready']}")
assert again == log and memory < 64 and sum(t["count"] for t in e["tracebacks"]) > 0
PYTHON
