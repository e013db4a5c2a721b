#!/usr/bin/env bash
# Makes pawl-VERSION-linux-x86_64.tar.xz: what `cmake --install` lays out, and in lib every library that the program needs
# but glibc's own. It runs wherever glibc is new enough, from any folder.
# Usage: packaging/archive.sh [OUTPUT_FOLDER [BUILD_FOLDER]]     (default: build/packages build/release)
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
output="${1:-$ROOT/build/packages}" build="${2:-$ROOT/build/release}"
most_bytes=30000000

fail() { printf 'archive: %s\n' "$1" >&2; exit "${2:-4}"; }
for tool in cmake patchelf objdump xz; do command -v "$tool" >/dev/null || fail "there is no $tool (Debian: ./dev package installs it)"; done
[[ -x "$build/pawl" ]] || fail "there is no $build/pawl: run ./dev build" 3

stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
version="$("$build/pawl" --version)"
name="pawl-${version#pawl }-linux-$(uname -m)"
top="$stage/$name"
cmake --install "$build" --strip --prefix "$top" >/dev/null
mkdir -p "$top/lib" "$top/share/doc/pawl/libraries"

# glibc is the machine's: it belongs to the kernel, the loader and the name services there.
glibc='^(linux-vdso|ld-linux.*|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libanl|libnss_.*)\.so'
# Those that are loaded when they are first called, a soname and a file a line; the loader does not tell of them.
delayed="$build/delayed/delayed.txt"
[[ -f "$delayed" ]] || delayed=/dev/null
while read -r soname path; do
  [[ "$soname" =~ $glibc ]] && continue
  install -m 644 "$(readlink -f "$path")" "$top/lib/$soname"
  # A library with a path of its own would look for its needs elsewhere.
  if objdump -p "$top/lib/$soname" | grep -qE '^ *(RPATH|RUNPATH)'; then patchelf --remove-rpath "$top/lib/$soname"; fi
  strip --strip-unneeded "$top/lib/$soname"
  # Its licence goes along.
  package="$(dpkg-query -S "$(readlink -f "$path")" 2>/dev/null || dpkg-query -S "*/$(basename "$(readlink -f "$path")")" 2>/dev/null || true)"
  package="${package%%:*}"
  if [[ -n "$package" && -f "/usr/share/doc/$package/copyright" ]]; then
    install -m 644 "/usr/share/doc/$package/copyright" "$top/share/doc/pawl/libraries/$package"
  else
    fail "no licence found of $path"
  fi
done < <({ cat "$delayed"; ldd "$build/pawl" $(awk '{print $2}' "$delayed") | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}'; } | sort -u -k 1,1)
# RPATH, not RUNPATH: it also holds for what the libraries need, and LD_LIBRARY_PATH does not go before it.
patchelf --force-rpath --set-rpath "\$ORIGIN/../lib" "$top/bin/pawl"

outside="$({ ldd "$top/bin/pawl"; for library in "$top"/lib/*.so*; do LD_LIBRARY_PATH="$top/lib" ldd "$library"; done; } | sort -u -k 1,1 | awk '$2 == "=>" {print $1, $3}' | grep -v " $top/" | awk '{print $1}' | grep -vE "$glibc" || true)"
[[ -z "$outside" ]] || fail "these libraries are not in the archive: $outside" 6

mkdir -p "$output"
when="${SOURCE_DATE_EPOCH:-$(git -C "$ROOT" log -1 --format=%ct 2>/dev/null || echo 0)}"
tar -C "$stage" --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --mode='go-w,a+rX' -cf - "$name" | xz -6 -T1 >"$output/$name.tar.xz"

bytes="$(stat -c %s "$output/$name.tar.xz")"
needs="$(objdump -T "$top/bin/pawl" "$top"/lib/*.so* | grep -oE 'GLIBC_2\.[0-9]+' | sort -uV | tail -n 1)"
printf '%s\n  %d.%d MB packed, %d MB unpacked, %d libraries, needs glibc %s\n' "$output/$name.tar.xz" $((bytes / 1000000)) $((bytes % 1000000 / 100000)) \
  "$(du -s --block-size=1000000 "$top" | cut -f1)" "$(find "$top/lib" -name '*.so*' | wc -l)" "${needs#GLIBC_}"
((bytes <= most_bytes)) || fail "larger than $((most_bytes / 1000000)) MB" 6
