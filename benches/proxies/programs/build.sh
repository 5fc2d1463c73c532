#!/bin/sh
# build.sh PROGRAM: builds PROGRAM below BENCH_DATA from the sources that BENCH_SOURCES names, once; prints the
# file of the program.
set -eu

. "${0%/*}/programs.sh"

[ -x "$executable" ] && echo "$executable" && exit 0
[ -d "${BENCH_SOURCES:-}" ] || fail "name the folder with the sources in BENCH_SOURCES"
mkdir -p "$data"
rm -rf "${data:?}/$program"
if [ -d "$BENCH_SOURCES/$program" ]; then
    cp -r "$BENCH_SOURCES/$program" "$data"
elif [ -f "$BENCH_SOURCES/$program.tar.xz" ]; then
    tar xJf "$BENCH_SOURCES/$program.tar.xz" -C "$data"
else
    fail "there is neither $program nor $program.tar.xz in $BENCH_SOURCES; git clone $origin there, at $commit"
fi

cd "$data/$program/$folder"
{
    case $program in
    LULESH) g++ -O3 -fopenmp -DUSE_MPI=0 ./*.cc -o lulesh ;;
    XSBench | RSBench | SimpleMOC) make COMPILER=gnu ;;
    miniFE)
        make CXX=g++ CC=gcc CPPFLAGS="-I. -I../utils -I../fem -DMINIFE_SCALAR=double \
-DMINIFE_LOCAL_ORDINAL=int -DMINIFE_GLOBAL_ORDINAL=int -DMINIFE_CSR_MATRIX -DMINIFE_REPORT_RUSAGE"
        ;;
    # With MPICH: one process.
    miniAMR) make CC=mpicc LD=mpicc ;;
    CoMD)
        cp Makefile.vanilla Makefile
        # Its list of dependencies asks for makedepend, and nothing needs that.
        make CC=gcc DO_MPI=OFF || [ -x "$executable" ]
        ;;
    graph500)
        printf 'CC = gcc\nCFLAGS = -std=gnu99 -O3\nLDLIBS = -lm -lrt\n' >make.inc
        make seq-csr/seq-csr
        ;;
    Splash-3)
        for part in apps/barnes apps/fmm apps/ocean/contiguous_partitions kernels/fft \
            kernels/lu/contiguous_blocks kernels/lu/non_contiguous_blocks; do
            make -C $part
        done
        ;;
    esac
} >"$data/$program.log" 2>&1 || fail "$program does not build; see $data/$program.log"
[ -x "$executable" ] || fail "$program does not build; see $data/$program.log"
echo "$executable"
