#!/bin/sh
# Checks that a nightly toolchain has the components named on the command line. If not, says what is skipped,
# and fails.
set -eu

skip() {
    echo "SKIPPED: $1" >&2
    exit 1
}

command -v rustup >/dev/null || skip "there is no rustup, and so no nightly toolchain"
installed=$(rustup component list --toolchain nightly --installed 2>/dev/null) ||
    skip "there is no nightly toolchain; rustup toolchain install nightly"
for component in "$@"; do
    echo "$installed" | grep -q "^$component" ||
        skip "nightly has no $component; rustup component add --toolchain nightly $component"
done
