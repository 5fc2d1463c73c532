# Where the Python environment with PySpark is; for sh to read.
version=3.5.6
environment=${BENCH_DATA:-${TMPDIR:-/tmp}/terrace-bench}/pyspark-$version
