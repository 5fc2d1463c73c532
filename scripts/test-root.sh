#!/bin/sh
# Runs the tests that `cargo test` ignores because they need root, swap or devices (`make test-root`).
# Names what this machine lacks, and leaves out the tests that need it.
set -eu

skips='--skip in_another_process --skip shared_data --skip a_browser_draws'
lacks() {
    echo "test-root: LEFT OUT: $1: $2" >&2
    skips="$skips --skip $1"
}
has_any() {
    for program in "$@"; do command -v "$program" >/dev/null && return; done
    return 1
}

[ "$(id -u)" = 0 ] || { echo 'test-root: this needs root' >&2; exit 1; }
[ -d /sys/fs/cgroup/memory ] ||
    lacks nested:: 'memory cgroups of version 1 (make test-vm has those of version 2)'
[ -e /sys/block/zram0 ] || [ -e /sys/class/zram-control ] ||
    for test in compressed_memory_is_a_tier written_to_compressed_memory; do lacks "$test" 'zram'; done
[ -e /sys/class/zram-control/hot_add ] || lacks a_zram_device 'zram that adds devices'
[ -e /sys/block/zram0 ] && [ ! -e /sys/block/zram0/backing_dev ] ||
    lacks zram_that_writes_nothing_back 'a kernel without CONFIG_ZRAM_WRITEBACK'
grep -q ^swpout_zero /proc/vmstat ||
    lacks pages_of_zeros 'Linux 6.12, which counts pages of zeros'
[ -e /sys/module/zswap/parameters/enabled ] || lacks zswap 'zswap in the kernel'
[ "$(cat /proc/sys/vm/page-cluster)" != 0 ] ||
    lacks the_knob_is_as_found 'a vm.page-cluster other than 0'
id nobody >/dev/null 2>&1 || for test in who_called_sudo root_is_kept may_not_run runs_as_the_user; do
    lacks "$test" 'a user named nobody'
done
modprobe -q btrfs 2>/dev/null || true
[ -c /dev/fuse ] || for test in mount recorded_requests reads_ahead endurance_budget_is_kept; do
    lacks "$test" /dev/fuse
done
{ has_any mkfs.btrfs && grep -qw btrfs /proc/filesystems; } ||
    lacks a_directory_of_btrfs_is_a_tier btrfs
has_any mkfs.btrfs mkfs.xfs || lacks shares_its_blocks 'mkfs.btrfs or mkfs.xfs'
has_any mkfs.ext4 || for test in after_a_power_cut a_cut_loses on_a_full_disk holds_the_flash_level \
    of_this_kernel; do
    lacks "$test" 'mkfs.ext4'
done
[ "$(printf '6.18\n%s\n' "$(uname -r)" | sort -V | head -1)" = 6.18 ] ||
    lacks of_this_kernel 'Linux 6.18, whose read-ahead it is'
[ -e /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device ] &&
    [ -e "/sys/dev/block/$(stat -c %Hd:%Ld .)/queue" ] ||
    lacks on_a_slow_disk 'block groups of version 1, and sources on a whole disk'
has_any ngspice || lacks ngspice ngspice
has_any redis-server || lacks snapshot_of_redis 'redis-server and redis-cli'
losetup --find >/dev/null 2>&1 || for test in device after_a_power_cut a_cut_loses full_disk of_this_kernel; do
    lacks "$test" 'loop devices'
done
[ -e "/sys/dev/block/$(stat -c %Hd:%Ld .)" ] ||
    lacks the_disk_of_this_file_is_in_use 'sources on a block device'
[ "$(df --output=avail -k . | tail -1)" -gt 4194304 ] || lacks a_tier_grows '4 GiB of free disk'

# shellcheck disable=SC2086 # names of tests have no spaces
exec "${CARGO:-cargo}" test --workspace --locked -- --ignored $skips
