#!/usr/bin/env bash
# The tests that need more than Python: PostgreSQL, Chromium, Node. Installs what is missing, starts a PostgreSQL of its
# own on loopback, runs the tests marked `service`, and takes all of it down again. It fails where something is missing.
#
#   tools/service_tests.sh [paths and arguments of pytest]      PYTEST names the pytest to run (.venv/bin/pytest)
set -euo pipefail
cd "$(dirname "$0")/.."
pytest=${PYTEST:-.venv/bin/pytest}

say() { echo "service tests: $*" >&2; }

newest_postgres() {
  local found
  found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n | tail -n 1)
  [ -n "$found" ] && [ -x "$found/initdb" ] && echo "$found"
}

install_missing() {
  local missing=()
  newest_postgres >/dev/null || missing+=(postgresql)
  command -v chromium >/dev/null || missing+=(chromium)
  command -v node >/dev/null || missing+=(nodejs)
  command -v npm >/dev/null || missing+=(npm)
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "missing: ${missing[*]}; install them (apt-get install ${missing[*]}) and run again"
    exit 1
  fi
  say "installing ${missing[*]}"
  # Debian's package would start a server of its own, which nobody asked for.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# PostgreSQL refuses to run as root: then it runs as the user that its package made.
as_postgres() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid postgres --regid postgres --init-groups "$@"
  else
    "$@"
  fi
}

install_missing
binaries=$(newest_postgres) || { say "PostgreSQL is not there after its installation"; exit 1; }
for program in chromium node npm; do
  command -v "$program" >/dev/null || { say "$program is not there after its installation"; exit 1; }
done

work=$(mktemp -d)
chmod 711 "$work"
mkdir "$work/data" "$work/socket"
[ "$(id -u)" -eq 0 ] && chown postgres:postgres "$work/data" "$work/socket"
stop() {
  as_postgres "$binaries/pg_ctl" -D "$work/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap stop EXIT

cd "$work"  # the user `postgres` may not read our folder
as_postgres "$binaries/initdb" -D "$work/data" -U likewise -A trust -E UTF8 --locale=C.UTF-8 >"$work/initdb.log" 2>&1 ||
  { cat "$work/initdb.log" >&2; exit 1; }
for _ in 1 2 3 4 5; do # a port that is free now may be taken in a moment
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  options="-c listen_addresses=127.0.0.1 -c port=$port -c unix_socket_directories=$work/socket -c max_connections=200"
  # A database is made and dropped for each test, which waits for the disk each time. Nothing here survives a power cut
  # anyway; what a killed process has written, the kernel keeps, and commits are still written before they are told of.
  options="$options -c fsync=off -c full_page_writes=off"
  if as_postgres "$binaries/pg_ctl" -D "$work/data" -o "$options" -l "$work/data/server.log" -w -t 60 start >/dev/null; then
    started=yes
    break
  fi
done
[ "${started:-}" = yes ] || { say "PostgreSQL did not start"; cat "$work/data/server.log" >&2; exit 1; }
cd - >/dev/null

export LIKEWISE_TEST_POSTGRES="postgresql+psycopg://likewise@127.0.0.1:$port/postgres"
# How a test takes the server away and brings it back.
export LIKEWISE_TEST_POSTGRES_DATA="$work/data" LIKEWISE_TEST_POSTGRES_BIN="$binaries"
export LIKEWISE_TEST_POSTGRES_OPTIONS="$options"
# Only the folders that have such tests: gathering the thousands of others takes longer than many of these.
paths=()
for argument in "$@"; do
  [ -e "${argument%%::*}" ] && paths+=("$argument")
done
folders=()
[ ${#paths[@]} -gt 0 ] || mapfile -t folders < <(grep -rl --include='*.py' 'mark\.service' tests | xargs -n 1 dirname | sort -u)
# What takes the PostgreSQL away, or both cores, runs after the others. Paths may name tests of one kind alone (code 5).
status=0 none=0
run() {
  local code=0
  "$pytest" -m "$1" "${folders[@]}" "${@:2}" || code=$?
  if [ $code -eq 5 ]; then none=$((none + 1)); else status=$code; fi
}
run 'service and not alone' --numprocesses logical --dist loadfile "$@"
[ $status -ne 0 ] || run 'service and alone' "$@"
[ $none -lt 2 ] || { say "no test was found"; status=5; }
exit $status
