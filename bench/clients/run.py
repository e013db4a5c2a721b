#!/usr/bin/env python3
"""Measures LLM load clients against a server whose every send is stamped (README.md).

  bench/clients/run.py --quick                                   A and E; floor, ours, vllm-rs; at most 5 minutes
  bench/clients/run.py --full                                    every regime, every client, three runs each: hours; resumable
  bench/clients/run.py --regimes A,D --clients pawl,vllm-rs      single cells
  bench/clients/run.py --table                                   only print what the state file holds
"""
import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import clients as known
import stamps
import targets
from pages import check_marks, machine, write_between

# name: (streams, ITL in ms, one tick, tokens a request, rounds of requests)
REGIMES = {
    "L": (64, 100, False, 32, 6),
    "A": (256, 25, False, 128, 6),
    "B": (256, 25, True, 128, 6),
    "C": (1000, 50, False, 64, 6),
    "D": (1000, 25, False, 128, 6),
    "E": (4000, 100, False, 32, 6),
}
QUICK = (("A", "E"), ("floor-user", "floor-kernel", "floor-gathered", "pawl", "pawl-no-records", "vllm-rs"))
QUICK_ROUNDS = 5
# Overloaded clients slow the load down: what they need at most, in multiples of the ideal time.
PATIENCE = 12
SERVER = known.ROOT / "build/release/bin/stamp_server"


def process_clock(pid):
    """CPU time in s that a process has used, of all its threads: the clock of clock_getcpuclockid(3)."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return None


def tree(pid):
    """A process and all that descend from it."""
    out, todo = [], [pid]
    while todo:
        one = todo.pop()
        out.append(one)
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children") as f:
                    todo += [int(child) for child in f.read().split()]
        except OSError:
            pass
    return out


def resident_mb(pid, field):
    """VmRSS (now) or VmHWM (at most, since exec) of one process."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((int(line.split()[1]) / 1024 for line in f if line.startswith(field)), 0.0)
    except OSError:
        return 0.0


class Watch(threading.Thread):
    """Samples CPU time and resident memory of a client and its children five times a second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.over = pid, threading.Event()
        self.cpu, self.samples, self.rss_mb = {}, [(time.monotonic_ns(), 0.0)], 0.0

    def sample(self):
        pids = tree(self.pid)
        for pid in pids:
            used = process_clock(pid)
            if used is not None:
                self.cpu[pid] = max(used, self.cpu.get(pid, 0.0))
        resident = resident_mb(pids[0], "VmHWM") if len(pids) == 1 else sum(resident_mb(pid, "VmRSS") for pid in pids)
        self.rss_mb = max(self.rss_mb, resident)
        self.samples.append((time.monotonic_ns(), sum(self.cpu.values())))

    def run(self):
        while not self.over.wait(0.2):
            self.sample()

    def cpu_between(self, begin, end):
        """CPU time in s from one moment to another, by linear interpolation; None without samples on both sides."""

        def at(moment):
            before = None
            for when, used in self.samples:
                if when >= moment:
                    if before is None:
                        return used
                    share = (moment - before[0]) / (when - before[0])
                    return before[1] + share * (used - before[1])
                before = (when, used)
            return before[1] if before else None

        first, last = at(begin), at(end)
        return None if first is None or last is None else last - first


def start_server(regime, truth, core, tls, check):
    streams, itl_ms, one_tick, tokens, _ = REGIMES[regime]
    argv = [SERVER, "--itl-ms", itl_ms, "--truth", truth, "--core", core, "--label", regime, "--tokens", tokens]
    argv += ["--one-tick"] if one_tick else []
    argv += ["--check-every", check] if check else []
    argv += ["--tls-cert", tls / "cert.pem", "--tls-key", tls / "key.pem"] if tls else []
    server = subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    if "listening on" not in line:
        raise SystemExit(f"run.py: {SERVER} did not start")
    return server, int(line.rsplit(":", 1)[1])


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    return folder


def end_group(pid):
    """Ends whatever a client may have left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def measure(regime, client, options, rounds=None):
    """One cell: the row for the state file."""
    streams, itl_ms, one_tick, tokens, default_rounds = REGIMES[regime]
    rounds = rounds or default_rounds
    requests = streams * rounds
    ideal_s = rounds * (0.2 + itl_ms / 1e3 * (tokens - (0.5 if not one_tick else 0.0)))
    row = {"regime": regime, "client": client.name, "version": client.version, "tls": options.tls, "streams": streams, "requests": requests, "tokens": tokens}
    with tempfile.TemporaryDirectory(prefix="pawl-clients-") as scratch, contextlib.ExitStack() as undo:
        scratch = Path(scratch)
        tls = certificate(scratch) if options.tls else None
        truth_path = scratch / "truth.stamps"
        server, port = start_server(regime, truth_path, options.server_core, tls, options.check_every)
        undo.callback(server.kill)
        load = known.Load(port=port, streams=streams, requests=requests, tokens=tokens, out=scratch / "client", tls=options.tls)
        load.out.mkdir()
        argv = [str(a) for a in client.command(load)]
        environment = {**os.environ, **client.environment(load)}
        environment.update({"SSL_CERT_FILE": str(tls / "cert.pem")} if tls else {})

        with open(scratch / "stdout", "w+") as stdout, open(scratch / "stderr", "w+") as stderr:
            # The child inherits core and limits: a preexec_fn would make it a fork of this interpreter, and that would count as the client's.
            os.sched_setaffinity(0, {options.client_core})
            process = subprocess.Popen(argv, stdout=stdout, stderr=stderr, cwd=load.out, env=environment, start_new_session=True)
            os.sched_setaffinity(0, {options.server_core})
            undo.callback(end_group, process.pid)
            watch = Watch(process.pid)
            watch.start()
            limit = time.monotonic() + 60 + PATIENCE * ideal_s
            status = None
            while status is None and time.monotonic() < limit:
                pid, code, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    status, process.returncode = os.waitstatus_to_exitcode(code), 0
                else:
                    time.sleep(0.05)
            watch.over.set()
            watch.join()
            if status is None:
                end_group(process.pid)
                os.wait4(process.pid, 0)
                process.returncode = -9
            server.send_signal(signal.SIGTERM)
            server.wait(60)
            stdout.seek(0)
            stderr.seek(0)
            text, errors = stdout.read(), stderr.read()
        row["exit"] = status
        if status is None:
            return {**row, "failed": f"not done after {60 + PATIENCE * ideal_s:.0f} s"}
        meta, truth = stamps.read(truth_path)
        events = meta["events"]
        row |= {"events": events, "server_late_p99_us": meta["late_us"] and meta["late_us"]["p99"], "send_to_wire_us": meta["send_to_wire_us"],
                "server_queued": meta["queued_events"], "server_user_stamped": meta["user_stamped_arrivals"]}
        try:
            said = client.said(load, text)
            row |= stamps.compare(truth, said, streams) if isinstance(said, list) else stamps.compare_printed(truth, said)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            return {**row, "failed": f"exit {status}, no result: {error!r}: {(errors or text)[-500:]}"}
        first, last = min(r.start for r in truth.values()), max(r.done or r.start for r in truth.values())
        total = max(usage.ru_utime + usage.ru_stime, sum(watch.cpu.values()))
        loaded = watch.cpu_between(first, last)
        row |= {"duration_s": (last - first) / 1e9, "load_delivered": stamps.load_delivered(truth, streams),
                "cpu_s": total, "cpu_s_per_million": total / events * 1e6, "cpu_s_outside_load": total - loaded if loaded is not None else None,
                "cpu_s_per_million_in_load": loaded / events * 1e6 if loaded is not None else None,
                "rss_mb": watch.rss_mb, "voluntary_switches": usage.ru_nvcsw, "involuntary_switches": usage.ru_nivcsw}
        if options.keep:
            kept = Path(options.keep) / f"{regime}-{client.name}{'-tls' if options.tls else ''}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(scratch, kept)
    return row


def median_rows(rows):
    """One row a cell: the median of each number over the runs."""
    cells = {}
    for row in rows:
        if "failed" not in row:
            cells.setdefault((row["regime"], row["client"], row["tls"]), []).append(row)
    out = []
    for same in cells.values():
        merged = {"runs": len(same)}
        for key in same[-1]:
            values = [r[key] for r in same if isinstance(r.get(key), (int, float)) and not isinstance(r.get(key), bool)]
            merged[key] = stamps.quantile(values, 0.5) if values else same[-1][key]
        out.append(merged)
    return out


def shown(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def table(rows):
    """The tables of all regimes and what is held of the targets, as Markdown."""
    order = [c.name for c in known.all_clients()]
    merged = median_rows(rows)
    out = []
    for tls in (False, True):
        for regime in REGIMES:
            here = sorted((r for r in merged if r["regime"] == regime and r["tls"] == tls), key=lambda r: order.index(r["client"]) if r["client"] in order else 99)
            if not here:
                continue
            streams, itl_ms, one_tick, tokens, _ = REGIMES[regime]
            out.append(f"\n**{regime}{' over TLS' if tls else ''}**: {streams:,} streams, ITL {itl_ms} ms{', one tick' if one_tick else ''}, {tokens} tokens a request\n")
            out.append("| client | runs | TTFT error mean / p99, ms | after the opening burst | gap error p50 / p99, ms | CPU-s per 10⁶ events: all / in the load | CPU-s outside | load | RSS, MB |")
            out.append("|---|---|---|---|---|---|---|---|---|")
            for r in here:
                mark = " (printed)" if r.get("printed_only") else ""
                out.append(f"| {r['client']} | {r['runs']} | {shown(r.get('ttft_error_mean_ms'), 3)} / {shown(r.get('ttft_error_p99_ms'), 3)}{mark} "
                           f"| {shown(r.get('ttft_error_after_mean_ms'), 3)} / {shown(r.get('ttft_error_after_p99_ms'), 3)} "
                           f"| {shown(r.get('gap_error_p50_ms'), 3)} / {shown(r.get('gap_error_p99_ms'), 3)} "
                           f"| {shown(r.get('cpu_s_per_million'), 1)} / {shown(r.get('cpu_s_per_million_in_load'), 1)} | {shown(r.get('cpu_s_outside_load'), 2)} "
                           f"| {shown(r['load_delivered'] and 100 * r['load_delivered'], 1)} % | {shown(r['rss_mb'], 0)} |")
        checked = targets.check([r for r in merged if r["tls"] == tls])
        if checked:
            out.append(f"\nWhat our client is held to{' over TLS' if tls else ''}:\n")
            out += [f"- {'holds' if holds else 'cannot be said' if holds is None else '**does not hold**'}: {text}" for holds, text in checked]
    out += [f"\n{row['regime']} {row['client']}: {row['failed']}" for row in rows if "failed" in row]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--regimes", help=f"of {','.join(REGIMES)}")
    parser.add_argument("--clients", help="names, comma-separated: " + ",".join(c.name for c in known.all_clients()))
    parser.add_argument("--runs", type=int, help="of each cell (default: 1; --full: 3)")
    parser.add_argument("--rounds", type=int, help="requests a stream (default: by regime)")
    parser.add_argument("--state", type=Path, help="file of finished cells, one JSON a line; cells in it are not measured again")
    parser.add_argument("--tls", action="store_true", help="over TLS; clients that cannot are left out")
    parser.add_argument("--check-every", type=int, default=0, help="have the server ask the kernel when every Nth event left")
    parser.add_argument("--write", type=Path, help="page to put the tables into, between its marks (docs/bench-clients.md)")
    parser.add_argument("--keep", help="folder for all files of each cell")
    parser.add_argument("--server-core", type=int, default=0)
    parser.add_argument("--client-core", type=int, default=1)
    options = parser.parse_args()

    if options.write:
        check_marks(options.write, "clients")
    if options.full and not options.state:
        options.state = known.ROOT / "build/clients-full.jsonl"
    rows = []
    if options.state and options.state.exists():
        rows = [json.loads(line) for line in options.state.read_text().splitlines() if line.strip()]
    if options.table:
        if not rows:
            parser.error("--table needs --state with a file of finished cells")
        print(table(rows))
        if options.write:
            write_between(options.write, "clients", f"{machine()}.\n{table(rows)}")
        return 0
    if not (options.quick or options.full or options.regimes or options.clients):
        parser.error("say --quick, --full, or which --regimes and --clients")
    if not SERVER.exists():
        parser.error(f"{SERVER} is not built: cmake --build build/release --target stamp_server bare_loop pawl")
    if not {options.server_core, options.client_core} <= os.sched_getaffinity(0):
        parser.error(f"this process may run on cores {sorted(os.sched_getaffinity(0))} only; see --server-core and --client-core")
    regimes, names = QUICK if options.quick else (tuple(REGIMES), tuple(c.name for c in known.all_clients()))
    regimes = options.regimes.split(",") if options.regimes else regimes
    names = options.clients.split(",") if options.clients else names
    for unknown in set(regimes) - set(REGIMES):
        parser.error(f"there is no regime {unknown}")
    clients = {c.name: c for c in known.all_clients()}
    for unknown in set(names) - set(clients):
        parser.error(f"there is no client {unknown}")
    runs = options.runs or (3 if options.full else 1)

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    on = machine()
    print(on, flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that server and client end with it
    done = {}
    for row in rows:
        cell = (row["regime"], row["client"], row["tls"])
        done[cell] = done.get(cell, 0) + 1
    for name in names:
        why = clients[name].missing() or ("no TLS without a known certificate" if options.tls and not clients[name].tls else None)
        if why:
            print(f"{name}: left out: {why}")
            names = [n for n in names if n != name]
    for run in range(1, runs + 1):
        for regime in regimes:
            for name in names:
                if run <= done.get((regime, name, options.tls), 0):
                    continue
                if not options.regimes and clients[name].regimes and regime not in clients[name].regimes:
                    continue
                print(f"run {run} of {runs}, {regime}, {name} … ", end="", flush=True)
                begun = time.monotonic()
                row = measure(regime, clients[name], options, options.rounds or (QUICK_ROUNDS if options.quick else None))
                print(row.get("failed") or f"{time.monotonic() - begun:.0f} s, TTFT error {shown(row['ttft_error_mean_ms'], 3)} ms, "
                      f"{shown(row['cpu_s_per_million'], 1)} CPU-s per 10⁶ events")
                rows.append(row)
                if options.state:
                    options.state.parent.mkdir(parents=True, exist_ok=True)
                    with open(options.state, "a") as state:
                        state.write(json.dumps(row) + "\n")
    print(table(rows))
    if options.write:
        write_between(options.write, "clients", f"{on}.\n{table(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
