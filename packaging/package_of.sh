#!/usr/bin/env bash
# Prints the Debian dependency that a shared library stands for, such as "libcurl4 (>= 7.16.2)"; nothing where there is no dpkg.
# Usage: package_of.sh LIBRARY
set -euo pipefail
command -v dpkg-query >/dev/null || exit 0
file="$(readlink -f "$1")"
package="$(dpkg-query -S "$file" "${file#/usr}" 2>/dev/null | head -n 1 || true)"
package="${package%%: *}"
[[ -n "$package" ]] || exit 0
soname="$(objdump -p "$file" | awk '$1 == "SONAME" {print $2}')"
# The package's own statement: "libcurl 4 libcurl4 (>= 7.16.2)".
for list in "/var/lib/dpkg/info/$package.shlibs" "/var/lib/dpkg/info/${package%%:*}.shlibs"; do
  [[ -f "$list" ]] || continue
  found="$(awk -v soname="$soname" '{split(soname, part, ".so."); name = part[1]; if ($1 == name && $2 == part[2]) {sub(/^[^ ]+ [^ ]+ /, ""); print; exit}}' "$list")"
  [[ -z "$found" ]] || { printf '%s\n' "$found"; exit 0; }
done
printf '%s\n' "${package%%:*}"
