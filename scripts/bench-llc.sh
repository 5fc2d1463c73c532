#!/bin/sh
# Compares terrace sim llc and valgrind's cachegrind on one program, gzip: each runs it and simulates
# its caches meanwhile. Also measures terrace sim llc on its trace, which is recorded once and simulated
# often. Prints wall times; takes half a minute.
set -eu
cd "$(dirname "$0")/.."

terrace=target/release/terrace
ten="lru,random,nru,nhm:n=0,nhm:n=2,nhm:n=4,nhm:n=8,nhm:n=12,nhm:n=4,insert=lh,nhm:n=8,insert=lh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Input that every Debian has, and that does not compress to nothing.
head -c 4000000 /usr/bin/qemu-x86_64 >"$work/input"

now() {
    date +%s.%N
}

# Prints a row: name, seconds, data references of the program, and references per second.
row() {
    awk -v what="$1" -v begin="$2" -v end="$3" -v refs="$4" 'BEGIN {
        printf "| %-34s | %7.2f | %12.1f |\n", what, end - begin, refs / (end - begin) / 1e6
    }'
}

# Arguments: a name, then the arguments of terrace sim llc.
simulate() {
    what=$1
    shift
    begin=$(now)
    "$terrace" sim llc -q --json "$work/found.json" "$@" >/dev/null
    end=$(now)
    refs=$(sed -n 's/^  "accesses": \([0-9]*\),$/\1/p' "$work/found.json")
    row "$what" "$begin" "$end" "$refs"
}

echo "| gzip of 4 MB                       | seconds | M accesses/s |"
echo "|------------------------------------|---------|--------------|"
simulate "recorded and simulated, lru" --policy lru -- gzip -c "$work/input"
simulate "the same, ten policies" --policy "$ten" -- gzip -c "$work/input"
"$terrace" record -q -o "$work/trace.parquet" -- gzip -c "$work/input" >/dev/null
simulate "simulated from a trace, lru" --policy lru "$work/trace.parquet"
simulate "the same, ten policies" --policy "$ten" "$work/trace.parquet"
if command -v valgrind >/dev/null; then
    begin=$(now)
    valgrind --tool=cachegrind --cache-sim=yes --D1=65536,2,64 --LL=2097152,16,64 \
        --cachegrind-out-file=/dev/null gzip -c "$work/input" 2>"$work/cachegrind" >/dev/null
    end=$(now)
    refs=$(sed -n 's/.*D *refs: *\([0-9,]*\).*/\1/p' "$work/cachegrind" | tr -d ,)
    row "cachegrind (D1 and LL, LRU)" "$begin" "$end" "$refs"
else
    echo "valgrind is not there: nothing to compare with (apt-get install valgrind)"
fi
begin=$(now)
gzip -c "$work/input" >/dev/null
end=$(now)
row "gzip alone" "$begin" "$end" "$refs"
