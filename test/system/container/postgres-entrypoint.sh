#!/bin/sh
# Does what the entrypoint of the published Postgres image does with docker-compose.yml's settings: one cluster, made at the first start, of
# POSTGRES_USER with POSTGRES_PASSWORD and a database POSTGRES_DB. Local connections are trusted, others follow POSTGRES_HOST_AUTH_METHOD.
set -eu
as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }
mkdir -p "$PGDATA"
chown -R postgres:postgres /var/lib/postgresql
chmod 700 "$PGDATA"
cd /
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(mktemp)
  echo "$POSTGRES_PASSWORD" > "$password"
  chown postgres "$password"
  # The arguments of initdb are words.
  as_postgres initdb --username="$POSTGRES_USER" --pwfile="$password" --auth-host=scram-sha-256 --auth-local=trust $POSTGRES_INITDB_ARGS
  rm "$password"
  echo "host all all all $POSTGRES_HOST_AUTH_METHOD" >> "$PGDATA/pg_hba.conf"
  echo "create database \"$POSTGRES_DB\"" | as_postgres postgres --single -D "$PGDATA" postgres
fi
mkdir -p /var/run/postgresql && chown postgres /var/run/postgresql
[ "$1" = postgres ] && shift
exec setpriv --reuid=postgres --regid=postgres --clear-groups -- postgres -c 'listen_addresses=*' -c unix_socket_directories=/var/run/postgresql "$@"
