#!/bin/sh
# kernel.sh SUITE DIRECTORY: unpacks the newest kernel of a Debian release into DIRECTORY:
# vmlinuz, release (its name), initrd (its modules and `init`, to be given to qemu).
set -eu

suite=$1
directory=$2
here=$(dirname "$(readlink -f "$0")")
# Modules in this order; a module that a kernel has built in, or does not have, is skipped.
modules='crc32c_generic libcrc32c virtio_pci virtio_blk 9pnet_virtio 9p overlay ext4 xfs btrfs loop zram
    nd_e820 nd_pmem dax_pmem'

fail() {
    echo "kernel: $1" >&2
    exit 1
}

mkdir -p "$directory/lists/partial" "$directory/archives/partial"
directory=$(readlink -f "$directory")

# Takes packages from this machine's own sources, with the keys that it trusts, and leaves its lists
# unchanged.
site=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' 'Origin: Debian' | head -n 1)
[ -n "$site" ] || fail 'this machine takes no packages from Debian; kernels are tested as its packages'
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" \
    >"$directory/sources.list"
apt() {
    command=$1
    shift
    "$command" -qq -o Dir::Etc::sourcelist="$directory/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$directory/lists" -o Dir::Cache="$directory" \
        -o APT::Sandbox::User=root "$@"
}
apt apt-get update
image=$(apt apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[^ ]*\).*/\1/p' | head -n 1)
[ -n "$image" ] || fail "there is no linux-image-amd64 in $suite"
release=${image#linux-image-}
if [ "$(cat "$directory/release" 2>/dev/null)" != "$release" ]; then
    rm -rf "$directory/unpacked"
    (cd "$directory" && apt apt-get download "$image")
    dpkg -x "$directory/$image"_*.deb "$directory/unpacked"
    rm "$directory/$image"_*.deb
    cp "$directory/unpacked/boot/vmlinuz-$release" "$directory/vmlinuz"
    # Since Debian 13 /lib is a link, and packages have their modules below /usr.
    [ -d "$directory/unpacked/lib" ] || ln -s usr/lib "$directory/unpacked/lib"
    depmod -b "$directory/unpacked" "$release"
    echo "$release" >"$directory/release"
fi

root=$directory/root
rm -rf "$root"
mkdir -p "$root/bin" "$root/modules"
cp /bin/busybox "$root/bin/"
install -m 755 "$here/init" "$root/init"
for module in $modules; do
    modprobe --show-depends -d "$directory/unpacked" -S "$release" "$module" 2>/dev/null || true
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r file; do
    name=$(basename "$file")
    case $name in
    *.xz) xz -dc "$file" >"$root/modules/${name%.xz}" ;;
    *.zst) zstd -dcq "$file" >"$root/modules/${name%.zst}" ;;
    *) cp "$file" "$root/modules/$name" ;;
    esac
    name=${name%.xz}
    echo "${name%.zst}" >>"$root/modules/order"
done
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$directory/initrd"
rm -rf "$root"
echo "$release"
