#!/usr/bin/env bash
# duration: 20 min; ./quickstart and ./dev test in a fresh Debian 12 that holds nothing but its base system (needs root)
set -euo pipefail
project="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
root="$(mktemp -d)"
cleanup() {
  umount "$root/proc" 2>/dev/null || true
  rm -rf "$root"
}
trap cleanup EXIT
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null
mirror="$(sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\) bookworm main.*/\2/p; s/^URIs: //p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)"
echo "== a fresh root"
debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >/dev/null
# The apt settings of this machine, so that packages can be reached from in there as from out here.
cp -a /etc/apt/. "$root/etc/apt/"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mkdir -p "$root/usr/local/share/ca-certificates" && cp -a /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/" 2>/dev/null || true
mkdir -p "$root/etc/ssl" && cp -aL /etc/ssl/certs "$root/etc/ssl/" 2>/dev/null || true
mount -t proc proc "$root/proc"
git clone -q "$project" "$root/root/pawl"
for command in "./quickstart" "./dev test"; do
  echo "== $command"
  began=$SECONDS
  env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb $(env | grep -iE '^(https?_proxy|no_proxy)=' || true) chroot "$root" bash -c "cd /root/pawl && $command"
  echo "== $command: $((SECONDS - began)) s"
done
