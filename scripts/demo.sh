#!/bin/sh
# Demonstrates `terrace run` on a real program: a column-wise pass over a row-major NumPy matrix of 600 MB,
# with a quarter of that as DRAM, in all four ways. Takes about 40 seconds.
set -eu
cd "$(dirname "$0")/.."

terrace=${CARGO_TARGET_DIR:-target}/demo/terrace
program="/usr/bin/python3 benches/live/programs/column_pass.py"

if ! $terrace doctor; then
    echo "demo: a real run needs what is marked NO above; as root: sudo scripts/demo.sh" >&2
    exit 1
fi
echo
echo "\$ terrace run --dram 25% --compare -- $program"
# shellcheck disable=SC2086 # a command line
exec $terrace run --dram 25% --compare --endurance 600TBW -- $program
