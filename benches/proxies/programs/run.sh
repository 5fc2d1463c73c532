#!/bin/sh
# run.sh PROGRAM RESULT ARGUMENTS: runs PROGRAM on one thread; fails unless it prints a line with RESULT.
set -eu

. "${0%/*}/programs.sh"

result=$2
shift 2
# Some write files into the folder that they are run in.
written=$(mktemp -d)
trap 'rm -rf "$written"' EXIT
cd "$written"
# XSBench ends with 1 where its checksum is not that of one of its own sizes.
OMP_NUM_THREADS=1 "$executable" "$@" >output 2>&1 || [ "$program" = XSBench ] || {
    tail -n 3 output >&2
    fail "$program failed"
}
grep -F -- "$result" output || fail "$program did not print «$result»"
