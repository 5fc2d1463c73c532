# Two nodes, one of them memory without processors, as a CXL expander appears.
# machine: -m 2G -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,memdev=m1 -numa dist,src=0,dst=1,val=20
. "$(dirname "$0")/common.sh"
mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt || echo 'FAILED mount'
export PAGES_AT="$work/at"
pages=$(dirname "$TERRACE")/pages
balancing=/proc/sys/kernel/numa_balancing
# Otherwise what a run sets would be what is there.
echo 0 >"$balancing"
mount -t debugfs none /sys/kernel/debug
pace=/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
echo 7000 >"$pace"

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
check 'a policy without a node is refused' refused 'as node:1' \
    "$TERRACE" run --dram 16M --migration hot -- true
check 'a page cache is refused' refused 'cannot address' \
    "$TERRACE" run --dram 16M --tier node:1 --migration fault -- true
check 'swap options are refused' refused '--zswap is of swap' \
    "$TERRACE" run --dram 16M --tier node:1 --zswap off -- true
check 'a user without rights is refused' refused 'terrace' \
    setpriv --reuid 65534 --clear-groups "$TERRACE" run --dram 16M --tier node:1 -- true

# Knobs are as before, and nothing else is left.
nodes_are_left_alone() {
    [ "$(cat "$balancing")" = 0 ] || { echo "numa_balancing is $(cat "$balancing")"; return 1; }
    [ "$(cat "$pace")" = 7000 ] || { echo "the pace is $(cat "$pace")"; return 1; }
    [ "$(cat /sys/kernel/mm/numa/demotion_enabled)" = false ] || { echo 'demotion is on'; return 1; }
    [ ! -s /run/terrace-numa.lock ] || { echo "the lock says $(cat /run/terrace-numa.lock)"; return 1; }
    nothing_is_left
}

# watched POLICY DRAM ARGUMENTS...: runs `pages` beside the oracle, which writes `seen`, and terrace `run.json`.
watched() {
    policy=$1 dram=$2
    shift 2
    rm -f seen seen.stop "$PAGES_AT"
    python3 "$checks/oracle.py" "$work/seen" &
    oracle=$!
    output=$("$TERRACE" run --dram "${dram}M" --tier node:1 --migration "$policy" -q --json run.json -- "$pages" "$@")
    code=$?
    touch seen.stop
    wait "$oracle"
    [ "$code" = 0 ] && [ "$output" = "$(($1 * 256)) pages as written" ] ||
        { echo "it ended with $code and said: $output"; return 1; }
    nodes_are_left_alone
}
# placed DRAM HOT COLD: checks that the budget held at any look of the oracle and of terrace, within 2 %, and that at
# the last look at least HOT of the hot part and at most COLD of the cold part were on node 0, in each process.
placed() {
    python3 -c '
import json, sys
seen, run = json.load(open("seen")), json.load(open("run.json"))["runs"][0]
print(seen, {key: value for key, value in run["nodes"].items() if key != "timeline"})
budget, hot, cold = int(sys.argv[1]) << 20, float(sys.argv[2]), float(sys.argv[3])
assert seen["looks"] >= 5, "the oracle was too slow"
assert seen["most"] * 4096 <= budget * 1.02, "the budget did not hold"
assert run["nodes"]["peak_fast_bytes"] <= budget * 1.02, "the budget did not hold by the kernel"
assert all(moment["fast_bytes"] <= budget * 1.02 for moment in run["nodes"]["timeline"]), "the budget did not hold"
assert seen["placed"], "the oracle saw no process"
for process, (of_hot, of_cold) in seen["placed"].items():
    assert of_hot >= hot, f"of the hot part {of_hot} is on node 0"
    assert of_cold <= cold, f"of the cold part {of_cold} is on node 0"
' "$@"
}
never() {
    watched never 16 48 12 8 && placed 0 0 0
}
check 'never: nothing is on node 0' never
fills() {
    watched benefit 16 48 12 15 && placed 16 0 0.5 && python3 -c '
import json
seen = json.load(open("seen"))
assert seen["most"] >= 3500, "node 0 was not used"'
}
check 'benefit: node 0 is used up to the budget' fills
sampled() {
    watched sampled:interval=2s 16 48 12 60 && placed 16 0.9 0.2
}
check 'sampled: the hot part comes to node 0, and the cold part leaves it' sampled
hot() {
    watched hot:threshold=4s,period=2s 16 48 12 60 && placed 16 0.9 0.2
}
check 'hot: the hot part comes to node 0, and the cold part leaves it' hot
threads() {
    watched sampled:interval=2s 16 48 12 60 threads && placed 16 0.9 0.2
}
check 'a program with threads' threads
# The two have 36 MiB in common, and 6 MiB of hot pages each.
forks() {
    watched sampled:interval=2s 8 48 12 60 fork && placed 8 0 0.2
}
check 'a program that forks' forks

# ends SIGNAL CODE: sends a signal to terrace in the middle of a run.
ends() {
    env --default-signal=INT \
        "$TERRACE" run --dram 16M --tier node:1 --migration sampled:interval=1s -q -- "$pages" 48 12 600 &
    terrace=$!
    for _ in $(seq 60); do
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
killed() {
    ends KILL 137 || return 1
    pgrep -x pages >/dev/null || { echo 'the program did not go on'; return 1; }
    [ "$(cat "$balancing")" = 1 ] || { echo 'there is nothing to clean'; return 1; }
    "$TERRACE" doctor --clean
    [ "$(cat "$balancing")" = 0 ] || { echo 'the knob was not put back while the program runs'; return 1; }
    pkill -x pages
    while pgrep -x pages >/dev/null; do sleep 0.2; done
    "$TERRACE" doctor --clean && nodes_are_left_alone
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
