"""load.py PAWL FOLDER [RUNS]: takes RUNS runs (10,000) of about 100 rows into a store through the server, on SQLite and then on
PostgreSQL, and measures the P0 routes with wrk beside nginx with a file of the same bytes. Prints a Markdown table."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import row_source

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
pawl, folder = sys.argv[1], pathlib.Path(sys.argv[2])
runs = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
SECONDS = int(os.environ.get("WRK_SECONDS", "5"))
MODEL = "DeepSeek-R1-0528"
ROUTES = {
    "availability": "/api/v1/availability",
    "benchmarks": f"/api/v1/benchmarks?model={MODEL}",
    "benchmarks, columns": f"/api/v1/benchmarks?model={MODEL}&view=columns&metrics=median_intvty,tput_per_gpu",
    "benchmarks, one day": f"/api/v1/benchmarks?model={MODEL}&date=2025-06-10&exact=true",
    "history, columns": f"/api/v1/benchmarks/history?model={MODEL}&isl=1024&osl=1024&view=columns&metrics=median_intvty,tput_per_gpu&hardware=b200",
    "workflow-info": "/api/v1/workflow-info?date=2025-06-10",
    "evaluations": "/api/v1/evaluations",
    "reliability": "/api/v1/reliability",
    "submissions": "/api/v1/submissions",
    "latest-images": "/api/v1/latest-images",
    "tco-feed": f"/api/v1/tco-feed?model={MODEL}",
    "pareto": f"/api/v1/pareto?model={MODEL}&rawModel=dsr1&sequence=1k/1k&xMetric=median_intvty&yMetric=output_tput_per_gpu&xDirection=max&yDirection=max",
}


def memory_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) // 1024


def fetch(url, encoding="zstd"):
    request = urllib.request.Request(url, headers={"Accept-Encoding": encoding})
    began = time.monotonic()
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=600) as answer:
        body = answer.read()
    return body, (time.monotonic() - began) * 1000


def wrk(url, encoding="zstd"):
    """(requests/s, p50, p99 in ms)"""
    text = subprocess.run(["wrk", "-t1", "-c8", f"-d{SECONDS}s", "--latency", "-H", f"Accept-Encoding: {encoding}", url], capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in text, text

    def ms(name):
        value, unit = re.search(rf"{name}%\s+([\d.]+)(us|ms|s)", text).groups()
        return float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)), ms("50"), ms("99")


def serve(store):
    log = open(folder / "serve.json", "w")
    process = subprocess.Popen([pawl, "serve", "--store", store, "--port", "0", "--json"], stdout=log)
    while not (folder / "serve.json").read_text().strip():
        assert process.poll() is None
        time.sleep(0.05)
    return process, json.loads((folder / "serve.json").read_text())["url"].rstrip("/")


def measure(store, floors):
    token = json.loads(subprocess.run([pawl, "store", "token", "create", "--name", "load", "--store", store, "--json"], capture_output=True, text=True, check=True).stdout)["token"]
    server, base = serve(store)
    began, rows = time.monotonic(), 0
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for number in range(runs):
        _, _, body, count = row_source.archive(number)
        opener.open(urllib.request.Request(f"{base}/api/v1/ingest", data=body, method="POST", headers={"Authorization": f"Bearer {token}"}), timeout=600).read()
        rows += count
        if number % 1000 == 999:
            print(f"  {number + 1} runs, {rows} rows, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    taken = time.monotonic() - began
    server.send_signal(signal.SIGTERM)
    server.wait()
    server, base = serve(store)
    start_memory = memory_mb(server.pid)
    _, first = fetch(base + ROUTES["availability"])
    table = {}
    for name, route in ROUTES.items():
        body, cold = fetch(base + route)
        plain, _ = fetch(base + route, "identity")
        requests, p50, p99 = wrk(base + route)
        table[name] = {"plain": len(plain), "zstd": len(body), "gzip": len(fetch(base + route, "gzip")[0]), "cold": cold, "rps": requests, "p50": p50, "p99": p99}
        if floors is not None:
            (folder / "www" / "file").write_bytes(body)
            floors[name] = wrk("http://127.0.0.1:18480/file")
    memory = memory_mb(server.pid)
    # One more run: what the next reader of a changed store waits for.
    _, _, body, _ = row_source.archive(runs)
    opener.open(urllib.request.Request(f"{base}/api/v1/ingest", data=body, method="POST", headers={"Authorization": f"Bearer {token}"}), timeout=600).read()
    _, after_write = fetch(base + ROUTES["benchmarks"])
    server.send_signal(signal.SIGTERM)
    server.wait()
    size = sum(f.stat().st_size for f in folder.glob("load.db*")) if "://" not in store else int(subprocess.run(
        ["psql", store, "-tAc", "SELECT pg_database_size(current_database())"], capture_output=True, text=True, check=True).stdout)
    print(f"{'PostgreSQL' if '://' in store else 'SQLite'}: {rows} rows of {runs} runs taken in {taken:.0f} s through POST /api/v1/ingest ({rows / taken:.0f} rows/s, makers included), "
          f"{size / 1e6:.0f} MB; server {start_memory} MB at start, {memory} MB with all answers below; first answer after start {first:.0f} ms, after a write {after_write:.0f} ms\n", flush=True)
    return table


(folder / "www").mkdir()
(folder / "nginx.conf").write_text(f"""worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log; daemon on; events {{ worker_connections 256; }}
http {{ access_log off; sendfile on; server {{ listen 127.0.0.1:18480; root {folder}/www; }} }}""")
(folder / "www").chmod(0o755)
subprocess.run(["nginx", "-c", folder / "nginx.conf"], check=True)
try:
    floors = {}
    sqlite = measure(str(folder / "load.db"), floors)
    up = subprocess.run([ROOT / "tests/postgres/server.sh", "up", folder / "pg"], capture_output=True, text=True, check=False, env={**os.environ, "PAWL_POSTGRES_OPTIONS": "-c shared_buffers=512MB"})
    postgres = {}
    if up.returncode == 0:
        try:
            postgres = measure(up.stdout.strip(), None)
        finally:
            subprocess.run([ROOT / "tests/postgres/server.sh", "down", folder / "pg"], check=False)
    print("| route | bytes plain | gzip | zstd | made in ms: SQLite | PostgreSQL | p50 / p99 ms: SQLite | PostgreSQL | file | requests/s: SQLite | PostgreSQL | file |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, s in sqlite.items():
        p, f = postgres.get(name), floors[name]
        print(f"| {name} | {s['plain']:,} | {s['gzip']:,} | {s['zstd']:,} | {s['cold']:.0f} | {'-' if p is None else format(p['cold'], '.0f')} | {s['p50']:.2f} / {s['p99']:.2f} | "
              f"{'-' if p is None else format(p['p50'], '.2f') + ' / ' + format(p['p99'], '.2f')} | {f[1]:.2f} / {f[2]:.2f} | {s['rps']:.0f} | {'-' if p is None else format(p['rps'], '.0f')} | {f[0]:.0f} |", flush=True)
finally:
    subprocess.run(["nginx", "-c", folder / "nginx.conf", "-s", "stop"], check=False)
