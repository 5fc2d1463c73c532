# Two nodes, one of them memory without processors, as a CXL expander appears.
# machine: -m 2G -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,memdev=m1 -numa dist,src=0,dst=1,val=20
. "$(dirname "$0")/common.sh"
slow=1 fast=0
. "$checks/settles.sh"
mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt || echo 'FAILED mount'

check 'two nodes are there' test -d /sys/devices/system/node/node1
check 'doctor' "$TERRACE" doctor
check 'doctor names the node' sh -c '"$TERRACE" doctor | grep -q "for --tier node:1"'
check 'doctor measures both nodes' sh -c '"$TERRACE" doctor --json=- | python3 -c "
import json, sys
nodes = json.load(sys.stdin)[\"nodes\"]
assert [node[\"id\"] for node in nodes] == [0, 1], nodes
assert [node[\"cpus\"] for node in nodes] == [2, 0], nodes
assert all(node[\"load_ns\"] > 0 for node in nodes), nodes
assert nodes[1][\"distances\"] == [[0, 20], [1, 10]], nodes"'
check 'swap beside two nodes' runs_and_leaves_nothing 48 --tier /mnt

check 'a node with processors is refused' refused 'processors of its own' \
    "$TERRACE" run --dram 16M --tier node:0 -- true
check 'a node that is not there is refused' refused 'no memory node 7; there are 0, 1' \
    "$TERRACE" run --dram 16M --tier node:7 -- true
check 'a budget above the fast node is refused' refused 'larger than the' \
    "$TERRACE" run --dram 1500M --tier node:1 -- true
check 'a policy without a node is refused' refused 'as node:1' \
    "$TERRACE" run --dram 16M --migration hot -- true
check 'a page cache is refused' refused 'cannot address' \
    "$TERRACE" run --dram 16M --tier node:1 --migration fault -- true
check 'swap options are refused' refused '--zswap is of swap' \
    "$TERRACE" run --dram 16M --tier node:1 --zswap off -- true
check 'a user without rights is refused' refused 'terrace' \
    setpriv --reuid 65534 --clear-groups "$TERRACE" run --dram 16M --tier node:1 -- true

# A caller who may have memory of node 0 alone, as in a container.
confined() {
    echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
    mkdir -p /sys/fs/cgroup/confined
    echo 0 >/sys/fs/cgroup/confined/cpuset.mems
    refused 'memory of node 0 alone, not of node 1' sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' \
        /sys/fs/cgroup/confined "$TERRACE" run --dram 16M --tier node:1 -- true
    code=$?
    rmdir /sys/fs/cgroup/confined
    echo -cpuset >/sys/fs/cgroup/cgroup.subtree_control
    return "$code"
}
check 'a node that the caller may not use is refused' confined
check 'a slow node that is full' refused 'more than was free on the slow node' \
    "$TERRACE" run --dram 16M --tier node:1 --migration never -- "$pages" 1100 1 1

check 'never: nothing is on node 0' settles never 16 1 0 0 0 "$pages" 48 12 900
check 'benefit: node 0 is used up to the budget' settles benefit 16 1 15 0 0.5 "$pages" 48 12 900
for policy in sampled:interval=2s hot:threshold=4s,period=2s; do
    check "$policy: the hot part comes to node 0, the cold part stays away" \
        settles "$policy" 16 1 12 0.9 0.2 "$pages" 48 12 900
done
check 'a program with threads' settles sampled:interval=2s 16 1 12 0.9 0.2 "$pages" 48 12 900 threads
# The two have 36 MiB in common, and 12 MiB of hot pages each; 8 MiB have room.
check 'a program that forks' settles sampled:interval=2s 8 2 7 0 0.1 "$pages" 48 12 900 fork

# Writes to arrays.toml what terrace place would of `kept` in arrays.c.
place_kept() {
    line() {
        grep -n "$1" "$checks/arrays.c" | cut -d: -f1
    }
    start=$(nm "$arrays" | sed -n 's/ T _start$//p')
    # The instruction to which `main` returns.
    halt=$(objdump -d --disassemble=_start "$arrays" | sed -n 's/^ *\([0-9a-f]*\):.*hlt.*/\1/p')
    printf 'placement = 1\nprogram = "arrays"\nfast_bytes = %d\n' $((8 << 20))
    for call in 'keep(BYTES); // main' 'keep(BLOCK); // main'; do
        printf '[[site]]\nname = "keep"\nbytes = %d\ncalls = [' $((8 << 20))
        printf '"arrays!keep (arrays.c:%d)", ' "$(line '// kept')"
        printf '"arrays!main (arrays.c:%d)", "arrays!_start+0x%x"]\n' "$(line "$call")" $((0x$halt - 0x$start))
    done
}
arrays=$(dirname "$TERRACE")/arrays
place_kept >arrays.toml
kept='--place arrays.toml'
check 'a placement: what it names is on node 0, nothing else' settles "never $kept" 16 1 7 1 0 "$arrays" 900
check 'a placement: freed blocks leave node 0' settles "never $kept" 16 1 7 1 0 "$arrays" 900 recycles
check 'a placement: what it names stays beside a policy, which has the rest' \
    settles "sampled:interval=2s $kept" 14 1 13 1 0.8 "$arrays" 900 reads
check 'a placement: a child has no more on node 0' settles "never $kept" 12 2 7 0 0 "$arrays" 900 fork

# ends SIGNAL CODE: sends a signal to terrace in the middle of a run.
ends() {
    env --default-signal=INT \
        "$TERRACE" run --dram 16M --tier node:1 --migration sampled:interval=1s -q -- "$pages" 48 12 600 &
    terrace=$!
    for _ in $(seq 240); do
        [ "$(cat "$balancing")" = 1 ] && pgrep -x pages >/dev/null && break
        sleep 0.5
    done
    [ "$(cat "$balancing")" = 1 ] || { echo 'the knob was not set'; return 1; }
    [ "$(cat "$pace")" = 1000 ] || { echo 'the pace was not set'; return 1; }
    sleep 3
    kill "-$1" "$terrace"
    wait "$terrace" 2>/dev/null
    code=$?
    [ "$code" = "$2" ] || { echo "ended with $code"; return 1; }
}
after_a_signal() {
    ends "$1" "$2" && ! pgrep -x pages && nodes_are_left_alone
}
check 'nothing is left after SIGTERM' after_a_signal TERM 143
check 'nothing is left after SIGINT' after_a_signal INT 130
cleans_beside_the_program() {
    ends KILL 137 || return 1
    pgrep -x pages >/dev/null || { echo 'the program did not go on'; return 1; }
    [ "$(cat "$balancing")" = 1 ] || { echo 'there is nothing to clean'; return 1; }
    "$TERRACE" doctor --clean
    [ "$(cat "$balancing")" = 0 ] || { echo 'the knob was not put back while the program runs'; return 1; }
}
killed() {
    cleans_beside_the_program
    code=$?
    pkill -x pages
    while pgrep -x pages >/dev/null; do sleep 0.2; done
    [ "$code" = 0 ] && "$TERRACE" doctor --clean && nodes_are_left_alone
}
check 'after kill -9 the program goes on, and doctor --clean puts the knobs back' killed

compares() {
    "$TERRACE" run --dram 8M --compare --tier node:1 --migration hot --json run.json -- "$pages" 32 4 3 >output ||
        return 1
    cat output
    [ "$(grep -c '8192 pages as written' output)" = 5 ] || return 1
    python3 -c '
import json
ways = [(way["way"], way.get("migration")) for way in json.load(open("run.json"))["runs"]]
assert [way for way, _ in ways] == ["all-dram", "kernel-tiering", "terrace", "terrace"], ways
assert ways[2][1].startswith("never") and ways[3][1].startswith("hot"), ways'
    nodes_are_left_alone
}
check 'compare' compares
echo done
