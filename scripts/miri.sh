#!/bin/sh
# Checks the heap with Miri: aliasing, provenance, memory that was not initialised, and data races.
#
# Parts that Miri cannot run, or not in minutes, are left out, here and nowhere else:
#   - files (flock, O_TMPFILE, MAP_SHARED), lines that are flushed (clwb is assembler) and folios: medium is
#     tested only in words, lines, counts, waiting for a sync, and the simulated memory;
#   - tests that fill pools, or try thousands of crashes: Miri is slower by a factor of 1000 and more.
#     The lib's tests cover the parts; tests/interleavings.rs covers the whole, in a few operations;
#   - documentation tests: a process each.
set -eu
cd "$(dirname "$0")/.."
scripts/nightly.sh miri rust-src || exit 0
echo "SKIPPED: files, flushed lines, whole pools and documentation tests (scripts/miri.sh says why)" >&2

# A few cases are enough for what does not depend on values.
export PROPTEST_CASES=2 PROPTEST_DISABLE_FAILURE_PERSISTENCE=1
miri() {
    MIRIFLAGS=$1
    export MIRIFLAGS
    shift
    rustup run nightly cargo miri test --locked -p terrace-heap "$@"
}

# The parts alone. Tree Borrows, because a pool is one allocation, for which Stacked Borrows keeps a stack
# for each word that was ever borrowed. The clock is the machine's clock: threads wait for each other by it.
miri "-Zmiri-tree-borrows -Zmiri-strict-provenance -Zmiri-disable-isolation" --lib -- \
    allocator::chunks allocator::run journal::entry lane:: write_set \
    layout::chunk layout::intent layout::record layout::root medium::lines medium::words

# The whole, with two threads. Provenance is permissive because the locks of parking_lot make pointers of
# numbers; dead references are collected often, because a long list of them makes a pool slow.
miri "-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-provenance-gc=500" --test interleavings

# The same in orders that differ from seed to seed, for data races alone: aliasing costs most of the time.
miri "-Zmiri-permissive-provenance -Zmiri-disable-stacked-borrows -Zmiri-many-seeds=0..4" \
    --test interleavings
