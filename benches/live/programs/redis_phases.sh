#!/bin/bash
# A redis server without persistence that is loaded first and then has a steady load of random writes: KEYS keys of
# 4 kB, and STEADY requests, which begin START seconds after the start of this script (0: at once). At the beginning and
# the end of these a line goes to the file that MARKS names: the time, and the pages that the machine has swapped out.
set -eu

KEYS=${KEYS:-20000} STEADY=${STEADY:-100000} START=${START:-15} VALUE=4000

dir=$(mktemp -d)
server=
stop() {
    [ -z "$server" ] || { kill -9 "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 1' HUP INT TERM

# Port 0: the server listens on nothing but the socket in the directory just made.
setpriv --pdeathsig KILL redis-server --port 0 --unixsocket "$dir/socket" --dir "$dir" --save "" --appendonly no \
    --daemonize no --loglevel warning &
server=$!

bench() { redis-benchmark -s "$dir/socket" -r "$KEYS" -t set -d "$VALUE" -c 4 --csv "$@" >/dev/null; }
mark() { [ -z "${MARKS:-}" ] || echo "$(date +%s.%N) $(sed -n 's/^pswpout //p' /proc/vmstat)" >>"$MARKS"; }

until [ "$(redis-cli -s "$dir/socket" ping 2>/dev/null)" = PONG ]; do sleep 0.1; done
bench -n $((KEYS * 3)) -P 16
if [ "$START" != 0 ]; then
    [ "$SECONDS" -lt "$START" ] || { echo "loading took $SECONDS s; set START higher" >&2; exit 1; }
    sleep $((START - SECONDS))
fi
mark
[ "$STEADY" = 0 ] || bench -n "$STEADY"
mark
