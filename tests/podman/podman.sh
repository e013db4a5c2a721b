#!/usr/bin/env bash
# A podman of its own for tests, in one folder: nothing of it lies elsewhere. As root, where cgroups are hybrid and hard limits cannot be raised.
#   podman.sh up FOLDER [REGISTRY]     writes the configuration; FOLDER/env says what to export; FOLDER/busybox.tar is an image's root
#   podman.sh down FOLDER              ends its containers and removes what it mounted
# Exit status 3: the parts are not on this machine.
set -euo pipefail
verb="$1" folder="$2" registry="${3:-}"

parts() {
  [[ "$(id -u)" == 0 ]] || return 1
  local program
  for program in podman runc conmon busybox; do command -v "$program" >/dev/null || return 1; done
  busybox true 2>/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1  # only a static one runs in an image of its own
}

case "$verb" in
  up)
    parts || exit 3
    mkdir -p "$folder"/{graph,run,tmp}
    cat >"$folder/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=8192:8192", "nproc=8192:8192"]
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
tmp_dir = "$folder/tmp"
[engine.runtimes]
runc = ["$(command -v runc)"]
CONF
    printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/graph"\nrunroot = "%s/run"\n' "$folder" "$folder" >"$folder/storage.conf"
    printf 'unqualified-search-registries = []\n' >"$folder/registries.conf"
    if [[ -n "$registry" ]]; then printf '[[registry]]\nlocation = "%s"\ninsecure = true\n' "$registry" >>"$folder/registries.conf"; fi
    printf 'CONTAINERS_CONF=%s/containers.conf\nCONTAINERS_STORAGE_CONF=%s/storage.conf\nCONTAINERS_REGISTRIES_CONF=%s/registries.conf\n' "$folder" "$folder" "$folder" >"$folder/env"
    rm -rf "$folder/root"
    mkdir -p "$folder/root"/{bin,tmp,etc,proc,sys,dev}
    cp "$(command -v busybox)" "$folder/root/bin/busybox"
    for applet in sh sleep cat echo rm mv true date env test id wget; do ln -sf busybox "$folder/root/bin/$applet"; done
    tar -C "$folder/root" -cf "$folder/busybox.tar" .
    ;;
  down)
    if [[ -f "$folder/env" ]]; then
      set -a
      # shellcheck source=/dev/null
      source "$folder/env"
      set +a
      timeout 60 podman rm --all --force --time=0 >/dev/null 2>&1 || true
    fi
    # Longest first: what is mounted inside another goes before it.
    awk -v prefix="$folder/" 'index($2, prefix) == 1 {print $2}' /proc/mounts | sort -r | while read -r mounted; do umount -l "$mounted" || true; done
    rm -rf "$folder"/{graph,run,tmp,root}
    ;;
  *)
    echo "podman.sh: unknown verb $verb" >&2
    exit 2
    ;;
esac
