"""pawl bench with each data set against pawl twin, and pawl tokenize: what was asked is what the server counts."""
import json
import pathlib

from pawl_e2e import check_against_schema, free_port, get, prove, run, run_json, running, scratch, wait_for

TOKENIZER = pathlib.Path(__file__).resolve().parent / "tokenizers" / "byte_level.json"


def talk(question, answer):
    return {"conversations": [{"from": "human", "value": question}, {"from": "gpt", "value": answer}]}


with scratch() as tmp:
    pawl, port = tmp / "pawl", free_port()
    url = f"http://127.0.0.1:{port}"
    with running(pawl, "twin", "--port", port, "--profile", "generic-new", "--tp", "4", "--served-model-name", "demo", log=tmp / "twin.log") as twin:
        wait_for("the twin to be healthy", lambda: get(f"{url}/health")[0] == 200 or twin.poll() is not None, 30)

        def bench(*args, requests=12, **how):
            result = run_json(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 4, "--warmups", 0, "--requests", requests, *args,
                              schema="pawl.bench-result/1", **how)
            check_against_schema(result, "bench-result")
            assert result["counts"]["ok"] == requests, (result["counts"], result["failures"])
            return result

        def random_ids_have_the_lengths_of_the_vllm_profile():
            result = bench("--isl", 100, "--osl", 8, "--range-ratio", 0.2, "--range-profile", "vllm", "--tokenizer", TOKENIZER)
            assert 80 * 12 <= result["total_input_tokens"] <= 120 * 12, result["total_input_tokens"]
            assert result["workload"]["mean_isl"] == 100 and result["workload"]["tokenizer"].endswith("byte_level.json"), result["workload"]

        def a_prefix_tree_has_the_hit_ratio_that_is_asked_for():
            result = bench("--dataset", "prefix-tree", "--isl", 256, "--osl", 4, "--prefix-hit-ratio", 0.5, "--prefix-groups", 2)
            assert abs(result["workload"]["predicted_hit_ratio"] - 0.5) < 16 / 256, result["workload"]
            assert result["total_input_tokens"] == 12 * 256, result["total_input_tokens"]

        def sharegpt_rows_are_dropped_by_rule_and_too_few_are_an_error():
            file = tmp / "talks.json"
            file.write_text(json.dumps([talk(f"question number {i} about many things", "an answer of some words") for i in range(9)] + [talk("x", "y"), {"no": 1}]))
            args = ("--dataset", "sharegpt", "--dataset-path", file, "--tokenizer", TOKENIZER)
            result = bench(*args, requests=9)
            assert result["workload"]["kept"] == 9 and result["workload"]["rows"] == 11, result["workload"]
            done = run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 2, "--requests", 10, *args, status=3)
            assert "9 usable, 10 asked; dropped: malformed 1, prompt_short 1" in done.stderr, done.stderr
            assert bench(*args, "--dataset-repeat", requests=20)["workload"]["repeats"] == 11

        def traces_bring_their_lengths():
            file = tmp / "trace.jsonl"
            rows = [{"timestamp": 10 * i, "input_length": 600 + i, "output_length": 3, "hash_ids": [0, i + 1]} for i in range(6)]
            file.write_text("\n".join(json.dumps(row) for row in rows))
            result = bench("--dataset", "mooncake", "--dataset-path", file, requests=6)
            assert result["total_input_tokens"] == sum(row["input_length"] for row in rows), result["total_input_tokens"]
            assert abs(result["workload"]["predicted_hit_ratio"] - 5 * 512 / result["total_input_tokens"]) < 1e-12, result["workload"]

        def own_prompts_are_sent():
            file = tmp / "own.jsonl"
            file.write_text('{"prompt": [5, 6, 7], "output_tokens": 2}\n{"prompt": [8, 9], "output_tokens": 3}\n')
            result = bench("--dataset", "jsonl", "--dataset-path", file, requests=2)
            assert (result["total_input_tokens"], result["total_output_tokens"]) == (5, 5), result

        def what_is_missing_is_named():
            done = run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 1, "--osl", 4, status=2)
            assert "--isl" in done.stderr, done.stderr
            done = run(pawl, "bench", "--url", url, "--model", "demo", "--concurrency", 1, "--dataset", "azure", status=2)
            assert "--dataset-path" in done.stderr, done.stderr
            broken = tmp / "broken.json"
            broken.write_text('{"model": {"type": "WordPiece", "vocab": {"a": 0}}}')
            done = run(pawl, "tokenize", "--tokenizer", broken, "--text", "a", status=3)
            assert "WordPiece" in done.stderr and "BPE, Unigram" in done.stderr, done.stderr

        def tokens_are_counted_listed_and_decoded():
            assert run(pawl, "tokenize", "--tokenizer", TOKENIZER, "--text", "the quick brown fox").stdout.strip().isdigit()
            ids = json.loads(run(pawl, "tokenize", "--tokenizer", TOKENIZER, "--text", "the \u4e2d", "--ids", "--json").stdout)["ids"]
            assert run(pawl, "tokenize", "--tokenizer", TOKENIZER, "--decode", " ".join(map(str, ids))).stdout == "the \u4e2d\n"
            lines = json.loads(run(pawl, "tokenize", "--tokenizer", TOKENIZER, "--lines", "--json", stdin='one\n"two\\nlines"\n').stdout)["lines"]
            assert len(lines) == 2, lines

        prove(random_ids_have_the_lengths_of_the_vllm_profile, a_prefix_tree_has_the_hit_ratio_that_is_asked_for,
              sharegpt_rows_are_dropped_by_rule_and_too_few_are_an_error, traces_bring_their_lengths, own_prompts_are_sent, what_is_missing_is_named,
              tokens_are_counted_listed_and_decoded)
