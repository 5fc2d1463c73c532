#!/bin/sh
# Runs tests of the heap under a sanitizer, the standard library built with it: `thread` runs the
# tests with several threads, `address` the tests that do not try thousands of crashes.
#
# ThreadSanitizer does not see assembler: flushes of lines, and copies past the caches, which no thread
# reads before they are fenced.
set -eu
cd "$(dirname "$0")/.."
scripts/nightly.sh rust-src || exit 0
sanitizer=$1
export RUSTFLAGS="-Zsanitizer=$sanitizer" CARGO_TARGET_DIR="target/$sanitizer"

sanitized() {
    package=$1
    shift
    rustup run nightly cargo test --locked -Zbuild-std --target "$(uname -m)-unknown-linux-gnu" \
        -p "$package" "$@"
}

case $sanitizer in
thread)
    sanitized terrace-heap --lib --test threads --test interleavings -- --test-threads 2
    ;;
address)
    sanitized terrace-heap --lib --test threads --test interleavings --test objects
    sanitized terrace-heap-c --test fuzz
    ;;
esac
