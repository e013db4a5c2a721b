"""kill_ingest.py PAWL FOLDER [KILLS]: `pawl results ingest` is killed at a random moment, KILLS times (100); after each kill the store must
be sound and hold every run whole or not at all. Then two ingesters at once take in the same and different runs. Both engines where
PostgreSQL is installed (tests/postgres/server.sh)."""
import json
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import row_source

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
pawl, folder = sys.argv[1], pathlib.Path(sys.argv[2])
kills = int(sys.argv[3]) if len(sys.argv) > 3 else 100
ROWS = 1500  # of one run: long enough that most kills fall into the writing


def document(*args):
    done = subprocess.run([pawl, *args, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (args, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return json.loads(done.stdout)


def prepare(count):
    files = []
    for number in range(count):
        run, _, body, rows = row_source.archive(number, ROWS)
        path = folder / f"{run}.zip"
        path.write_bytes(body)
        files.append((path, run, rows))
    return files


def rows_of_runs(store):
    """{run: rows} of what is in the store."""
    text = subprocess.run([pawl, "results", "export", "--store", store], capture_output=True, text=True, check=True).stdout
    counts = {}
    for line in text.splitlines()[1:]:
        run = int(line.split(",", 1)[0])
        counts[run] = counts.get(run, 0) + 1
    return counts


def kill_often(store, files):
    r = random.Random(7)
    began = time.monotonic()
    subprocess.run([pawl, "results", "ingest", files[0][0], "--store", store], check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - began
    inside = 0
    for number in range(kills):
        path, run, rows = files[1 + number % (len(files) - 1)]
        victim = subprocess.Popen([pawl, "results", "ingest", path, "--store", store], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(r.uniform(0, whole))
        victim.kill()
        if victim.wait() != 0:
            inside += 1
        seen = document("store", "verify", "--store", store)
        assert seen["sound"], seen
        for found, count in rows_of_runs(store).items():
            wanted = next(n for _, known, n in files if known == found)
            assert count == wanted, f"run {found}: {count} of {wanted} rows after kill {number + 1}"
    for path, _, _ in files:
        subprocess.run([pawl, "results", "ingest", path, "--store", store], check=True, stdout=subprocess.DEVNULL)
    assert rows_of_runs(store) == {run: rows for _, run, rows in files}
    print(f"{store.split(':')[0] if '://' in store else 'sqlite'}: {kills} kills, {inside} of them before the end; an ingest takes {whole:.2f} s; sound after each, and whole after all", flush=True)


def two_at_once(store, files):
    def ingest_all(order):
        return subprocess.Popen(["sh", "-c", "for f in " + " ".join(str(p) for p, _, _ in order) + f"; do '{pawl}' results ingest $f --store '{store}' >/dev/null || exit 1; done"])
    both = [ingest_all(files), ingest_all(list(reversed(files)))]
    assert [b.wait() for b in both] == [0, 0]
    assert rows_of_runs(store) == {run: rows for _, run, rows in files}
    assert document("store", "verify", "--store", store)["sound"]
    print("two ingesters at once, each taking in all runs: no row twice, none lost", flush=True)


files = prepare(6)
kill_often(str(folder / "killed.db"), files)
two_at_once(str(folder / "two.db"), files)
server = ROOT / "tests/postgres/server.sh"
place = folder / "pg"
up = subprocess.run([server, "up", place], capture_output=True, text=True, check=False)
if up.returncode != 0:
    print("PostgreSQL: skipped,", up.stderr.strip().splitlines()[-1] if up.stderr else "no server")
else:
    try:
        url = up.stdout.strip()
        kill_often(url, files)
        subprocess.run([pawl, "results", "purge", str(files[0][1]), "--reason", "x", "--store", url], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["psql", url, "-qc", "CREATE DATABASE two"], check=True, env=os.environ)
        two_at_once(url.replace("/postgres?", "/two?"), files)
    finally:
        subprocess.run([server, "down", place], check=False)
