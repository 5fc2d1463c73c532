#!/bin/sh
# crash.sh KERNEL CHECKS [ROUNDS]: boots a machine that writes to a medium, kills the emulator with SIGKILL at some
# moment, as a power failure would, and boots it again to check what is on the medium; ROUNDS times.
#
# Of a disk, what the guest's kernel had not written is lost: flushes that do nothing are found. Persistent memory is a
# file that the emulator maps. It has no processor's caches, so that a store is in the file at once, and the file is there
# when the emulator is gone: nothing that was stored is lost. This tries moments, and that the file system of a DAX mount
# with MAP_SYNC still has the blocks. It does not find a missing flush (tried: CLWB and its like as no-operations pass);
# crates/heap/tests/crash does, on a simulated medium.
set -eu

kernel=$1
checks=$2
rounds=${3:-4}
here=$(dirname "$(readlink -f "$0")")
medium=$(mktemp)
log=$(mktemp)
trap 'rm -f "$medium" "$log" "$log.pid"' EXIT
case $(sed -n 's/^# medium: //p' "$here/guest/$checks.sh") in
memory)
    truncate -s 2G "$medium"
    set -- -object "memory-backend-file,id=ram,share=on,mem-path=$medium,size=2G" -machine memory-backend=ram
    ;;
disk)
    truncate -s 256M "$medium"
    set -- -drive "file=$medium,if=virtio,format=raw,cache=unsafe"
    ;;
esac

# Waits until the machine has said $1 $2 times; fails if it ends before.
said() {
    for _ in $(seq 6000); do
        [ "$(grep -c "^$1" "$log" || true)" -ge "$2" ] && return 0
        kill -0 "$machine" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

before=0
round=0
while [ "$round" -le "$rounds" ]; do
    : >"$log"
    rm -f "$log.pid"
    "$here/boot.sh" "$kernel" "$checks" -pidfile "$log.pid" "$@" >"$log" 2>&1 &
    machine=$!
    # Each time a little later. The last boot only checks.
    case $round in "$rounds") said writing 1 ;; *) said transfers $(((round + 3) * 50)) ;; esac || {
        echo "FAILED the machine did not write in round $round"
        tail -n 20 "$log" | sed 's/^/    /'
    }
    sleep "0.$(((round * 37 + 11) % 90 + 10))"
    # It may have ended by itself.
    if [ -e "$log.pid" ]; then kill -9 "$(cat "$log.pid")" || true; fi
    wait "$machine" || true
    grep -E '^(ok|FAILED|    )' "$log" || true
    found=$(sed -n 's/^found //p' "$log" | tail -n 1)
    if [ "$round" -gt 0 ]; then
        if [ "${found:-0}" -ge "$before" ]; then
            echo "ok what was said to be written is there after a power failure"
        else
            echo "FAILED of $before transfers that were said to be written ${found:-none} are there"
        fi
    fi
    # The last line may be cut off, and then says less.
    before=$(sed -n 's/^transfers \([0-9]*\)$/\1/p' "$log" | sort -n | tail -n 1)
    before=${before:-${found:-0}}
    round=$((round + 1))
done
echo "done"
