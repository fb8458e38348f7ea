#!/bin/bash
# Makes the database of an empty volume, runs what /docker-entrypoint-initdb.d has, and starts.
set -e
password=${POSTGRES_PASSWORD:-$(cat "$POSTGRES_PASSWORD_FILE")}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  # shellcheck disable=SC2086
  initdb --username=postgres --pwfile=<(echo "$password") $POSTGRES_INITDB_ARGS -D "$PGDATA"
  printf '\nhost all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  # of the programs in the official image these are the defaults
  printf "listen_addresses = '*'\nunix_socket_directories = '/var/run/postgresql'\n" \
    >>"$PGDATA/postgresql.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start
  export PGPASSWORD=$password
  run() { psql -v ON_ERROR_STOP=1 --no-psqlrc --username postgres "$@"; }
  [ "${POSTGRES_DB:-postgres}" = postgres ] || run -c "CREATE DATABASE \"$POSTGRES_DB\""
  for file in /docker-entrypoint-initdb.d/*; do
    case $file in
    *.sh) . "$file" ;;
    *.sql) run --dbname "${POSTGRES_DB:-postgres}" -f "$file" ;;
    esac
  done
  unset PGPASSWORD
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
