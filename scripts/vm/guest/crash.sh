# A pool of the heap on $1, which survives the machine, mounted with the options $2: what is in it is checked, and then
# written until the machine is killed (crash.sh in the directory above).
. "$checks/common.sh"
bank=$(dirname "$TERRACE")/bank
if ! blkid "$1" >/dev/null; then
    # Blocks of a page, which DAX needs and small file systems do not have otherwise.
    mkfs.ext4 -qF -b 4096 "$1"
fi
mount -o "$2" "$1" /mnt || {
    echo "FAILED mount $1"
    exit 1
}
if [ -e /mnt/bank.pool ]; then
    check 'no money has come or gone' sh -c '"$0" /mnt/bank.pool check >found' "$bank"
    check 'the pool is sound' "$TERRACE" heap check /mnt/bank.pool
    cat found
fi
echo writing
exec "$bank" /mnt/bank.pool
