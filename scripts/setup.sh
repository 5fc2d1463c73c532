#!/bin/sh
# Checks that Rust, a C compiler and the Debian packages named on the command line are installed.
# Installs missing packages as root; otherwise says what to install.
set -eu

fail() {
    echo "setup: $1" >&2
    exit 1
}

command -v cargo >/dev/null || fail "Rust is not installed; get it from https://rustup.rs"
command -v cc >/dev/null || fail "there is no C compiler; install one (apt-get install gcc)"

missing=
for package in "$@"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

[ "$(id -u)" = 0 ] || fail "these packages are missing; install them: sudo apt-get install$missing"
command -v apt-get >/dev/null || fail "this is no Debian; install what corresponds to:$missing"
echo "setup: installing$missing" >&2
# shellcheck disable=SC2086 # a list of packages
{
    apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
} >/dev/null || fail "apt-get could not install$missing"
