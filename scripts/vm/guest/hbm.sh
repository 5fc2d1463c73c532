# DRAM with the processors, and memory without that the firmware's tables say has four times the bandwidth, as HBM.
# machine: -machine hmat=on -m 2G -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,memdev=m1,initiator=0 -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-latency,latency=100 -numa hmat-lb,initiator=0,target=0,hierarchy=memory,data-type=access-bandwidth,bandwidth=10G -numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-latency,latency=100 -numa hmat-lb,initiator=0,target=1,hierarchy=memory,data-type=access-bandwidth,bandwidth=40G
. "$(dirname "$0")/common.sh"
slow=0 fast=1
. "$checks/settles.sh"

case $(uname -r) in
[1-5].* | 6.[0-6].*)
    skip 'HBM' 'Linux 6.7, whose tiers are by the tables of the firmware'
    echo done
    exit
    ;;
esac
check 'doctor names the DRAM' sh -c '"$TERRACE" doctor | grep -q "for --tier node:0"'
check 'the faster memory is no tier' refused 'name --tier node:0' \
    "$TERRACE" run --dram 16M --tier node:1 -- true
check 'never: nothing is on the fast node' settles never 16 1 0 0 0 "$pages" 48 12 900
# Of a program with one thread the kernel shows no access to memory of its own node (change_pte_range).
check 'sampled: the hot part of a program with threads comes to the fast node' \
    settles sampled:interval=2s 16 1 12 0.9 0.2 "$pages" 48 12 900 threads
echo done
