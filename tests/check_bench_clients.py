"""bench/clients: files of stamps are read as written down, and errors against the truth are computed as its README says."""
import json
import struct
import subprocess
import sys

from pawl_e2e import ROOT, prove, scratch

sys.path[:0] = [str(ROOT / "bench/clients"), str(ROOT / "bench/clients/engines")]
import pages  # noqa: E402
import stamps  # noqa: E402
import targets  # noqa: E402
import tap  # noqa: E402


def record(at_ns, request, event, kind, flags=0, value=0):
    return struct.pack("<qIIHHI", at_ns, request, event, kind, flags, value)


def write(path, meta, records):
    text = json.dumps(meta).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(b"PAWLSTMP" + struct.pack("<II", 1, len(text)) + text + b"".join(records))


def name(request, text):
    raw = text.encode()
    return record(0, request, 0, 4, value=len(raw)) + raw + b"\0" * (-len(raw) % 24)


MS = 1_000_000

with scratch() as tmp:

    def two_requests_with_long_and_short_names():
        path = tmp / "truth.stamps"
        write(path, {"program": "stamp_server"}, [
            record(10 * MS, 0, 0, 1, value=5), name(0, "a" * 24), record(20 * MS, 1, 0, 1), name(1, "short"),
            record(30 * MS, 0, 0, 2), record(42 * MS, 0, 1, 2, flags=2), record(43 * MS, 0, 0, 3), record(50 * MS, 1, 0, 2), record(51 * MS, 1, 0, 3)])
        meta, requests = stamps.read(path)
        assert meta == {"program": "stamp_server"} and list(requests) == [0, 1], (meta, requests)
        assert (requests[0].name, requests[1].name, requests[0].connection, requests[0].flags) == ("a" * 24, "short", 5, 2)
        assert requests[0].ttft_ms == 20 and requests[0].gaps_ms == [12] and requests[1].done == 51 * MS

    def a_broken_file_is_refused():
        path = tmp / "broken.stamps"
        for records, says in (([record(0, 0, 1, 2)], "event 1 follows 0"), ([record(0, 0, 0, 9)], "unknown kind 9")):
            write(path, {}, records)
            try:
                stamps.read(path)
            except ValueError as error:
                assert says in str(error), error
            else:
                raise AssertionError("taken")
        path.write_bytes(b"{}")
        try:
            stamps.read(path)
        except ValueError as error:
            assert "not a file of stamps" in str(error)
        else:
            raise AssertionError("taken")

    def errors_are_signed_in_the_mean_and_absolute_in_the_tail():
        truth = {n: stamps.Request(start=n * MS, events=[(n + 100) * MS, (n + 110) * MS], done=(n + 111) * MS, name=f"id{n}") for n in range(4)}
        said = [stamps.Said(("name", "id0"), 103.0, [9.0]), stamps.Said(("text", 1), 99.0, [10.5]), stamps.Said(("name", "id2"), 101.0, [10.0, 1.0]),
                stamps.Said(("name", "nobody"), 1.0)]
        got = stamps.compare(truth, said, streams=1)
        assert (got["joined"], got["unmatched"], got["gap_lists_of_other_length"]) == (3, 1, 1), got
        assert got["ttft_error_mean_ms"] == 1.0 and abs(got["ttft_error_p99_ms"] - 2.96) < 1e-9, got  # errors 3, -1, 1
        assert got["ttft_error_after_mean_ms"] == 0.0 and got["ttft_error_after_p99_ms"] == 1.0, got
        assert got["gap_error_p50_ms"] == 0.75 and abs(got["gap_error_p99_ms"] - 0.995) < 1e-9, got

    def load_counts_answers_in_work_after_the_opening():
        # Two streams; the second refill comes 50 ms late: between 0 and 250 ms, 450 of 500 stream-ms were busy.
        spans = [(0, 100), (0, 150), (100, 250), (200, 300), (250, 350)]
        truth = {n: stamps.Request(start=a * MS, events=[b * MS], done=b * MS) for n, (a, b) in enumerate(spans)}
        assert abs(stamps.load_delivered(truth, 2) - 0.9) < 1e-9

    def the_witness_reads_requests_and_events_from_packets():
        witness = tap.Tap.__new__(tap.Tap)  # without the socket, which needs root
        witness.port, witness.answers, witness.connections = 80, [], {}
        sequence = {5000: 100, 80: 900}

        def passes(at, source, payload, flags=0x10, again=False):
            target = 80 if source == 5000 else 5000
            tcp = struct.pack(">HHIIBBHHH", source, target, sequence[source], 0, 5 << 4, flags, 0, 0, 0) + payload
            ip = struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0, 0x7F000001, 0x7F000001)
            witness.packet(at * MS, ip + tcp)
            sequence[source] += 0 if again else len(payload)

        body = b'{"prompt": [1]}'
        passes(1, 5000, b"", flags=2)
        passes(2, 5000, b"POST /v1/completions HTTP/1.1\r\nX-Request-Id: one\r\nContent-Length: 15\r\n\r\n" + body[:4])
        passes(3, 5000, body[4:])
        passes(9, 80, b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        passes(10, 80, b'20\r\ndata: {"choices":[{"text":""}]}\n\n\r\n')
        passes(12, 80, b'20\r\ndata: {"choices":[{"te')
        passes(15, 80, b'xt":"a"}]}\n\n\r\n', again=True)
        passes(16, 80, b'xt":"a"}]}\n\n\r\n')  # the same bytes: sent twice
        passes(20, 80, b'20\r\ndata: {"choices":[{"delta":{"content":"b"}}],"nvext":{"timing":{"ttft_ms":5}}}\n\n\r\n'
                       b'9\r\ndata: {"choices":[],"usage":{"completion_tokens":2}}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n')
        (answer,) = witness.answers
        assert (answer.name, answer.opened, answer.sent) == ("one", 1 * MS, 3 * MS), answer
        assert (answer.first_choice, answer.first_text, answer.last_text, answer.done) == (10 * MS, 15 * MS, 20 * MS, 20 * MS), answer
        assert (answer.text_events, answer.usage, answer.server_timing, answer.unread) == (2, {"completion_tokens": 2}, {"ttft_ms": 5}, 0), answer

    def targets_name_what_does_not_hold():
        row = {"regime": "C", "streams": 1000, "rss_mb": 31, "ttft_error_mean_ms": 0.06, "ttft_error_p99_ms": 0.09, "ttft_error_after_mean_ms": -0.011,
               "gap_error_p50_ms": 0.001, "gap_error_p99_ms": None}
        cost = lambda client, cpu: {**row, "client": client, "cpu_s_per_million_in_load": cpu}  # noqa: E731
        checked = targets.check([cost("pawl", 6.0), cost("vllm-rs", 13.0), cost("floor-kernel", 8.0), cost("pawl-ungathered", 10.0), cost("sglang", 40.0),
                                 cost("vllm-python", 29.0)])
        assert [holds for holds, _ in checked] == [False, True, False, True, None, False, False, True, False], checked
        assert "1.25 (at most 1.15)" in checked[6][1] and "vllm-python, the best in Python, ÷ ours: 4.83" in checked[8][1], checked

    def tables_go_between_the_marks_of_a_page():
        page = tmp / "page.md"
        page.write_text("a\n<!-- t -->\nold\n<!-- end of t -->\nb\n")
        pages.write_between(page, "t", "\nnew\n")
        assert page.read_text() == "a\n<!-- t -->\nnew\n<!-- end of t -->\nb\n"

    def server_and_bare_loop_write_down_the_same_events():
        tools = [ROOT / "build/release/bin" / name for name in ("stamp_server", "bare_loop")]
        if not all(tool.exists() for tool in tools):
            print("  not checked: stamp_server and bare_loop are not built (cmake --build build/release --target stamp_server bare_loop)")
            return
        for one_tick, client in (([], ["--stamps", "user"]), (["--one-tick"], ["--stamps", "kernel", "--gather-us", "1000"])):
            server = subprocess.Popen([tools[0], "--itl-ms", "2", "--ttft-ms", "10", "--truth", tmp / "t.stamps", *one_tick], stdout=subprocess.PIPE, text=True)
            port = server.stdout.readline().rsplit(":", 1)[1].strip()
            subprocess.run([tools[1], "--port", port, "--streams", "8", "--requests", "20", "--tokens", "6", "--output", tmp / "c.stamps", *client],
                           check=True, capture_output=True, timeout=60)
            server.terminate()
            assert server.wait(30) == 0
            (meta, truth), (_, said) = stamps.read(tmp / "t.stamps"), stamps.read(tmp / "c.stamps")
            assert (meta["requests"], meta["events"], meta["peak_streams"], meta["one_tick"]) == (20, 120, 8, bool(one_tick)), meta
            got = stamps.compare(truth, [stamps.Said(("name", str(n)), r.ttft_ms, r.gaps_ms) for n, r in said.items()], 8)
            assert (got["joined"], got["unmatched"], got["gap_lists_of_other_length"]) == (20, 0, 0), got
            assert all(len(r.events) == 6 and sorted(r.events) == r.events and r.start <= r.events[0] and r.done >= r.events[-1] for r in truth.values())

    def quantiles_are_those_of_numpy():
        assert stamps.quantile([4, 1, 3, 2], 0.5) == 2.5 and stamps.quantile([], 0.5) is None and stamps.quantile([7], 0.99) == 7

    prove(two_requests_with_long_and_short_names, a_broken_file_is_refused, errors_are_signed_in_the_mean_and_absolute_in_the_tail,
          load_counts_answers_in_work_after_the_opening, the_witness_reads_requests_and_events_from_packets, targets_name_what_does_not_hold,
          tables_go_between_the_marks_of_a_page, server_and_bare_loop_write_down_the_same_events, quantiles_are_those_of_numpy)
