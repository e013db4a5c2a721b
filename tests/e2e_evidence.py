"""What is read from engines' logs: faults that were planted are found, and nothing else; reading goes on where it stopped."""
import contextlib
import gzip
import json

from pawl_e2e import free_port, get, prove, run, run_json, running, scratch, wait_for

PLANTED = """faults:
  - kind: log-line
    at: start
    text: "[2026-01-02 03:04:05] WARNING: '--planted-flag' is deprecated, use '--planted-successor' instead."
  - kind: log-line
    after_requests: 6
    text: |-
      [2026-01-02 03:04:06 TP0] worker caught: Traceback (most recent call last):
        File "planted.py", line 7, in step
          raise ValueError("planted")
      ValueError: planted
  - {kind: overload, after_requests: 10}
"""

with scratch() as tmp:
    pawl = tmp / "pawl"

    @contextlib.contextmanager
    def engine(log, profile, faults=None):
        port = free_port()
        args = ["--port", port, "--profile", profile, "--served-model-name", "demo"]
        if faults:
            (tmp / "faults.yaml").write_text(faults)
            args += ["--faults", tmp / "faults.yaml"]
        with running(pawl, "twin", *args, log=log):
            url = f"http://127.0.0.1:{port}"
            wait_for("the twin to be healthy", lambda: get(f"{url}/health")[0] == 200, 30)
            yield url

    def one_run(name, profile, faults=None):
        folder = tmp / name
        folder.mkdir()
        with engine(folder / "server.log", profile, faults) as url:
            run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 1, "--requests", 12, "--warmups", 0, "--isl", 16, "--osl", 4, status=None)
            (folder / "server.metrics").write_text(get(f"{url}/metrics")[2])
        return folder / "server.log"

    old = one_run("old", "generic-old")
    clean = one_run("clean", "generic-old")
    faulty = one_run("faulty", "generic-old", PLANTED)

    def found(log, *args, status):
        document = run_json(pawl, "evidence", log, *args, schema="pawl.evidence/1", status=status)
        assert len(document["logs"]) == 1
        return document["logs"][0]

    def a_clean_run_has_no_findings():
        read = found(clean, "--against", old, status=0)
        assert read["findings"] == [], read["findings"]
        assert read["difference"]["notices_new"] == [] and read["difference"]["deprecations_new"] == [], read["difference"]
        assert read["evidence"]["engine"] == "sglang" and read["evidence"]["ready"]["line"] > 1
        facts = {fact["name"]: fact["value"] for fact in read["evidence"]["facts"]}
        assert int(facts["kv_tokens"]) > 1000, facts
        assert read["evidence"]["http_after_ready"]["200"] >= 12, read["evidence"]["http_after_ready"]

    def exactly_what_was_planted_is_found():
        read = found(faulty, "--against", old, status=1)
        assert sorted(f["kind"] for f in read["findings"]) == ["deprecation", "http-error", "traceback"], read["findings"]
        by_kind = {f["kind"]: f for f in read["findings"]}
        assert "--planted-flag" in by_kind["deprecation"]["text"]
        assert by_kind["traceback"]["text"] == "TP0: ValueError: planted"
        assert by_kind["http-error"]["text"] == "503 for POST /v1/completions" and by_kind["http-error"]["count"] >= 1
        new = read["difference"]["deprecations_new"][0]
        assert (new["old_name"], new["new_name"]) == ("--planted-flag", "--planted-successor"), new
        text = run(pawl, "evidence", faulty, "--against", old, status=1).stdout
        assert "--planted-flag → --planted-successor" in text, text

    def reading_goes_on_where_it_stopped():
        whole = found(faulty, status=1)["evidence"]
        growing, state = tmp / "growing.log", tmp / "growing.state"
        content = faulty.read_bytes()
        for part in range(1, 6):
            growing.write_bytes(content[: len(content) * part // 5])
            read = found(growing, "--state", state, status=None)["evidence"]
        assert read == whole
        assert json.loads(state.read_text())["evidence"]["bytes"] == len(content)
        growing.write_bytes(b"another beginning\n" + content)
        assert found(growing, "--state", state, status=1)["evidence"]["lines"] == whole["lines"] + 1

    def packed_logs_and_folders_are_read_too():
        packed = tmp / "packed"
        packed.mkdir()
        (packed / "prefill_0.log.gz").write_bytes(gzip.compress(clean.read_bytes()))
        (packed / "decode_0.log").write_bytes(clean.read_bytes())
        document = run_json(pawl, "evidence", packed, schema="pawl.evidence/1")
        assert [log["role"] for log in document["logs"]] == ["decode", "prefill"]
        assert document["logs"][0]["evidence"] == document["logs"][1]["evidence"]

    def what_is_no_log_is_refused():
        assert "not the number of a run" in run(pawl, "evidence", tmp / "nowhere.log", status=3).stderr
        empty = tmp / "empty"
        empty.mkdir()
        assert "holds no log" in run(pawl, "evidence", empty, status=3).stderr
        broken = tmp / "broken.log.gz"
        broken.write_bytes(gzip.compress(clean.read_bytes())[:-20])
        assert "broken.log.gz" in run(pawl, "evidence", broken, status=3).stderr

    prove(a_clean_run_has_no_findings, exactly_what_was_planted_is_found, reading_goes_on_where_it_stopped, packed_logs_and_folders_are_read_too,
          what_is_no_log_is_refused)
