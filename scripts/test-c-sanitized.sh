#!/bin/sh
# Runs the tests of the heap for C once with AddressSanitizer and UndefinedBehaviorSanitizer in the C
# programs, and once under valgrind. Both check how the library uses the memory of the caller and of
# malloc; they do not track a pool, which is memory that the kernel maps, and need not.
set -eu
cd "$(dirname "$0")/.."

sanitize="-g -fsanitize=address,undefined -fno-sanitize-recover=all"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int main(void) { return 0; }' >"$work/nothing.c"

# The first compiler that has the sanitizers.
sanitizing() {
    for cc in clang gcc; do
        # shellcheck disable=SC2086 # several words
        if "$cc" $sanitize "$work/nothing.c" -o "$work/nothing" 2>"$work/said"; then
            echo "$cc"
            return
        fi
    done
}

tests() {
    "${CARGO:-cargo}" test --release --locked --package terrace-heap-c
}

done=
cc=$(sanitizing)
if [ -n "$cc" ]; then
    CC=$cc CFLAGS=$sanitize tests
    done=yes
else
    echo "SKIPPED: neither clang nor gcc has AddressSanitizer" >&2
fi
if command -v valgrind >/dev/null; then
    # Only definite leaks: Rust reaches its thread data by pointers into the middle of blocks.
    CFLAGS=-g C_RUNNER="valgrind --quiet --error-exitcode=9 --trace-children=yes
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite" tests
    done=yes
else
    echo "SKIPPED: valgrind is not installed" >&2
fi
[ -n "$done" ] || { echo "test-c-sanitized: nothing was tested" >&2; exit 1; }
