# Power failures of a disk: what the kernel had in memory alone is gone.
# machine: -m 1G
# medium: disk
checks=$(dirname "$0")
set -- /dev/vdc defaults
. "$checks/crash.sh"
