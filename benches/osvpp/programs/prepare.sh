#!/bin/sh
# Makes the Python environment with PySpark that the programs run in, once.
set -eu

. "${0%/*}/environment.sh"

[ -e "$environment/complete" ] && exit 0
rm -rf "$environment"
mkdir -p "${environment%/*}"
# Of the system's packages it needs NumPy, which pyspark.ml asks for.
/usr/bin/python3 -m venv --system-site-packages "$environment"
"$environment/bin/pip" install --quiet "pyspark==$version" >&2 || {
    echo "prepare: pip could not install pyspark $version into $environment; it takes 320 MB from PyPI" >&2
    exit 1
}
: >"$environment/complete"
