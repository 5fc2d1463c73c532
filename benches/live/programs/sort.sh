#!/bin/bash
# GNU sort with all of its input in memory: read in order, then compared and
# written in the order of the keys, which is a random order of the records.
set -eu -o pipefail

data=${BENCH_DATA:-${TMPDIR:-/tmp}/terrace-bench}

sum=$(LC_ALL=C sort -S 2G --parallel=1 "$data/sort.txt" | cksum)
echo "$sum"
[ "$sum" = "$(cat "$data/sort.cksum")" ]
