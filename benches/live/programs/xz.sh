#!/bin/bash
# xz -9: one pass over the input and the match finder's tables in order, mixed
# with random reads of both wherever a match lies far back.
set -eu

data=${BENCH_DATA:-${TMPDIR:-/tmp}/terrace-bench}

xz -9 -T1 --stdout "$data/xz.txt" >"$data/xz.out"
size=$(xz --robot --list "$data/xz.out" | awk '$1 == "totals" { print $5 }')
echo "$size"
[ "$size" = "$(stat -c %s "$data/xz.txt")" ]
