# Two sockets, a processor and memory each: for a program on one of them the other's memory is slower.
# machine: -m 2G -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0,memdev=m0 -numa node,nodeid=1,cpus=1,memdev=m1 -numa dist,src=0,dst=1,val=21
. "$(dirname "$0")/common.sh"
slow=1 fast=0
. "$checks/settles.sh"

check 'both nodes have a processor' sh -c '"$TERRACE" doctor --json=- | python3 -c "
import json, sys
nodes = json.load(sys.stdin)[\"nodes\"]
assert [node[\"cpus\"] for node in nodes] == [1, 1], nodes"'
check 'doctor names the other socket' sh -c '"$TERRACE" doctor | grep -q "for --tier node:1"'
stays_on_its_socket() {
    "$TERRACE" run --dram 16M --tier node:1 -q -- grep Cpus_allowed_list /proc/self/status >output || return 1
    cat output
    grep -q '[[:space:]]0$' output
}
check 'a program stays on its socket' stays_on_its_socket
check 'a caller who may not run there is refused' refused 'none of node 0' \
    taskset -c 1 "$TERRACE" run --dram 16M --tier node:1 -- true
check 'never: nothing is on the near node' settles never 16 1 0 0 0 "$pages" 48 12 900
check 'sampled: the hot part comes to the near node, the cold part stays away' \
    settles sampled:interval=2s 16 1 12 0.9 0.2 "$pages" 48 12 900
echo done
