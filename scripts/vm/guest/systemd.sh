# With systemd as the first process: units' limits hold, `systemctl stop` reaches the program, a login has a
# scope of its own.
# parameters: init=/lib/systemd/systemd
. "$(dirname "$0")/common.sh"
mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt || echo 'FAILED mount'

unit_limits() {
    # shellcheck disable=SC2046
    systemd-run --quiet --pipe --wait -p MemoryMax=40M -p Delegate=yes \
        -E TERRACE_STATE_DIR="$TERRACE_STATE_DIR" -E PATH="$PATH" --working-directory="$work" \
        "$TERRACE" run --dram 200M --tier /mnt --json run.json -- python3 $(program 80) || return 1
    written=$(python3 -c 'import json; print(json.load(open("run.json"))["runs"][0]["tier_written_bytes"])')
    [ "$written" -gt $((30 << 20)) ] || { echo "the limit of the unit did not hold: $written bytes in the tier"; return 1; }
    nothing_is_left
}
check 'the limit of a unit holds' unit_limits

stopped() {
    systemd-run --quiet --unit=stopped -p Delegate=yes -E TERRACE_STATE_DIR="$TERRACE_STATE_DIR" -E PATH="$PATH" \
        "$TERRACE" run --dram 16M --tier /mnt -q -- sleep 1000 || return 1
    for _ in $(seq 60); do
        pgrep -f 'sleep 1000' | grep -q . && break
        sleep 1
    done
    systemctl stop stopped
    ! pgrep -x sleep || { echo 'the program goes on'; return 1; }
    nothing_is_left
}
check 'systemctl stop reaches the program' stopped
check 'a service that is not delegated' sh -c '
    systemd-run --quiet --pipe --wait -E TERRACE_STATE_DIR="$TERRACE_STATE_DIR" -E PATH="$PATH" \
        "$TERRACE" run --dram 16M --tier /mnt -q -- python3 "$0" 32 | grep "as written"' "$checks/program.py"

# As a login does: its scope must not be split, so there is another one beside it.
beside_a_scope() {
    systemd-run --quiet --scope "$TERRACE" run --dram 16M --tier /mnt -q -- \
        sh -c 'cat /proc/self/cgroup; python3 "$0" 32' "$checks/program.py" >said || return 1
    grep -q 'as written' said && grep -q '/terrace-[0-9]*\.scope/' said || { cat said; return 1; }
    nothing_is_left
}
check 'a scope of its own beside one that is not delegated' beside_a_scope

# As a desktop starts programs: units of the user's own manager.
of_a_user() {
    systemctl start user@0.service || return 1
    export XDG_RUNTIME_DIR=/run/user/0
    for kind in --scope '--pipe --wait'; do
        # shellcheck disable=SC2086 # words
        systemd-run --user --quiet $kind -E TERRACE_STATE_DIR="$TERRACE_STATE_DIR" -E PATH="$PATH" \
            "$TERRACE" run --dram 16M --tier /mnt -q -- python3 "$checks/program.py" 32 | grep 'as written' || return 1
    done
    systemctl stop user@0.service && nothing_is_left
}
check 'units of a user' of_a_user
# The propagation of systemd: all mounts are shared.
mounts() {
    mkdir -p /mnt/ours
    # shellcheck disable=SC2016 # the program's shell expands these
    "$TERRACE" run --dram 16M --footprint 32M --tier /mnt -q -- sh -c '
        mount -t tmpfs none /mnt/ours && echo mounted >/mnt/ours/file
        cd "/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)" && cat memory.max memory.high | xargs' >seen || return 1
    grep -q mounted /mnt/ours/file && umount /mnt/ours && grep -qx 'max max' seen || { cat seen; return 1; }
    ! grep -F /memory. /proc/self/mountinfo || return 1
    nothing_is_left
}
check 'a program sees no limit, and mounts for all' mounts
check 'nothing is left' nothing_is_left
check 'doctor' "$TERRACE" doctor
echo done
