#!/bin/sh
# Has Miri look at the heap: at aliasing, provenance, memory that was not initialised, and data races.
#
# What Miri cannot do, or not in minutes, is left out, here and nowhere else:
#   - files (flock, O_TMPFILE, MAP_SHARED), lines that are flushed (clwb is assembler) and folios: of medium
#     only words, lines, counts, waiting for a sync, and the simulated memory;
#   - tests that fill pools, or try crashes by the thousand: Miri is slower by a factor of 1000 and more.
#     The lib's tests are those of the parts; tests/interleavings.rs has the whole, in a few operations;
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

# The parts, by themselves. Tree Borrows, because a pool is one allocation, of which Stacked Borrows keeps a
# stack for each word that was ever lent. The clock is the machine's: threads wait for each other by it.
miri "-Zmiri-tree-borrows -Zmiri-strict-provenance -Zmiri-disable-isolation" --lib -- \
    allocator::chunks allocator::run journal::entry lane:: write_set \
    layout::chunk layout::intent layout::record layout::root medium::lines medium::words

# The whole, with two threads. Provenance is permissive since the locks of parking_lot make pointers of
# numbers; references that are gone are collected often, as the longer a pool's list of them the slower.
miri "-Zmiri-tree-borrows -Zmiri-permissive-provenance -Zmiri-provenance-gc=500" --test interleavings

# The same in orders that differ from seed to seed, for data races alone: aliasing costs most of the time.
miri "-Zmiri-permissive-provenance -Zmiri-disable-stacked-borrows -Zmiri-many-seeds=0..4" \
    --test interleavings
