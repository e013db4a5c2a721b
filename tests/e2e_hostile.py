"""Requests of people who mean no good, to a server with a token: each is refused within the stated limits, and the server goes on."""
import io
import json
import socket
import zipfile

from pawl_e2e import get, prove, run_json, running, scratch, wait_for

with scratch() as tmp:
    pawl, db, log = tmp / "pawl", tmp / "r.db", tmp / "serve.json"
    token = run_json(pawl, "store", "token", "create", "--name", "t", "--store", db)["token"]
    with running(pawl, "serve", "--store", db, "--artifacts", tmp, "--port", 0, "--json", log=log) as server:
        base = wait_for("the address", lambda: log.read_text().strip() and json.loads(log.read_text())["url"], 20).rstrip("/")
        port = int(base.rsplit(":", 1)[1])

        def raw(text, timeout=100):
            """The first line of the answer to bytes as they are; "" when the connection is closed without one."""
            with socket.create_connection(("127.0.0.1", port), timeout) as s:
                s.sendall(text if isinstance(text, bytes) else text.encode())
                try:
                    return s.recv(4096).split(b"\r\n")[0].decode(errors="replace")
                except ConnectionResetError:
                    return ""

        def ask(target, method="GET", fields="", body=b""):
            return raw(f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}\r\n".encode() + body)

        def ingest(body):
            return ask("/api/v1/ingest?run=5&date=2026-11-30", "POST", f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n", body)

        def zipped(members):
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
                for name, content in members.items():
                    z.writestr(name, content)
            return out.getvalue()

        def paths_lead_nowhere():
            for target in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/v1/../../r.db", "/r.db", "/api/unofficial-run/../../r.db", "//etc/passwd", "/cr/../1"):
                assert " 404 " in ask(target) or " 400 " in ask(target), (target, ask(target))
            for run in ("..", "../..", "1/../..", "%2e%2e", "1%00", "1,..", "-1"):
                assert " 400 " in ask(f"/api/unofficial-run?runId={run}"), run
            assert " 400 " in ask("/api/v1/benchmarks?model=%00") and " 400 " in ask("/api/v1/benchmarks?model=%ff%fe") and " 400 " in ask("/api/v1/benchmarks?model=%")

        def large_requests_are_refused():
            assert " 414 " in ask("/api/v1/benchmarks?" + "&".join(f"a{i}=1" for i in range(65)))
            assert " 414 " in ask("/api/v1/benchmarks?model=" + "x" * 9000)
            assert " 431 " in ask("/", fields="X: " + "y" * 40000 + "\r\n")
            assert " 413 " in ask("/api/v1/ingest", "POST", "Content-Length: 70000000\r\n")
            assert " 400 " in ask("/api/v1/log-availability?ids=" + ",".join(str(i) for i in range(1, 600)))

        def what_is_no_request_is_refused():
            for text in ("GET\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                         "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"):
                assert " 200 " not in raw(text), text
            assert " 405 " in ask("/", "DELETE") and " 405 " in ask("/api/v1/benchmarks", "POST", "Content-Length: 0\r\n") and " 405 " in ask("/api/v1/ingest")

        def archives_are_refused_or_counted():
            assert " 400 " in ingest(b"PK\x03\x04 and no more") and " 400 " in ingest(b"")
            inner = zipped({"r.json": b" " * (60 << 20)})
            bomb = zipped({f"bmk_{i}.zip": inner for i in range(25)})  # 1.5 GB in 1 MB
            assert len(bomb) < 2 << 20 and " 400 " in ingest(bomb)
            assert " 400 " in ingest(zipped({"bmk_a/r.json": "[" * 200000})) and " 400 " in ingest(zipped({"../../bmk_a/r.json": "[]"}))
            assert " 401 " in ask("/api/v1/ingest?run=1", "POST", f"Authorization: Bearer {token}x\r\nContent-Length: 0\r\n")
            assert " 401 " in ask("/api/v1/invalidate", "POST", "Authorization: Bearer \u00e9\u00e9\r\nContent-Length: 0\r\n")

        def many_idle_connections_leave_room():
            idle = []
            for _ in range(400):
                idle.append(socket.create_connection(("127.0.0.1", port), 10))
                idle[-1].sendall(b"GET /healthz HTT")  # a sender that never ends
            assert get(f"{base}/healthz")[0] == 200
            for s in idle:
                s.close()

        def the_server_goes_on_and_holds_nothing():
            assert get(f"{base}/healthz")[0] == 200 and server.poll() is None
            assert json.loads(get(f"{base}/api/v1/availability")[2]) == []
            assert run_json(pawl, "store", "verify", "--store", db)["sound"]
            rss = next(int(line.split()[1]) for line in open(f"/proc/{server.pid}/status") if line.startswith("VmHWM"))
            assert rss < 1_600_000, rss  # kB; 1 GiB of artifacts at once, and no more
            assert "500" not in [line.split('status="')[1][:3] for line in get(f"{base}/metrics")[2].splitlines() if 'status="' in line]

        prove(paths_lead_nowhere, large_requests_are_refused, what_is_no_request_is_refused, archives_are_refused_or_counted, many_idle_connections_leave_room,
              the_server_goes_on_and_holds_nothing)
