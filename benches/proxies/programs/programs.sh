# Read by build.sh and run.sh: where PROGRAM, the first argument, comes from and what is run of it.

fail() {
    echo "${0##*/}: $1" >&2
    exit 1
}

program=$1
data=${BENCH_DATA:-${TMPDIR:-/tmp}/terrace-bench}/proxies
case $program in
LULESH) origin=https://github.com/LLNL/LULESH commit=3e01c40b3281 folder=. file=lulesh ;;
XSBench) origin=https://github.com/ANL-CESAR/XSBench commit=ba08e5221af6 folder=openmp-threading file=XSBench ;;
RSBench) origin=https://github.com/ANL-CESAR/RSBench commit=34b644787ea9 folder=openmp-threading file=rsbench ;;
SimpleMOC) origin=https://github.com/ANL-CESAR/SimpleMOC commit=4c51b8cb820c folder=src file=SimpleMOC ;;
miniFE) origin=https://github.com/Mantevo/miniFE commit=c79e0f7f7afd folder=openmp/src file=miniFE.x ;;
miniAMR) origin=https://github.com/Mantevo/miniAMR commit=635fef2f8355 folder=openmp file=miniAMR.x ;;
CoMD) origin=https://github.com/ECP-copa/CoMD commit=3d48396b77ca folder=src-openmp file=../bin/CoMD-openmp ;;
graph500) origin=https://github.com/graph500/graph500 commit=014b30606b4f folder=. file=seq-csr/seq-csr ;;
Splash-3) origin=https://github.com/SakalisC/Splash-3 commit=e35efba59688 folder=codes file=apps/barnes/BARNES ;;
*) fail "there is no program $program" ;;
esac
executable=$data/$program/$folder/$file
