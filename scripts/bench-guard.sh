#!/bin/sh
# Builds a revision beside this tree, and compares the processor time of both. BASE names the
# revision: the last tag unless it is given, or the commit before this one where there is no tag.
set -eu

cd "$(dirname "$0")/.."
base=${BASE:-$(git describe --tags --abbrev=0 2>/dev/null || echo HEAD~1)}
commit=$(git rev-parse --verify --quiet "$base^{commit}") || {
    echo "bench-guard: there is no revision $base; name one with BASE" >&2
    exit 1
}
target=${CARGO_TARGET_DIR:-$PWD/target}
tree=$target/guard/tree
mkdir -p "$target/guard"
git worktree prune
if [ -d "$tree" ]; then
    git -C "$tree" checkout --quiet --detach "$commit"
else
    git worktree add --quiet --detach "$tree" "$commit"
fi

# Both trees share the crates of others, which are compiled once.
build() {
    (cd "$1" && CARGO_TARGET_DIR=$target "${CARGO:-cargo}" build --release --locked --bin terrace)
    cp "$target/release/terrace" "$2"
}
build "$tree" "$target/guard/base"
build . "$target/guard/terrace"
echo "base: $(git log -1 --format='%h %s' "$commit")"
/usr/bin/python3 benches/pages/guard.py "$target/guard/base" "$target/guard/terrace"
