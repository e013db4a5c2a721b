# shellcheck shell=bash
# Sourced by ./quickstart and ./dev: which packages of tools/packages.txt are missing, and how to install them.

packages_of() {  # SECTION…
  local wanted=" $* " section="" line
  while IFS= read -r line; do
    case "$line" in
      "" | \#*) ;;
      \[*\]) section="${line:1:-1}" ;;
      *) [[ "$wanted" == *" $section "* ]] && printf '%s\n' "$line" ;;
    esac
  done <"$ROOT/tools/packages.txt"
  return 0
}

missing_packages() {  # SECTION…
  local package
  for package in $(packages_of "$@"); do
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || printf '%s\n' "$package"
  done
}

# Installs what is missing; does not touch apt when nothing is. Fails with the command to run when it has no right to.
install_packages() {  # SECTION…
  local missing=() sudo=()
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This machine has no dpkg. pawl builds on Debian 12; elsewhere install the counterparts of tools/packages.txt." >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) && return 0
  echo "Packages to install with apt-get: ${missing[*]}"
  if ((EUID != 0)); then
    if command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
      sudo=(sudo)
    else
      echo "That needs root. Run this, then the same command again:" >&2
      echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
      return 4
    fi
  fi
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
  echo "Installed."
}

# The packages of [build], and npm where the Python grammar still has to be fetched and no other npm is there.
install_build_packages() {  # SECTION… (more than build)
  install_packages build "$@" || return
  if ! command -v npm >/dev/null 2>&1 && ! bash "$ROOT/tools/grammar.sh" >/dev/null 2>&1; then install_packages grammar || return; fi
}

# Processes to compile with: all cores, but at most one for each 1.5 GiB of free memory, which one of them may need.
jobs_to_use() {
  local cores memory_kib fit
  cores="$(nproc)"
  memory_kib="$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null || echo 0)"
  fit=$((memory_kib / 1572864))
  ((fit < 1)) && fit=1
  echo $((cores < fit ? cores : fit))
}
