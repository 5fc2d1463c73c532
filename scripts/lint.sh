#!/bin/sh
# Checks Python by ruff and shell by shellcheck, each where it is installed (pip install ruff;
# apt-get install shellcheck). Parts that other scripts read, and that have no first line of their
# own, are left out, as are those that read them in `benches`.
set -eu
cd "$(dirname "$0")/.."

if command -v ruff >/dev/null; then
    ruff check --quiet --no-cache .
else
    echo "lint: SKIPPED: Python is not checked, because ruff is not installed" >&2
fi
if command -v shellcheck >/dev/null; then
    shellcheck --severity warning --exclude SC1091 scripts/*.sh scripts/vm/*.sh packaging/service.sh .ci/run
else
    echo "lint: SKIPPED: shell is not checked, because shellcheck is not installed" >&2
fi
