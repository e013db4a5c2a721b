#!/usr/bin/env bash
# Prints the folder of the generated C sources of the Python grammar (parser.c, scanner.c, tree_sitter/), and fetches them
# with npm when they are not there. CMake runs it when it configures. A machine without a network: run it once on another
# one, carry the folder over, and give it as PAWL_PYTHON_GRAMMAR (environment, or -D for CMake).
set -euo pipefail
version=0.23.6
digest=aab5b860d93dbf84b37fed532f7dacc0468ede5387d0c74911d68f964287662a  # SHA-256 of the package

complete() { [[ -f "$1/parser.c" && -f "$1/scanner.c" && -f "$1/tree_sitter/parser.h" ]]; }

if [[ -n "${PAWL_PYTHON_GRAMMAR:-}" ]]; then
  complete "$PAWL_PYTHON_GRAMMAR" || { echo "PAWL_PYTHON_GRAMMAR=$PAWL_PYTHON_GRAMMAR does not hold parser.c, scanner.c and tree_sitter/parser.h" >&2; exit 3; }
  printf '%s\n' "$PAWL_PYTHON_GRAMMAR"
  exit 0
fi
cache="${XDG_CACHE_HOME:-$HOME/.cache}/pawl"
folder="$cache/tree-sitter-python-$version"
if ! complete "$folder"; then
  command -v npm >/dev/null || { echo "the Python grammar comes from the npm package tree-sitter-python $version: install npm, or set PAWL_PYTHON_GRAMMAR to its src/ folder" >&2; exit 4; }
  mkdir -p "$cache"
  work="$(mktemp -d "$cache/grammar.XXXXXX")"
  trap 'rm -rf "$work"' EXIT
  # Only packs the archive: nothing of the package is run.
  (cd "$work" && npm pack --silent --ignore-scripts "tree-sitter-python@$version" >/dev/null) || { echo "npm could not fetch tree-sitter-python $version" >&2; exit 5; }
  echo "$digest  $work/tree-sitter-python-$version.tgz" | sha256sum --check --status || { echo "tree-sitter-python $version is not the package that was looked at (SHA-256 differs)" >&2; exit 5; }
  tar -xzf "$work/tree-sitter-python-$version.tgz" -C "$work" package/src package/LICENSE
  cp "$work/package/LICENSE" "$work/package/src/"
  # Two configurations at once: the first one wins, the other finds it there.
  mv -T "$work/package/src" "$folder" 2>/dev/null || complete "$folder"
fi
printf '%s\n' "$folder"
