#!/bin/sh
# Builds the Python package in an environment of its own, and runs its tests (`make test-python`). The
# tests that compare it with the command need target/debug/terrace, or TERRACE.
set -eu

left_out() {
    echo "test-python: LEFT OUT: the Python package: $1" >&2
    exit 0
}

root=$(pwd)
environment=$root/target/python
python=${PYTHON:-/usr/bin/python3}
"$python" -m venv "$environment" >/dev/null 2>&1 ||
    left_out "$python makes no environment (apt-get install python3-venv)"
"$environment/bin/pip" install --quiet --disable-pip-version-check \
    'maturin>=1.16,<2' altair distributed hypothesis ipykernel 'moto[server]' mypy nbclient numpy pandas \
    pandas-stubs polars pyarrow pyarrow-stubs pytest tqdm types-tqdm ||
    left_out 'pip cannot install what it needs'
# shellcheck source=/dev/null # made above
. "$environment/bin/activate"
cd python/sim
CARGO_TARGET_DIR=$root/target maturin develop --quiet --locked
mypy --strict terrace_sim
python -m pytest --quiet -p no:cacheprovider tests
python -m pytest --quiet -p no:cacheprovider --doctest-modules --pyargs terrace_sim
