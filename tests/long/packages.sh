#!/usr/bin/env bash
# duration: 6 min; the .deb in a fresh Debian 12, the archive in roots of Debian 12 and 13 that hold glibc and nothing else
# Usage: packages.sh [FOLDER]   FOLDER holds packages made before; without it they are made by ./dev package.
# Needs root (mounts, chroot), debootstrap and a mirror of Debian: MIRROR=URL, else the one that apt uses here.
set -euo pipefail
ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
mirror="${MIRROR:-$(sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\) bookworm main.*/\2/p; s/^URIs: //p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)}"
mirror="${mirror:-http://deb.debian.org/debian}"
fail() { printf 'packages: %s\n' "$1" >&2; exit "${2:-1}"; }

((EUID == 0)) || fail "needs root" 4
command -v debootstrap >/dev/null || fail "there is no debootstrap: apt-get install debootstrap" 4
# Mounts of this script are seen by nobody else, and gone with it.
[[ -n "${PAWL_UNSHARED:-}" ]] || PAWL_UNSHARED=yes exec unshare --mount --propagation private bash "${BASH_SOURCE[0]}" "$@"

work="$(mktemp -d)"
cleanup() {
  umount "$work"/*/proc "$work"/*/dev 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT
step() { printf '%4d s  %s\n' "$SECONDS" "$*"; }

packages="${1:-$work/packages}"
if (($# == 0)); then
  step "make the .deb and the archive"
  "$ROOT/dev" package "$packages" >"$work/package.log" 2>&1 || { cat "$work/package.log" >&2; fail "no packages"; }
fi
archive="$(echo "$packages"/pawl-*-linux-*.tar.xz)" deb="$(echo "$packages"/pawl_*.deb)"
[[ -f "$archive" && -f "$deb" ]] || fail "no packages in $packages" 3
ls -l "$archive" "$deb" | awk '{printf "          %.1f MB  %s\n", $5 / 1e6, $NF}'
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error --suppress-tags bogus-mail-host,no-changelog "$deb" || fail "lintian"
  step "lintian finds no errors"
fi

prepare() {  # ROOT: what every root gets besides its files
  mkdir -p "$1/proc" "$1/dev" "$1/tmp"
  mount -t proc proc "$1/proc"
  mount -t tmpfs -o mode=755 tmpfs "$1/dev"
  mknod -m 666 "$1/dev/null" c 1 3
  mknod -m 666 "$1/dev/urandom" c 1 9
}

for suite in bookworm trixie; do
  full="$work/$suite" bare="$work/$suite-glibc"
  debootstrap --variant=minbase "$suite" "$full" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail "$work/debootstrap.log" >&2; fail "debootstrap of $suite" 5; }
  # The files of libc6 and the links to usr; no shell, no /etc, nothing else.
  mkdir "$bare"
  { (cd "$full" && find . -maxdepth 1 -type l); chroot "$full" dpkg -L libc6; } | sed 's|^/lib|/usr/lib|; s|^/usr/usr|/usr|; s|^\./||; s|^/||' | sort -u |
    while read -r file; do [[ -z "$file" || "$file" == . || (-d "$full/$file" && ! -L "$full/$file") || ! -e "$full/$file" ]] || printf '%s\n' "$file"; done |
    tar -C "$full" -cf - -T - | tar -C "$bare" -xf -
  mkdir -p "$bare/opt"
  tar -C "$bare/opt" -xf "$archive"
  prepare "$bare"
  pawl="/$(cd "$bare" && echo opt/pawl-*/bin/pawl)"
  step "$suite: $(find "$bare/usr" -type f | wc -l) files of glibc $(chroot "$full" dpkg-query -W -f='${Version}' libc6), and the archive"
  (cd / && env -i "$(command -v chroot)" "$bare" "$pawl" demo --scale 1/512 --workspace /tmp/w) >"$work/demo.log" 2>&1 || { tail -40 "$work/demo.log" >&2; fail "demo in $suite"; }
  grep -q 'validated' "$work/demo.log" || fail "demo in $suite was not validated"
  step "$suite: pawl demo validated"
done

step "bookworm: install the .deb"
full="$work/bookworm"
prepare "$full"
cp "$deb" "$full/tmp/"
# The apt settings of this machine, so that packages can be reached from in there as from out here.
cp -a /etc/apt/. "$full/etc/apt/"
cp /etc/resolv.conf /etc/hosts "$full/etc/" 2>/dev/null || true
mkdir -p "$full/etc/ssl" && cp -aL /etc/ssl/certs "$full/etc/ssl/" 2>/dev/null || true
inside() { env -i $(env | grep -iE "^(https?_proxy|no_proxy)=" || true) PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$(command -v chroot)" "$full" "$@"; }
{ inside apt-get update && inside apt-get install -y --no-install-recommends "/tmp/$(basename "$deb")" systemd; } >"$work/apt.log" 2>&1 ||
  { tail -20 "$work/apt.log" >&2; fail "apt-get install" 5; }
inside pawl --version
inside pawl demo --scale 1/512 --workspace /tmp/w >"$work/demo.log" 2>&1 || { tail -40 "$work/demo.log" >&2; fail "demo of the .deb"; }
inside systemd-analyze verify --man=no pawl-serve.service || fail "systemd-analyze verify"
inside systemd-analyze security --offline=true --threshold=20 pawl-serve.service | tail -1
step "bookworm: pawl demo validated, pawl-serve.service verified"
inside apt-get purge -y pawl >"$work/apt.log" 2>&1
left="$(cd "$full" && find usr etc -iname '*pawl*' | head)"
[[ -z "$left" ]] || fail "left behind after purge: $left"
step "bookworm: nothing left after purge"
