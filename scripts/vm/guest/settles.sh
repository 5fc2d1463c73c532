# Runs on two nodes, $slow and $fast: where pages come to lie, and what is left.

export PAGES_AT="$work/at" PAGES_ENOUGH="$work/enough"
pages=$(dirname "$TERRACE")/pages
balancing=/proc/sys/kernel/numa_balancing
# Otherwise what a run sets would be what is there.
echo 0 >"$balancing"
mount -t debugfs none /sys/kernel/debug
pace=/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
echo 7000 >"$pace"

# Knobs are as before, and nothing else is left.
nodes_are_left_alone() {
    [ "$(cat "$balancing")" = 0 ] || { echo "numa_balancing is $(cat "$balancing")"; return 1; }
    [ "$(cat "$pace")" = 7000 ] || { echo "the pace is $(cat "$pace")"; return 1; }
    [ "$(cat /sys/kernel/mm/numa/demotion_enabled)" = false ] || { echo 'demotion is on'; return 1; }
    [ ! -s /run/terrace-numa.lock ] || { echo "the lock says $(cat /run/terrace-numa.lock)"; return 1; }
    nothing_is_left
}

# settles OPTIONS DRAM PROCESSES USED HOT COLD PROGRAM...: runs a program beside the oracle until its pages lie as they
# should by the oracle: USED MiB on the fast node, at least HOT of the hot part and at most COLD of the cold part of each process.
# Checks that they came to, and that the budget held at any look of the oracle and of terrace, within 2 %.
settles() {
    options=$1 dram=$2 processes=$3 used=$(($4 * 256)) hot=$5 cold=$6
    shift 6
    rm -f seen seen.stop "$PAGES_AT" "$PAGES_ENOUGH"
    python3 "$checks/oracle.py" "$work/seen" "$fast" "$processes" "$used" "$hot" "$cold" &
    oracle=$!
    # shellcheck disable=SC2086 # words
    output=$("$TERRACE" run --dram "${dram}M" --tier "node:$slow" --migration $options -q --json run.json -- "$@")
    code=$?
    touch seen.stop
    wait "$oracle"
    # Later programs would end at once.
    rm -f "$PAGES_ENOUGH"
    [ "$code" = 0 ] && [ -z "${output##*as written}" ] || { echo "it ended with $code and said: $output"; return 1; }
    python3 -c '
import json, sys
seen, run = json.load(open("seen")), json.load(open("run.json"))["runs"][0]
print(seen, {key: value for key, value in run["nodes"].items() if key != "timeline"})
budget = int(sys.argv[1]) << 20
assert seen["most"] * 4096 <= budget * 1.02, "the budget did not hold"
assert run["nodes"]["peak_fast_bytes"] <= budget * 1.02, "the budget did not hold by the kernel"
assert all(moment["fast_bytes"] <= budget * 1.02 for moment in run["nodes"]["timeline"]), "the budget did not hold"
assert seen["in_succession"] >= 5, "the pages did not come to lie as they should"' "$dram" &&
        nodes_are_left_alone
}
