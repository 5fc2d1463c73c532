# terraced as a service of systemd: installed, enabled, its target restarted, itself killed, the machine started again,
# removed. What is judged is what the kernel says of the target's group, or the target itself.
# machine: -m 1G -action reboot=reset
# parameters: init=/lib/systemd/systemd kept=/dev/vda
. "$(dirname "$0")/common.sh"
unset TERRACE_STATE_DIR

kept=/var/lib/checks
group=/sys/fs/cgroup/system.slice/cold.service
nested=/sys/fs/cgroup/system.slice/nested.service
mkdir -p "$kept"
boot=$(($(cat "$kept/boot" 2>/dev/null || echo 0) + 1))
echo "$boot" >"$kept/boot"
# The disk as it is, below what lies over the host's directories.
mount /dev/vda /mnt || echo 'FAILED mount'

# Waits until a command succeeds, for as long as an emulated machine may take.
await() {
    for _ in $(seq 300); do
        "$@" && return 0
        sleep 2
    done
    echo "in vain: $*"
    cat "$group/memory.stat" "$group/memory.pressure" | head -n 30
    systemctl --no-pager status terraced
    terrace status
    return 1
}

# Asks for a property of a unit.
property() {
    systemctl show --property "$2" --value "$1"
}

# Prints the MiB of a group that are in the tier alone.
away_of() {
    places=$(cat "$1/memory.swap.current") &&
        cached=$(sed -n 's/^swapcached //p' "$1/memory.stat") &&
        echo $(((places - cached) >> 20))
}
away() {
    away_of "$group"
}
# A third of its 60 MiB is hot.
memory_has_left() {
    [ "$(away)" -ge 16 ] &&
        [ "$(awk '/^(in)?active_anon|^unevictable/ { sum += $2 } END { print int(sum / 1048576) }' "$group/memory.stat")" -le 46 ]
}

# Prints all that can be set of the target's group.
settings() {
    for file in memory.min memory.low memory.high memory.max memory.swap.high memory.swap.max memory.zswap.max \
        memory.oom.group cgroup.freeze cgroup.subtree_control cgroup.max.depth cgroup.max.descendants; do
        [ ! -e "$group/$file" ] || echo "$file $(cat "$group/$file")"
    done
    echo "process $(property cold MainPID) score $(cat "/proc/$(property cold MainPID)/oom_score_adj")"
}
as_found() {
    settings >now
    diff settings now
}

# Prints a value of what terraced says: an expression of the document `it`.
said() {
    terrace status --json | python3 -c "
import json, sys
it = json.load(sys.stdin)['status']
target = next(target for target in it['targets'] if target['name'] == 'cold')
print($1)"
}
is_said() {
    [ "$(said "$1")" = True ]
}

# Prints what is on the disk, but for the state of systemd and these checks: files with sums, and all of our name.
on_disk() {
    cd /mnt && find etc usr own \( -type f -o -type l \) -not -path 'own/var/lib/systemd/*' -not -path 'own/var/lib/checks/*' \
        -not -name '*-' -not -name .pwd.lock -exec sha256sum {} + 2>/dev/null | sort -k 2
    find etc usr own -type l | sort
    find etc usr own /run -iname '*terrace*' | sort
    getent group | sort
    systemctl list-units --all --plain --no-legend 'terrace*'
    cd "$work" || return 1
}

unit() {
    cat >"/etc/systemd/system/$1.service"
    systemctl --quiet enable "$1"
}

prepare() {
    mkswap /dev/vdb >/dev/null
    unit tier <<UNIT
[Unit]
DefaultDependencies=no
Before=swap.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/sbin/swapon /dev/vdb
[Install]
WantedBy=swap.target
UNIT
    # Limits that do not hold, but can be seen. It is asked to end by a file, and then checks its memory.
    unit cold <<UNIT
[Service]
ExecStart=/srv/pages 60 20 1000000
Environment=PAGES_ENOUGH=/run/enough
CPUQuota=30%
MemoryLow=1M
MemoryHigh=200M
MemoryMax=300M
MemorySwapMax=400M
[Install]
WantedBy=multi-user.target
Alias=chill.service
UNIT
    # As a container: its processes are in a group below its own.
    unit nested <<UNIT
[Service]
Delegate=yes
ExecStart=/bin/sh -c 'mkdir $nested/inner && echo 0 >$nested/inner/cgroup.procs && exec python3 /srv/guest/shared.py 48'
[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl start tier cold nested
    # So that they are on the disk before and after.
    touch /etc/group /etc/gshadow
    on_disk >"$kept/before"
    [ "$(away)" = 0 ]
}

makes() {
    make --silent --directory /srv PREFIX=/usr BUILT=/srv "$@"
}

installed() {
    makes install-command install-daemon && getent group terrace &&
        systemd-analyze verify --man=no terraced.service terraced-web.service || return 1
    # Nothing runs before it is asked for, and the example asks for nothing.
    ! systemctl --quiet is-active terraced && ! systemctl --quiet is-enabled terraced || return 1
    mkdir /etc/terrace && cp /usr/share/doc/terrace/examples/terraced.toml /etc/terrace/ && terraced --check || return 1
    cat >/etc/terrace/cold.toml <<TOML
# By another name of the unit.
[target.cold]
unit = "chill"
slowdown = "20%"

[target.nested]
unit = "nested"
dram = "16M"

[tier]
endurance = "1GB"
life = "1days"
TOML
    terraced --check
}

enabled() {
    systemctl enable --now terraced terraced-web &&
        systemctl is-active terraced terraced-web
}

follows() {
    await memory_has_left && as_found
}

# Shared memory is found by the kernel's list alone (memory.reclaim).
shared_has_left() {
    [ "$(away_of "$nested")" -ge 28 ]
}
shared() {
    await shared_has_left
}

# What is said is what the kernel counts, but for what moves meanwhile.
status_is_true() {
    is_said 'target["state"] == "running" and target["trouble"] is None' || { said target; return 1; }
    stated=$(said 'target["instances"][0]["swapped"] >> 20')
    counted=$(away)
    [ $((stated - counted)) -lt 6 ] && [ $((counted - stated)) -lt 6 ] || { echo "said $stated, counted $counted"; return 1; }
}

http() {
    python3 -c '
import sys, urllib.request
print(urllib.request.urlopen("http://127.0.0.1:9847" + sys.argv[1], timeout=60).read().decode())' "$1"
}
is_up() {
    http /metrics | grep -q '^terrace_up 1'
}
metrics() {
    await is_up && http /metrics >metrics && http / | grep -q '<html' || return 1
    swapped=$(sed -n 's/^terrace_target_swapped_bytes{target="cold"} //p' metrics)
    [ "$((${swapped%.*} >> 20))" -ge 10 ] || { cat metrics; return 1; }
}

# Who may read, and who may change.
as() {
    setpriv --reuid=nobody --regid=nogroup --bounding-set=-all "$@"
}
readers() {
    as --groups="$(getent group terrace | cut -d: -f3)" terrace status >/dev/null || return 1
    refused 'root' as --groups="$(getent group terrace | cut -d: -f3)" terrace reload || return 1
    refused 'become one of them' as --clear-groups terrace status
}

reloads() {
    process=$(property terraced MainPID)
    since=$(said 'target["instances"][0]["since_ms"]')
    printf '[target.later]\nunit = "later"\nslowdown = "2%%"\n' >/etc/terrace/later.toml
    terrace reload && is_said '[each["name"] for each in it["targets"]] == ["cold", "later", "nested"]' || return 1
    echo 'unit =' >/etc/terrace/later.toml
    refused 'later.toml' terrace reload || return 1
    refused '' systemctl reload terraced || return 1
    is_said 'len(it["targets"]) == 3' && rm /etc/terrace/later.toml && systemctl reload terraced || return 1
    # With all that it has learned.
    is_said 'len(it["targets"]) == 2 and target["counts"]["reclaimed"] > 0' && [ "$process" = "$(property terraced MainPID)" ] &&
        [ "$since" = "$(said 'target["instances"][0]["since_ms"]')" ]
}

is_found_anew() {
    is_said 'target["counts"]["found"] == 2 and target["state"] == "running"'
}
restarted() {
    systemctl restart cold && await is_found_anew || return 1
    # A new one is let in peace at first.
    [ "$(away)" = 0 ] || { echo "$(away) MiB have left at once"; return 1; }
    settings >settings
    follows
}

is_another() {
    [ "$(property terraced MainPID)" != "$1" ] && [ "$(property terraced SubState)" = running ] && is_said 'target["state"] == "running"'
}
killed() {
    process=$(property terraced MainPID)
    kill -9 "$process"
    await is_another "$process" && as_found && [ "$(property terraced NRestarts)" = 1 ] || return 1
    # The page goes on with the new one, and begins again itself.
    await is_up || return 1
    kill -9 "$(property terraced-web MainPID)"
    await is_up && [ "$(property terraced-web NRestarts)" = 1 ] && follows
}

journal() {
    journalctl --unit terraced --output cat >log && grep -q 'begins with 2 targets' log &&
        grep -q 'cold: found /sys/fs/cgroup/system.slice/cold.service' log && grep -q 'cold: reclaimed' log || { cat log; return 1; }
    # The line of the configuration that was refused is an error.
    journalctl --unit terraced --priority err --output cat | grep -q 'is refused'
}

# Checks all memory of both targets.
is_over() {
    [ "$(property cold SubState)$(property nested SubState)" = deaddead ]
}
sound() {
    touch /run/enough
    await is_over || return 1
    for unit in cold nested; do
        [ "$(property $unit Result)" = success ] && journalctl --unit $unit --output cat --lines 4 | grep 'as written' || return 1
    done
}

keeps_its_budget() {
    # What has come in since is a hundredth at most.
    python3 -c '
import json, sys
before, now = (json.load(open(path))["shares"]["cold"] for path in sys.argv[1:])
print(before, now)
assert before < 980e6, "nothing was spent"
assert now <= before + 15e6, "it began anew"' "$kept/budget.json" /var/lib/terrace/budget.json
}

removed() {
    makes uninstall 2>said && cat said && as_found || return 1
    # What is not ours to remove is named, and stays.
    for file in /etc/terrace/cold.toml /etc/terrace/terraced.toml /var/lib/terrace/budget.json; do
        grep -q "$file stays" said && rm "$file" || return 1
    done
    rmdir /etc/terrace /var/lib/terrace
    ! pgrep -l terraced || return 1
    on_disk >after
    diff "$kept/before" after
}

case $boot in
1)
    check 'a machine with a service' prepare
    settings >settings
    check 'installed' installed
    check 'enabled and started' enabled
    check 'cold memory of a unit leaves DRAM, no limit is set' follows
    check 'shared memory in a group of a group leaves DRAM' shared
    check 'what terraced says is what the kernel counts' status_is_true
    check 'metrics and a page' metrics
    check 'the group reads, root changes, others do neither' readers
    check 'a new configuration, and a wrong one' reloads
    check 'a unit that is restarted is followed' restarted
    check 'killed, both begin again, and the target is as it was' killed
    check 'the journal' journal
    check 'the memory of the targets' sound
    rm /run/enough
    # The budget is written down at the end.
    systemctl stop terraced
    cp /var/lib/terrace/budget.json "$kept/"
    # systemd does not write disks back where the host's files are a container's.
    sync "$kept/budget.json" "$kept/before"
    # Only what is enabled comes again.
    touch /run/again
    systemctl --no-block reboot
    sleep infinity
    ;;
2)
    check 'after a reboot it runs' systemctl is-active terraced terraced-web
    settings >settings
    check 'after a reboot the target is followed' follows
    check 'the budget of writes is kept over a reboot' keeps_its_budget
    check 'removed, all is as before' removed
    check 'the memory of the targets afterwards' sound
    echo done
    ;;
*) echo 'FAILED the machine was started again by itself' ;;
esac
