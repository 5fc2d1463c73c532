# Version 2 of control groups alone; each kind of tier, and devices that are no tier.
# machine: -m 1500M
. "$(dirname "$0")/common.sh"

[ "$(cat /sys/kernel/mm/lru_gen/enabled 2>/dev/null)" ] && lru_gen=there
modes=${lru_gen:+n y}

check 'doctor' "$TERRACE" doctor
check 'doctor says version 2' sh -c '"$TERRACE" doctor | grep -q "version 2"'

for mode in ${modes:-none}; do
    [ "$mode" = none ] || echo "$mode" >/sys/kernel/mm/lru_gen/enabled
    case $mode in y) lru=MGLRU ;; *) lru='active and inactive lists' ;; esac
    for files in ext4 xfs btrfs; do
        case $files in ext4) quiet=-qF ;; xfs) quiet=-qf ;; btrfs) quiet=-qf ;; esac
        if ! grep -qw "$files" /proc/filesystems || ! command -v "mkfs.$files" >/dev/null; then
            skip "run on $files, $lru" 'neither kernel nor packages have it'
            continue
        fi
        "mkfs.$files" $quiet /dev/vda >/dev/null && mount "/dev/vda" /mnt || echo "FAILED mount $files"
        check "run on $files, $lru" runs_and_leaves_nothing 48 --tier /mnt
        check "nothing left on $files" sh -c '[ -z "$(ls -A /mnt | grep -v lost+found)" ]'
        umount /mnt
    done
done

check 'a device with a file system is refused' refused 'btrfs' \
    "$TERRACE" run --dram 24M --tier /dev/vda -- true
wipefs -qa /dev/vda
dd if=/dev/zero of=/dev/vda bs=1M count=200 2>/dev/null
mkfs.ext4 -qF /dev/vdb && mount /dev/vdb /mnt
check 'a mounted device is refused' refused 'mount' \
    "$TERRACE" run --dram 24M --tier /dev/vdb --force -- true
umount /mnt
wipefs -qa /dev/vdb
check 'run on a blank device' runs_and_leaves_nothing 48 --tier /dev/vdb --force
if [ -e /sys/class/zram-control ]; then
    check 'run on zram' runs_and_leaves_nothing 48 --tier zram
else
    skip 'run on zram' 'this kernel has none'
fi

# Runs a program on zram above $1 whose pages are idle for a while.
demotes() {
    output=$("$TERRACE" run --dram 24M --tier "zram+$1" --json run.json -- python3 "$checks/program.py" 48 25) &&
        [ "$output" = '12288 pages as written' ] || { echo "the program said: $output"; return 1; }
    python3 "$checks/judge.py" run.json 48 && nothing_is_left
}
# Kills a run on zram above $1 when it has demoted pages.
killed_above() {
    "$TERRACE" run --dram 24M --tier "zram+$1" -q -- python3 "$checks/program.py" 48 25 >third &
    terrace=$!
    until awk '$3 > 1000 { found = 1 } END { exit !found }' /sys/block/zram*/bd_stat; do
        sleep 1
        kill -0 "$terrace" || return 1
    done
    kill -9 "$terrace"
    wait "$terrace" 2>/dev/null
    while pgrep -f program.py >/dev/null; do sleep 1; done
    grep -q 'as written' third || return 1
    "$TERRACE" doctor --clean && nothing_is_left
}
blank() {
    cmp -n $((1 << 20)) "$1" /dev/zero
}
passes_the_page_cache_by() {
    [ "$("$TERRACE" run --dram 24M --tier "zram+$1" -q -- sh -c 'cat /sys/block/loop*/loop/dio')" = 1 ]
}
if [ -e /sys/block/zram0/backing_dev ]; then
    check 'doctor says that zram can be the upper level' sh -c '"$TERRACE" doctor | grep -q "there, for --tier zram+DIR"'
    check 'zram above a device: idle pages are demoted' demotes /dev/vdb
    check 'the device below zram is blank again' blank /dev/vdb
    check 'kill -9 above a device' killed_above /dev/vdb
    check 'the device is blank again after doctor --clean' blank /dev/vdb
    mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt
    check 'zram above a directory: idle pages are demoted' demotes /mnt
    check 'kill -9 above a directory' killed_above /mnt
    check 'the file below zram is not in the page cache' passes_the_page_cache_by /mnt
    umount /mnt
else
    skip 'zram above a disk' 'this kernel has it without writeback'
fi

mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt
compares() {
    # shellcheck disable=SC2046 # two words
    "$TERRACE" run --dram 50% --compare --tier /mnt --json run.json -- python3 $(program 32) >output &&
        [ "$(sort -u output)" = '8192 pages as written' ] && python3 "$checks/judge.py" run.json 32 && nothing_is_left
}
check 'compare' compares

two_at_once() {
    # shellcheck disable=SC2046 # two words
    "$TERRACE" run --dram 16M --tier /mnt -q -- python3 $(program 32) >first &
    first=$!
    # shellcheck disable=SC2046
    "$TERRACE" run --dram 16M --tier /mnt -q -- python3 $(program 32) >second || return 1
    wait "$first" || return 1
    grep -q 'as written' first && grep -q 'as written' second && nothing_is_left
}
check 'two runs at once' two_at_once

killed() {
    # shellcheck disable=SC2046
    "$TERRACE" run --dram 16M --tier /mnt -q -- python3 $(program 32) >third &
    sleep 8
    kill -9 $!
    wait $! 2>/dev/null
    while pgrep -f program.py >/dev/null; do sleep 1; done
    grep -q 'as written' third || return 1
    "$TERRACE" doctor --clean && nothing_is_left
}
check 'after kill -9 the program goes on, and doctor --clean puts things back' killed
umount /mnt
echo done
