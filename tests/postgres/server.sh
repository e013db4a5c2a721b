#!/bin/sh
# server.sh up DIR | down DIR: a PostgreSQL server of the Debian package postgresql-15 for tests: data and socket in DIR,
# no TCP, nothing flushed to disk. As root it runs as the user postgres. `up` prints the URL of its first database.
set -eu
verb=$1 dir=$2
bin=
for candidate in /usr/lib/postgresql/*/bin; do [ -x "$candidate/initdb" ] && bin=$candidate; done
[ -n "$bin" ] || { echo "PostgreSQL is not installed (Debian: postgresql-15)" >&2; exit 77; }
as() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=postgres --regid=postgres --clear-groups env -i HOME="$dir" LC_ALL=C.UTF-8 PATH=/usr/bin:/bin "$@"
  else
    env -i HOME="$dir" LC_ALL=C.UTF-8 PATH=/usr/bin:/bin "$@"
  fi
}
case $verb in
up)
  mkdir -p "$dir"
  [ "$(id -u)" != 0 ] || chown postgres:postgres "$dir"
  as "$bin/initdb" -D "$dir/data" -U pawl --auth=trust -E UTF8 --locale=C.UTF-8 --no-sync >"$dir.initdb.log" 2>&1 || { cat "$dir.initdb.log" >&2; exit 1; }
  rm -f "$dir.initdb.log"
  as "$bin/pg_ctl" -D "$dir/data" -l "$dir/server.log" -w -t 60 start \
    -o "-k $dir -c listen_addresses= -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=100 ${PAWL_POSTGRES_OPTIONS-}" >/dev/null
  echo "postgresql://pawl@/postgres?host=$dir"
  ;;
down)
  # Not pg_ctl stop: it waits until nobody answers to the id, which a dead process without a father that waits still does.
  [ ! -f "$dir/data/postmaster.pid" ] || kill -INT "$(head -1 "$dir/data/postmaster.pid")" 2>/dev/null || true
  i=0
  while [ -f "$dir/data/postmaster.pid" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done
  rm -rf "$dir"
  ;;
*) echo "usage: server.sh up|down DIR" >&2; exit 2 ;;
esac
