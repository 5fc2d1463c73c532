# Groups below the caller's, in version 2 of control groups: limits of the caller hold, also in a container.
. "$(dirname "$0")/common.sh"
mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt || echo 'FAILED mount'

export TERRACE
group=/sys/fs/cgroup/limited
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir "$group"
echo $((40 << 20)) >"$group/memory.max"

# Runs a command in the group.
within() {
    sh -c 'echo 0 >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$@"
}
# The caller's limit is 40 MiB; the budget alone would have room for all of the program.
holds() {
    # shellcheck disable=SC2046
    within "$TERRACE" run --dram 200M --tier /mnt --json run.json -- python3 $(program 80) || return 1
    peak=$(cat "$group/memory.peak" 2>/dev/null) || return 0
    [ "$peak" -le $((40 << 20)) ] || { echo "reached $peak"; return 1; }
    written=$(python3 -c 'import json; print(json.load(open("run.json"))["runs"][0]["tier_written_bytes"])')
    [ "$written" -gt $((30 << 20)) ] || { echo "the limit of the caller did not hold: $written bytes in the tier"; return 1; }
    nothing_is_left
}
check 'the limit of the caller holds' holds
check 'the caller is where it was' sh -c "[ -z \"\$(find $group -mindepth 1 -type d)\" ]"

# Says what the program of a run sees of limits: the kernel's files of its group.
limits() {
    # shellcheck disable=SC2016 # the program's shell expands these
    "$@" run --dram 32M --tier /mnt -q $options -- sh -c '
        cd "/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)" && cat memory.max memory.high | xargs'
}
# The leaf to which the caller moves has no limit of its own; what holds is that of the group.
sees() {
    expected=$1
    shift
    seen=$(limits "$@") && [ "$seen" = "$expected" ] || { echo "it sees: $seen, and not $expected"; return 1; }
    nothing_is_left
}
options='--footprint 64M'
check 'a program sees the limit of the caller' sees "$((40 << 20)) max" within "$TERRACE"
check 'at the root a program sees no limit' sees 'max max' "$TERRACE"
options='--footprint 64M --see-limit'
check 'a program may see its limit' sees "$((34 << 20)) $((32 << 20))" "$TERRACE"

# What the program mounts others see, and the other way round: mounts here are private.
mounts() {
    mkdir -p /mnt/ours /mnt/theirs
    cat /proc/self/mountinfo >before
    # shellcheck disable=SC2016
    "$TERRACE" run --dram 32M --footprint 64M --tier /mnt -q -- sh -c '
        mount -t tmpfs none /mnt/ours && echo mounted >/mnt/ours/file
        until [ -e /mnt/theirs/file ]; do sleep 0.1; done
        umount /mnt/ours' &
    for _ in $(seq 600); do
        [ -e /mnt/ours/file ] && break
        sleep 0.1
    done
    grep -q mounted /mnt/ours/file || { kill $!; return 1; }
    mount -t tmpfs none /mnt/theirs && touch /mnt/theirs/file && wait $! || return 1
    umount /mnt/theirs
    cat /proc/self/mountinfo >after
    diff before after && nothing_is_left
}
check 'mounts reach others, and those of others the program' mounts
# As systemd has them.
mount --make-rshared /
check 'the same where all mounts are shared' mounts
mount --make-rprivate /

# As in a container that may make no name spaces.
refused_name_spaces() {
    found=$(cat /proc/sys/user/max_mnt_namespaces)
    echo 0 >/proc/sys/user/max_mnt_namespaces
    "$TERRACE" run --dram 32M --footprint 64M --tier /mnt --json run.json -- true 2>said
    "$TERRACE" doctor >>said
    echo "$found" >/proc/sys/user/max_mnt_namespaces
    grep -q '"memory_view": "limit"' run.json && grep -q 'sees the limit of its group' said &&
        grep -q -e '^-- *memory limits *cannot make a mount name space' said || { cat said; return 1; }
    nothing_is_left
}
check 'a program sees its limit where name spaces are refused' refused_name_spaces

# As in a container: the root of a name space of its own, with the caller in it.
container() {
    # shellcheck disable=SC2046
    within unshare --cgroup --mount sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$@"' \
        sh "$TERRACE" run --dram 24M --tier /mnt --json run.json -- python3 $(program 48) &&
        python3 "$checks/judge.py" run.json 48 && nothing_is_left
}
echo max >"$group/memory.max"
check 'a private name space of groups' container

# One shell in the group starts both.
two_in_one_group() {
    # shellcheck disable=SC2016 # the inner shell expands these
    within sh -c '
        "$TERRACE" run --dram 16M --tier /mnt -q -- python3 $0 32 >first &
        sleep 2
        "$TERRACE" run --dram 16M --tier /mnt -q -- python3 $0 32 >second && wait $!' "$checks/program.py" &&
        grep -q 'as written' first && grep -q 'as written' second && nothing_is_left
}
check 'two runs from one group' two_in_one_group
rmdir "$group" || echo 'FAILED the group is still in use'

subgroups() {
    "$TERRACE" run --dram 16M --tier /mnt -q -- sh -c '
        own=/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)
        mkdir "$own/below" && echo 0 >"$own/below/cgroup.procs" && sleep 2' && nothing_is_left
}
check 'groups that the program makes are waited for' subgroups
echo done
