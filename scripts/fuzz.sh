#!/bin/sh
# Looks for inputs for which the heap, or a reader of routing tables, fails, for the given number of seconds, and says
# which target has found one. Useful inputs go to target/fuzz; `scripts/fuzz.sh minimise` puts them into the corpus.
#
# Runs without AddressSanitizer: it knows only the mapping of a pool, and spends most of the time noting the
# mappings of each input. make asan runs it on the corpus of the C calls.
set -eu
cd "$(dirname "$0")/.."
targets="heap/pool_bytes heap/operations heap/c_calls tcam/files"

scripts/nightly.sh || exit 0
if ! command -v cargo-fuzz >/dev/null; then
    echo "SKIPPED: there is no cargo-fuzz; cargo install cargo-fuzz" >&2
    exit 0
fi

fuzz() {
    command=$1 crate=$2 target=$3
    shift 3
    rustup run nightly cargo fuzz "$command" --fuzz-dir "crates/$crate/fuzz" -s none "$target" "$@"
}

failed=
for place in $targets; do
    crate=${place%/*} target=${place#*/}
    # A small Parquet file has 4 KB.
    case $crate in tcam) longest=5000 ;; *) longest=2000 ;; esac
    found=$PWD/target/fuzz/$target
    corpus=$PWD/crates/$crate/fuzz/corpus/$target
    mkdir -p "$found"
    if [ "$1" = minimise ]; then
        fuzz run "$crate" "$target" "$corpus" "$found" -- -merge=1
    else
        fuzz run "$crate" "$target" "$found" "$corpus" -- -max_total_time=$(($1 / 4)) \
            -max_len=$longest -timeout=60 -rss_limit_mb=4096 || failed="$failed $target"
    fi
done
[ -z "$failed" ] || {
    echo "fuzz: inputs were found for which these fail:$failed" >&2
    exit 1
}
