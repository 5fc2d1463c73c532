# Power failures of persistent memory: a DAX mount, on which the heap maps with MAP_SYNC.
# machine: -m 2G
# parameters: memmap=256M!1G
# medium: memory
checks=$(dirname "$0")
set -- /dev/pmem0 dax=always
. "$checks/crash.sh"
