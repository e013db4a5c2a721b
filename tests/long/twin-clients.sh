#!/usr/bin/env bash
# duration: 3 min; clients of the field against the twin, unmodified: OpenAI's SDK, lm-eval, aiperf, SGLang's bench_serving
# Clients come from PyPI into $PAWL_RIVALS (default ~/.cache/pawl-rivals), outside the tree; one that is absent and cannot be installed fails the job.
# aiperf and SGLang's client: bench/clients/install-rivals.sh; they are left out with a message where they are absent.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rivals="${PAWL_RIVALS:-$HOME/.cache/pawl-rivals}"
pawl="${PAWL:-build/release/pawl}"
venv="$rivals/twin-venv"
if [[ ! -x "$venv/bin/lm-eval" ]]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install -q "lm-eval[api]==0.4.13" openai
fi
work="$(mktemp -d)"
port=$((20000 + RANDOM % 20000))
url="http://127.0.0.1:$port"
for i in $(seq 40); do
  printf '{"question": "A crate holds %d lamps. How many lamps are in %d crates, please?", "answer": "Multiply.\\n#### %d"}\n' "$i" $((i + 3)) $((i * (i + 3)))
done >"$work/test.jsonl"
"$pawl" twin --port "$port" --profile generic-new --served-model-name demo --answers "$work/test.jsonl" --accuracy 1 >"$work/twin.log" &
twin=$!
trap 'kill $twin 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do curl -sf -o /dev/null "$url/health" && break; sleep 0.1; done

echo "OpenAI's SDK"
"$venv/bin/python" - "$url" <<'PY'
import sys
from openai import NotFoundError, OpenAI
client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
assert [m.id for m in client.models.list()] == ["demo"]
ask = dict(model="demo", messages=[{"role": "user", "content": "hi there"}], max_tokens=7)
whole = client.chat.completions.create(**ask)
assert whole.usage.completion_tokens == 7 and whole.choices[0].finish_reason == "length"
parts = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
assert "".join(p.choices[0].delta.content or "" for p in parts if p.choices) == whole.choices[0].message.content
assert parts[-1].usage.completion_tokens == 7
assert client.completions.create(model="demo", prompt="hi", max_tokens=3).choices[0].text
try:
    client.chat.completions.create(**(ask | {"model": "other"}))
    raise SystemExit("another model was served")
except NotFoundError:
    pass
print("  chat, streamed chat with usage, completions, models, an error: fine")
PY

echo "lm-eval"
cat >"$work/lamps.yaml" <<YAML
task: lamps
dataset_path: json
dataset_kwargs:
  data_files: {test: $work/test.jsonl}
output_type: generate_until
test_split: test
doc_to_text: "Question: {{question}}\nAnswer:"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["Question:"], do_sample: false, temperature: 0.0, max_gen_toks: 96}
filter_list:
  - name: strict-match
    filter:
      - {function: regex, regex_pattern: "#### (\\\\-?[0-9\\\\.\\\\,]+)"}
      - {function: take_first}
metric_list:
  - {metric: exact_match, aggregation: mean, higher_is_better: true, regexes_to_ignore: ["(?s).*#### "]}
YAML
HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 HF_HOME="$work/hf" "$venv/bin/lm-eval" run --model local-completions \
  --model_args "model=demo,base_url=$url/v1/completions,num_concurrent=4,max_retries=1,tokenizer_backend=None,tokenized_requests=False" \
  --tasks lamps --include_path "$work" --output_path "$work/out" >"$work/lm-eval.log" 2>&1 || { tail -n 20 "$work/lm-eval.log"; exit 1; }
grep -F "exact_match" "$work/lm-eval.log" | sed 's/^/  /'
"$venv/bin/python" - "$work/out" <<'PY'
import json, pathlib, sys
found = json.loads(next(pathlib.Path(sys.argv[1]).rglob("results_*.json")).read_text())["results"]["lamps"]
assert found["exact_match,strict-match"] == 1.0, found
PY

for client in aiperf sglang; do
  echo "$client"
  if [[ "$client" == aiperf && -x "$rivals/aiperf/bin/aiperf" ]]; then
    # Not with HF_HUB_OFFLINE=1: aiperf then takes the folder of the tokenizer for the name of a repository.
    (cd "$work" && "$rivals/aiperf/bin/aiperf" profile --model demo --url "$url" --endpoint-type chat --streaming --concurrency 4 --request-count 16 \
      --tokenizer "$rivals/tokenizer" --isl 32 --osl 16 --ui none >aiperf.log 2>&1) || { tail -n 20 "$work/aiperf.log"; exit 1; }
    grep -E "Request Count|Output Token Throughput" "$work/aiperf.log" | head -n 2 | sed 's/^/  /'
  elif [[ "$client" == sglang && -d "$rivals/sglang/sglang" && -x "$rivals/python/bin/python" ]]; then
    HF_HUB_OFFLINE=1 PYTHONPATH="$rivals/sglang" "$rivals/python/bin/python" bench/clients/stand_ins/run_sglang_serving.py --backend sglang --base-url "$url" --model demo \
      --tokenizer "$rivals/tokenizer" --dataset-name random-ids --num-prompts 16 --random-input-len 32 --random-output-len 16 --max-concurrency 4 --output-file "$work/sglang.jsonl" \
      >"$work/sglang.log" 2>&1 || { tail -n 20 "$work/sglang.log"; exit 1; }
    grep -E "Successful requests|Output token throughput" "$work/sglang.log" | sed 's/^/  /'
  else
    echo "  absent: bench/clients/install-rivals.sh $client"
  fi
done
