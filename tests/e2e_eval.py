"""Evals by hand against a simulated engine: scored, kept, gone on with, compared; what is no score is none."""
import contextlib
import json
import signal
import subprocess

from pawl_e2e import ENV, free_port, get, prove, run, run_json, running, scratch, wait_for

with scratch() as tmp:
    pawl = tmp / "pawl"

    @contextlib.contextmanager
    def engine(*args, faults=None):
        port = free_port()
        if faults:
            (tmp / "faults.yaml").write_text(f"faults:\n  - {{{faults}}}\n")
            args += ("--faults", tmp / "faults.yaml")
        with running(pawl, "twin", "--profile", "generic-new", "--port", port, "--served-model-name", "demo", "--accuracy", "1", *args, log=tmp / "twin.log"):
            url = f"http://127.0.0.1:{port}"
            wait_for("the twin to be healthy", lambda: get(f"{url}/health")[0] == 200, 30)
            yield url

    def ask(url, *args):
        return ["eval", "run", "--task", "arith24", "--url", url, "--model", "demo", "--concurrency", 8, "--progress", "none", *args]

    def right_answers_pass_and_samples_are_kept():
        with engine() as url:
            result = run_json(pawl, *ask(url, "--output", tmp / "good"), schema="pawl.eval-result/1")
        assert (result["em_strict"], result["em_flexible"], result["n_eff"], result["passed"]) == (1, 1, 24, True), result
        shown = run_json(pawl, "eval", "show", tmp / "good")
        assert shown["definition"] == result["definition"]
        assert "24 of 24 samples" in run(pawl, "eval", "samples", tmp / "good", "--limit", 0).stdout
        assert run_json(pawl, "eval", "samples", tmp / "good", "--wrong", schema="pawl.eval-samples/1")["matching"] == 0

    def a_worse_engine_is_found_by_comparison():
        with engine(faults="kind: wrong-answers, share: 0.5") as url:
            run(pawl, *ask(url, "--output", tmp / "bad"), status=1)
        found = run_json(pawl, "eval", "compare", tmp / "good", tmp / "bad", schema="pawl.eval-comparison/1", status=1)
        assert found["worse"] and found["scores"][0]["lost"] and not found["scores"][0]["gained"], found
        run(pawl, "eval", "compare", tmp / "bad", tmp / "good")

    def an_engine_that_dies_at_sixty_per_cent_gives_no_score():
        with engine(faults="kind: overload, after_requests: 14") as url:
            done = run(pawl, *ask(url, "--output", tmp / "dead", "--retries", 0), status=6)
        assert "no score" in done.stdout, done.stdout
        result = json.loads((tmp / "dead/result.json").read_text())
        assert not result["passed"] and not result["infrastructure_success"] and "em_strict" not in result, result
        assert 0 < result["n_eff"] < 24, result
        # The engine is well again: only what is missing is asked.
        with engine() as url:
            refused = run(pawl, *ask(url, "--output", tmp / "dead"), status=3).stderr
            assert "another eval" in refused, refused
            head, *samples = (tmp / "dead/samples.jsonl").read_text().splitlines()
            (tmp / "dead/samples.jsonl").write_text("\n".join([json.dumps(json.loads(head) | {"url": url}), *samples]) + '\n{"torn')
            again = run_json(pawl, *ask(url, "--output", tmp / "dead"))
            assert again["passed"] and again["n_eff"] == 24, again
            assert len((tmp / "dead/samples.jsonl").read_text().splitlines()) == 25

    def a_kill_loses_no_answer():
        with engine() as url:
            command = [str(pawl), *map(str, ask(url, "--output", tmp / "killed"))]
            command[command.index("--concurrency") + 1] = "1"
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
            file = tmp / "killed/samples.jsonl"
            wait_for("five answers", lambda: file.exists() and file.read_bytes().count(b"\n") > 5)
            process.send_signal(signal.SIGKILL)
            process.wait()
            kept = file.read_bytes().count(b"\n") - 1
            assert kept < 24, "it was not killed in the middle"
            result = run_json(pawl, *ask(url, "--output", tmp / "killed"))
            assert result["passed"] and file.read_bytes().count(b"\n") == 25

    def an_engine_that_is_another_deployment_does_not_pass():
        with engine("--tp", 2) as url:
            assert run_json(pawl, *ask(url, "--expect", "tp=2"))["passed"]
            result = run_json(pawl, *ask(url, "--expect", "tp=4"), status=1)
        assert result["contradictions"] == ["tp: the row says 4, the engine 2"] and result["em_strict"] == 1 and not result["passed"], result

    def questions_come_from_a_data_set_and_choices_need_likelihoods():
        data = tmp / "set.jsonl"
        data.write_text("".join(json.dumps({"question": f"What is {n} plus 1, in this question of ours?", "answer": f"easy\n#### {n + 1}"}) + "\n" for n in range(6)))
        with engine("--answers", data) as url:
            result = run_json(pawl, "eval", "run", "--task", "gsm8k", "--data-set", data, "--url", url, "--model", "demo", "--progress", "none")
            assert result["task"] == "gsm8k" and result["n_eff"] == 6 and result["passed"], result
            other = run_json(pawl, "eval", "run", "--task", "gsm8k-inferencex", "--data-set", data, "--url", url, "--model", "demo", "--progress", "none")
            assert other["task"] == "gsm8k" and other["definition"] != result["definition"] and other["definition_name"] == "gsm8k-inferencex"
            assert "--data-set" in run(pawl, "eval", "run", "--task", "gsm8k", "--url", url, "--model", "demo", status=3).stderr
            assert "how likely" in run(pawl, "eval", "run", "--task", "choices8", "--url", url, "--model", "demo", status=3).stderr
            assert "arith24" in run(pawl, "eval", "run", "--task", "arith", "--url", url, "--model", "demo", status=3).stderr

    prove(right_answers_pass_and_samples_are_kept, a_worse_engine_is_found_by_comparison, an_engine_that_dies_at_sixty_per_cent_gives_no_score, a_kill_loses_no_answer,
          an_engine_that_is_another_deployment_does_not_pass, questions_come_from_a_data_set_and_choices_need_likelihoods)
