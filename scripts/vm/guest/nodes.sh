# Two nodes, one of them memory without processors, as a CXL expander appears.
# machine: -m 2G -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,memdev=m1 -numa dist,src=0,dst=1,val=20
. "$(dirname "$0")/common.sh"
mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt || echo 'FAILED mount'
check 'two nodes are there' test -d /sys/devices/system/node/node1
check 'doctor' "$TERRACE" doctor
check 'run' runs_and_leaves_nothing 48 --tier /mnt
echo done
