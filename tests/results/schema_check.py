"""schema_check.py PAWL FOLDER SCHEMATHESIS [EXAMPLES]: a server with rows, evals, samples and logs, and schemathesis against its OpenAPI document."""
import json
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import row_source

pawl, folder, schemathesis = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
examples = sys.argv[4] if len(sys.argv) > 4 else "50"
store = str(folder / "results.db")
for number in range(0, 90):
    if number % 10:
        continue
    path = folder / f"{number}.zip"
    path.write_bytes(row_source.archive(number)[2])
    subprocess.run([pawl, "results", "ingest", path, "--store", store], check=True, stdout=subprocess.DEVNULL)
with open(folder / "serve.json", "w") as log:
    server = subprocess.Popen([pawl, "serve", "--store", store, "--port", "0", "--json"], stdout=log)
try:
    while not (folder / "serve.json").read_text().strip():
        time.sleep(0.05)
    base = json.loads((folder / "serve.json").read_text())["url"].rstrip("/")
    document = json.loads(urllib.request.urlopen(f"{base}/api/openapi.json").read())
    # A stream without end is nothing that it can check.
    del document["paths"]["/api/v1/events"]
    document["servers"] = [{"url": base}]
    (folder / "openapi.json").write_text(json.dumps(document))
    # Rules between parameters (weights need view=scores, exact needs date) cannot be said in OpenAPI: there a valid request may be refused.
    between = [f'[[operations]]\ninclude-name = "GET /api/v1/{name}"\n[operations.checks]\npositive_data_acceptance.expected-statuses = [200, 400, 404]\n'
               for name in ("benchmarks", "benchmarks/history", "tco-feed", "pareto", "server-log")]
    (folder / "schemathesis.toml").write_text("\n".join(between))
    done = subprocess.run([schemathesis, "--config-file", folder / "schemathesis.toml", "run", folder / "openapi.json", "--url", base, "--checks", "all", "--max-examples", examples, "--phases", "examples,coverage,fuzzing",
                           "--seed", "1", "--request-timeout", "30", "--continue-on-failure", *sys.argv[5:]], check=False, cwd=folder)
    server.send_signal(signal.SIGTERM)
    assert server.wait(30) == 0
    sys.exit(done.returncode)
finally:
    if server.poll() is None:
        server.kill()
