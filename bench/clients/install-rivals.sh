#!/usr/bin/env bash
# Installs other load clients into $PAWL_RIVALS (default ~/.cache/pawl-rivals), outside the project, with pip only.
#   install-rivals.sh [vllm] [python] [sglang] [aiperf] [guidellm]     (default: all; about 1.5 GB)
# vllm and sglang are unpacked without their compiled parts: the clients need no engine. What is there already is kept.
set -euo pipefail

into=${PAWL_RIVALS:-$HOME/.cache/pawl-rivals}
python=${PYTHON:-python3}
mkdir -p "$into"
cd "$into"
what=("$@")
[[ $# -gt 0 ]] || what=(vllm python sglang aiperf guidellm)

unpack() {  # NAME VERSION GLOB...: the files of a wheel
  [[ -d $1 ]] && return
  local scratch
  scratch=$(mktemp -d -p "$into")
  "$python" -m pip download --quiet --no-deps --dest "$scratch" "$1==$2"
  "$python" - "$scratch"/"$1"-*.whl "$scratch/out" <<'PY'
import sys, zipfile, os
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for item in wheel.infolist():
        compiled = item.filename.endswith((".so", ".cubin")) or ".so." in item.filename
        if compiled and "/_bench." not in item.filename:  # sglang's Rust client
            continue
        path = wheel.extract(item, sys.argv[2])
        if item.external_attr >> 16 & 0o111:
            os.chmod(path, 0o755)
PY
  mv "$scratch/out" "$1"
  rm -r "$scratch"
}

environment() {  # NAME REQUIREMENT...: a virtual environment
  [[ -x $1/bin/python ]] || "$python" -m venv "$1"
  "$1/bin/pip" install --quiet "${@:2}"
}

for one in "${what[@]}"; do
  echo "$one …"
  case $one in
    vllm) unpack vllm 0.33.0; chmod +x vllm/vllm/vllm-rs ;;
    sglang) unpack sglang 0.5.23 ;;
    python)
      environment python aiohttp numpy transformers tokenizers tqdm requests pandas pillow psutil pybase64 msgspec orjson typing_extensions regex packaging uvloop ;;
    aiperf) environment aiperf aiperf==0.13.0 ;;
    guidellm) environment guidellm guidellm==0.8.1 ;;
    *) echo "install-rivals.sh: unknown: $one" >&2; exit 2 ;;
  esac
done

# One tokenizer for all: byte-level, 256 bytes and a few merges; the server counts 32 prompt tokens whatever comes.
if [[ ! -f tokenizer/tokenizer.json ]]; then
  for environment in python aiperf guidellm; do
    [[ -x $environment/bin/python ]] && break
  done
  "$environment/bin/python" - <<'PY'
import json, os
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
words = [f"{a}{b} w{n:06} q{n:06}" for n, (a, b) in enumerate((a, b) for a in "abcdefgh" for b in "ijklmnop")]
tokenizer.train_from_iterator(words, trainers.BpeTrainer(vocab_size=512, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<s>", "</s>"]))
os.makedirs("tokenizer", exist_ok=True)
tokenizer.save("tokenizer/tokenizer.json")
size = tokenizer.get_vocab_size()
json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 32768},
          open("tokenizer/tokenizer_config.json", "w"))
json.dump({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": size, "hidden_size": 64, "num_hidden_layers": 1,
           "num_attention_heads": 1, "intermediate_size": 64, "max_position_embeddings": 32768}, open("tokenizer/config.json", "w"))
PY
fi
echo "installed in $into"
