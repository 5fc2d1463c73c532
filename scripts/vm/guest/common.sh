# Common parts of the checks of all machines. A check is a name and a command; it prints `ok NAME` or `FAILED NAME`
# with what the command said.

checks=$(dirname "$(readlink -f "$0")")
work=$(mktemp -d)
cd "$work" || exit 1
export TERRACE_STATE_DIR=/var/lib/terrace

check() {
    name=$1
    shift
    if said=$("$@" 2>&1); then
        echo "ok $name"
    else
        echo "FAILED $name"
        echo "$said" | tail -n 20 | sed 's/^/    /'
    fi
}

# Says why a check cannot be made on this kernel.
skip() {
    echo "SKIPPED $1: $2"
}

# Prints the arguments of Python for a program of $1 MiB that writes all of it and reads it back out of order.
program() {
    echo "$checks/program.py $1"
}

# Runs that program of $1 MiB with half of its memory; checks its output and that nothing is left.
runs_and_leaves_nothing() {
    megabytes=$1
    shift
    # shellcheck disable=SC2046 # two words
    output=$("$TERRACE" run --dram $((megabytes / 2))M "$@" --json run.json -- python3 $(program "$megabytes")) &&
        [ "$output" = "$((megabytes * 256)) pages as written" ] ||
        { echo "the program said: $output"; return 1; }
    python3 "$checks/judge.py" run.json "$megabytes" && nothing_is_left
}

nothing_is_left() {
    left=$(
        tail -n +2 /proc/swaps
        find /sys/fs/cgroup -name 'terrace*' -type d 2>/dev/null
        find /var/lib/terrace /mnt -name 'terrace-*' 2>/dev/null
        ls -d /sys/block/zram[1-9]* 2>/dev/null
        cat /sys/block/loop*/loop/backing_file 2>/dev/null
    )
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}

# Checks that a command is refused, with a sentence that contains $1.
refused() {
    words=$1
    shift
    if said=$("$@" 2>&1); then
        echo "was not refused: $said"
        return 1
    fi
    case $said in
    *"$words"*) ;;
    *) echo "said: $said"; return 1 ;;
    esac
}

echo "kernel $(uname -r)"
