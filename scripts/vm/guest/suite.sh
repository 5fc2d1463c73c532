# The tests of the command that need root, as `make test-root` has them on version 1 of control groups.
# machine: -m 3G
. "$(dirname "$0")/common.sh"

# Their files are in the project's directory, which is read-only here.
mkfs.ext4 -qF /dev/vda && mount /dev/vda "$(cat "$checks/../suite/directory")" || echo 'FAILED mount'
unset TERRACE_STATE_DIR TERRACE

while read -r name executable; do
    # Signals that this shell ignores, the tests would inherit.
    "$executable" --ignored --test-threads 1 2>&1 </dev/null | tee "$name"
    sed -n "s/^test \(.*[^ ]\) *\.\.\. ok\$/ok $name \1/p; s/^test \(.*[^ ]\) *\.\.\. FAILED\$/FAILED $name \1/p" "$name"
    grep -q '^test result' "$name" || echo "FAILED $name ended before its tests did"
    sed -n '/^failures:$/,$s/^/    /p' "$name"
done <"$checks/../suite/tests"
check 'nothing is left' nothing_is_left
echo done
