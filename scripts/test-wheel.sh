#!/bin/sh
# Installs the wheel that `make python` has built as a stranger does, with each Python from 3.10 on that
# is here (`make test-wheel`): into a fresh environment, without a compiler, as a user without
# privileges, and tries the lines of the guide there. Prints the seconds of each. PYTHONS names further
# directories in which Pythons are installed, such as copies that any user can read.
set -eu

root=$(pwd)
bar=60
user=65534
failed=

left_out() {
    echo "test-wheel: LEFT OUT: $1" >&2
}

# Prints the first Python of this version that is here.
python_of() {
    for directory in ${PYTHONS:-}; do
        [ -x "$directory/bin/python$1" ] && echo "$directory/bin/python$1" && return
    done
    for found in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/"python$1"; do
        # What pyenv puts in PATH needs not be there.
        [ -x "$found" ] && "$found" --version >/dev/null 2>&1 && echo "$found" && return
    done
}

# Runs a command without privileges, in a home of its own. A copy of a Python finds its library only
# where it is told to look.
as_user() {
    if [ "$(id -u)" = 0 ]; then
        set -- setpriv --reuid "$user" --regid "$user" --clear-groups --inh-caps=-all \
            --bounding-set=-all --no-new-privs "$@"
    fi
    (cd "$home" && env -i HOME="$home" PATH=/usr/bin:/bin LANG=C.UTF-8 CC=false \
        LD_LIBRARY_PATH="${python%/bin/*}/lib" ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
        "$@")
}

wheel=$(find "$root/target/wheels" -name 'terrace_sim-*.whl' | sort | tail -n 1)
case $wheel in
*-abi3-manylinux_*) ;;
'') echo 'test-wheel: there is no wheel in target/wheels: make python' >&2 && exit 1 ;;
*) echo "test-wheel: no wheel of manylinux for every Python: $wheel" >&2 && exit 1 ;;
esac

for version in 3.10 3.11 3.12 3.13; do
    python=$(python_of "$version")
    if [ -z "$python" ]; then
        left_out "Python $version is not here"
        continue
    fi
    home=$(mktemp -d)
    cp "$wheel" "$root/scripts/ten_lines.py" "$home"
    [ "$(id -u)" != 0 ] || chown -R "$user:$user" "$home"
    if ! as_user "$python" --version >/dev/null 2>&1; then
        left_out "a user without privileges cannot run $python; name a copy in PYTHONS"
    else
        begin=$(date +%s)
        as_user "$python" -m venv environment &&
            as_user environment/bin/pip install --quiet --disable-pip-version-check \
                --only-binary :all: "$(basename "$wheel")[all]" numpy &&
            as_user environment/bin/python ten_lines.py || failed="$failed $version"
        seconds=$(($(date +%s) - begin))
        echo "Python $version: $seconds s"
        [ "$seconds" -lt "$bar" ] || failed="$failed $version"
        # And root, who has other rights.
        [ "$(id -u)" != 0 ] || "$home/environment/bin/python" "$home/ten_lines.py" ||
            failed="$failed $version"
    fi
    rm -rf "$home"
done
[ -z "$failed" ] || { echo "test-wheel: failed, or took more than $bar s:$failed" >&2 && exit 1; }
