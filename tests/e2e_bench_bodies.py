"""What pawl bench puts into its bodies, seen by a server that keeps them: own keys, tools, echo, paired points, live replies of sessions."""
import http.server
import json
import threading

from pawl_e2e import prove, run, run_json, scratch

WORDS = [" one", " two", " three"]


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies, self.lock = [], threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self):
        with self.lock:
            taken, self.bodies = self.bodies, []
        return taken


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"data": [{"id": "demo"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
        chat = self.path.endswith("chat/completions")
        parts = ([body["prompt"]] if body.get("echo") else []) + WORDS
        events = [{"choices": [{"index": 0, "delta": {"content": p}} if chat else {"index": 0, "text": p}]} for p in parts]
        events[-1]["choices"][0]["finish_reason"] = "length"
        events.append({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": len(WORDS)}})
        text = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


with scratch() as tmp:
    pawl, server = tmp / "pawl", Server()

    def bench(*args, requests=4):
        server.take()
        # Whether so short a run is worth anything is not the question here: any verdict, any status.
        result = run_json(pawl, "bench", "--url", server.url, "--model", "demo", "--warmups", 0, "--osl", 3, "--requests", requests, *args, status=None)
        return result, [b for b in server.take()]

    def own_keys_go_over_those_that_are_built_in():
        result, bodies = bench("--concurrency", 2, "--isl", 8, "--extra-body", '{"temperature": 0.25, "top_k": 5, "nested": {"a": [1]}}')
        assert result["counts"]["ok"] == 4, result["failures"]
        assert all(b["temperature"] == 0.25 and b["top_k"] == 5 and b["nested"] == {"a": [1]} and b["stream"] is True for b in bodies), bodies[0]
        (tmp / "extra.json").write_text('{"top_k": 9}')
        assert bench("--concurrency", 1, "--isl", 8, "--extra-body", f"@{tmp / 'extra.json'}")[1][0]["top_k"] == 9
        refused = run(pawl, "bench", "--url", server.url, "--model", "demo", "--concurrency", 1, "--isl", 8, "--osl", 2, "--extra-body", "[1]", status=None)
        assert refused.returncode in (2, 3) and "--extra-body" in refused.stderr, refused

    def tools_are_sent_with_every_chat():
        tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
        (tmp / "tools.json").write_text(json.dumps(tools))
        result, bodies = bench("--backend", "openai-chat", "--concurrency", 2, "--isl", 8, "--tools", tmp / "tools.json")
        assert result["counts"]["ok"] == 4 and len(bodies) == 4 and all(b["tools"] == tools and b["messages"] for b in bodies), bodies[0]

    def what_a_server_repeats_is_no_output():
        plain, _ = bench("--concurrency", 1, "--isl", 8, "--prompt-form", "text")
        echoed, bodies = bench("--concurrency", 1, "--isl", 8, "--prompt-form", "text", "--echo")
        assert all(b["echo"] is True for b in bodies), bodies[0]
        assert echoed["counts"]["ok"] == plain["counts"]["ok"] == 4 and echoed["total_output_tokens"] == plain["total_output_tokens"] == 12, echoed
        assert "echo_suspected" not in echoed["flags"], echoed["flags"]
        assert "--prompt-form text" in run(pawl, "bench", "--url", server.url, "--model", "demo", "--concurrency", 1, "--isl", 8, "--osl", 2, "--echo", status=2).stderr

    def points_have_prompts_of_their_own_unless_they_are_paired():
        def prompts(*more):
            document, bodies = bench("--sweep-concurrency", "1,2", "--isl", 16, *more)
            assert len(bodies) == 8, len(bodies)
            return document["prompts"], sorted(map(str, (b["prompt"] for b in bodies[:4]))), sorted(map(str, (b["prompt"] for b in bodies[4:])))
        kind, first, second = prompts()
        assert kind == "own" and not set(first) & set(second), kind
        kind, first, second = prompts("--paired")
        assert kind == "paired" and first == second, kind

    def a_later_turn_holds_the_live_reply():
        talks = [{"conversations": [{"from": "human", "value": f"question {i} about the harbour"}, {"from": "gpt", "value": "an old reply of some words"},
                                    {"from": "human", "value": f"and what of the lighthouse, number {i}?"}, {"from": "gpt", "value": "another old reply of words"}]}
                 for i in range(3)]
        (tmp / "talks.json").write_text(json.dumps(talks))
        result, bodies = bench("--backend", "openai-chat", "--dataset", "sessions", "--dataset-path", tmp / "talks.json", "--concurrency", 2, requests=3)
        later = [b for b in bodies if len(b["messages"]) > 1]
        assert result["counts"]["ok"] == len(bodies) == 6 and len(later) == 3, (result["counts"], [len(b["messages"]) for b in bodies])
        assert all(b["messages"][1] == {"role": "assistant", "content": "".join(WORDS)} for b in later), later[0]

    prove(own_keys_go_over_those_that_are_built_in, tools_are_sent_with_every_chat, what_a_server_repeats_is_no_output,
          points_have_prompts_of_their_own_unless_they_are_paired, a_later_turn_holds_the_live_reply)
