#!/bin/sh
# boot.sh KERNEL CHECKS [QEMU OPTION]...: boots a kernel (a directory made by kernel.sh) without KVM and has it
# run guest/CHECKS.sh; prints its output.
set -eu

kernel=$1
checks=$2
shift 2
here=$(dirname "$(readlink -f "$0")")
terrace=$(readlink -f "${TERRACE:-$here/../../target/release/terrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A machine may have its own options, kernel parameter and init, given in the first lines of its checks.
said() {
    sed -n "s/^# $1: //p" "$here/guest/$checks.sh"
}
for disk in vda vdb; do
    truncate -s 2G "$work/$disk"
done
mkdir "$work/srv"
built=$(dirname "$terrace")
# Without lines for debuggers, which an emulated machine would read.
install -s "$terrace" "$built/terraced" "$built/terraced-web" "$work/srv/"
cp -r "$here/guest" "$built/accounts" "$built/arrays" "$built/bank" "$built/pages" "$work/srv/"
cp -r "$here/../../target/vm/suite" "$here/../../packaging" "$here/../../Makefile" "$here/../../Cargo.toml" "$work/srv/"
# Where terrace looks for the libraries that it puts into programs.
cp "$built/libterrace_preload_extended.so" "$built/libterrace_preload_objects.so" \
    "$built/libterrace_recorder_plugin.so" "$work/srv/"
# shellcheck disable=SC2046 # options are words
timeout "${TIMEOUT:-1800}" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -nographic -nic none -no-reboot \
    -kernel "$kernel/vmlinuz" -initrd "$kernel/initrd" \
    -append "console=ttyS0 quiet loglevel=3 panic=-1 checks=$checks $(said parameters)" \
    $(said machine | grep . || echo -m 2G) \
    -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$work/srv,mount_tag=checks,security_model=none,readonly=on" \
    -drive "file=$work/vda,if=virtio,format=raw,cache=unsafe" \
    -drive "file=$work/vdb,if=virtio,format=raw,cache=unsafe" "$@" </dev/null | sed -u 's|\r||g'
