#!/bin/bash
# A redis server without persistence, filled and then read at random keys by
# redis-benchmark: each request is a few dependent reads of unrelated pages.
set -eu

KEYS=150000 VALUE=4000 SETS=300000 GETS=40000

dir=$(mktemp -d)
server=
stop() {
    [ -z "$server" ] || { kill -9 "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' HUP INT TERM

# Port 0: the server listens on nothing but the socket in the directory just made.
# The death signal covers SIGKILL, the only end of this script that no trap catches.
setpriv --pdeathsig KILL redis-server --port 0 --unixsocket "$dir/socket" --dir "$dir" --save "" --appendonly no \
    --daemonize no --loglevel warning &
server=$!

cli() { redis-cli -s "$dir/socket" "$@"; }
bench() { redis-benchmark -s "$dir/socket" -r "$KEYS" "$@" --csv; }

for _ in $(seq 100); do
    [ "$(cli ping 2>/dev/null)" != PONG ] || break
    sleep 0.1
done

bench -t set -d "$VALUE" -n "$SETS" -P 16 -c 4
bench -t get -n "$GETS" -c 4

# 300,000 random writes reach 86 % of 150,000 keys; fewer than 80 % means that the fill went wrong.
keys=$(cli dbsize)
echo "keys $keys"
[ "$keys" -gt $((KEYS * 8 / 10)) ]
