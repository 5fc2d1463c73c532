#!/bin/sh
# run.sh PROGRAM HEAP SIZE: runs PROGRAM.py in the environment that prepare.sh has made.
set -eu

. "${0%/*}/environment.sh"

program=$1
shift
exec "$environment/bin/python3" -B "${0%/*}/$program.py" "$@"
