#!/bin/sh
# test.sh [KERNEL [MACHINE]]: `make test-vm`. Runs the checks of guest/ on Debian's kernels, in emulated machines;
# prints the results, and fails if a check failed.
set -eu

here=$(dirname "$(readlink -f "$0")")
cd "$here/../.."
built=$(dirname "$(readlink -f "${TERRACE:-target/release/terrace}")")
# The heap is checked with the example of its C interface, and with a program that never ends.
for source in crates/heap-c/examples/c/accounts.c scripts/vm/guest/bank.c; do
    cc "$source" -Icrates/heap-c/include "$built/libterrace_heap.a" -lm -lpthread -ldl \
        -o "$built/$(basename "$source" .c)"
done
cc -O1 -Wall -Wextra scripts/vm/guest/pages.c -lpthread -o "$built/pages"
# With what names its calls.
cc -O0 -g -Wall -Wextra scripts/vm/guest/arrays.c -o "$built/arrays"

# Tests that `make test-root` has as well: their names and executables, and where their files are.
suite=target/vm/suite
mkdir -p "$suite"
readlink -f target/tmp >"$suite/directory"
# shellcheck disable=SC2046 # names have no spaces
cargo test --workspace --locked --no-run $(printf -- '--test %s ' swapoff doctor restarts inherited) 2>&1 |
    sed -n "s|^ *Executable tests/\([a-z]*\).* (\(.*\))\$|\1 $PWD/\2|p" >"$suite/tests"

results=target/vm/results
rm -rf "$results"
mkdir -p "$results"
failed=0
for suite in ${1:-bookworm trixie}; do
    release=$(scripts/vm/kernel.sh "$suite" "target/vm/$suite")
    for machine in ${2:-tiers groups suite systemd daemon daemon-waits nodes sockets hbm programs dax crash-pmem crash-disk}; do
        echo "== Linux $release, $machine"
        case $machine in crash-*) run=crash ;; *) run=boot ;; esac
        "scripts/vm/$run.sh" "target/vm/$suite" "$machine" >"$results/$release-$machine.log" || true
        # A check without a result is a failure as well.
        grep -E '^(ok|FAILED|SKIPPED|    )' "$results/$release-$machine.log" || true
        if ! grep -q '^done' "$results/$release-$machine.log"; then
            echo "FAILED the machine ended before its checks did; see $results/$release-$machine.log"
            failed=$((failed + 1))
        fi
        failed=$((failed + $(grep -c '^FAILED' "$results/$release-$machine.log" || true)))
    done
done
passed=$(cat "$results"/*.log | grep -c '^ok' || true)
skipped=$(cat "$results"/*.log | grep -c '^SKIPPED' || true)
echo "test-vm: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
