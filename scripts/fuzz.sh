#!/bin/sh
# Looks for inputs for which the heap fails, for the given number of seconds, and says which target has found
# one. Useful inputs go to target/fuzz; `scripts/fuzz.sh minimise` puts them into the corpus.
#
# Runs without AddressSanitizer: it knows only the mapping of a pool, and spends most of the time noting the
# mappings of each input. make asan runs it on the corpus of the C calls.
set -eu
cd "$(dirname "$0")/.."
crate=crates/heap/fuzz
targets="pool_bytes operations c_calls"

scripts/nightly.sh || exit 0
if ! command -v cargo-fuzz >/dev/null; then
    echo "SKIPPED: there is no cargo-fuzz; cargo install cargo-fuzz" >&2
    exit 0
fi

fuzz() {
    command=$1 target=$2
    shift 2
    rustup run nightly cargo fuzz "$command" --fuzz-dir "$crate" -s none "$target" "$@"
}

failed=
for target in $targets; do
    found=$PWD/target/fuzz/$target
    corpus=$PWD/$crate/corpus/$target
    mkdir -p "$found"
    if [ "$1" = minimise ]; then
        fuzz run "$target" "$corpus" "$found" -- -merge=1
    else
        fuzz run "$target" "$found" "$corpus" -- -max_total_time=$(($1 / 3)) \
            -max_len=2000 -timeout=60 -rss_limit_mb=4096 || failed="$failed $target"
    fi
done
[ -z "$failed" ] || {
    echo "fuzz: inputs were found for which these fail:$failed" >&2
    exit 1
}
