# Persistent memory: the heap on a mount with DAX, and what it reports about it.
# machine: -m 2G
# parameters: memmap=512M!1G
. "$(dirname "$0")/common.sh"
mkfs.ext4 -qF /dev/pmem0 && mount -o dax=always /dev/pmem0 /mnt || echo 'FAILED mount'
mkdir /mnt/pools && cd /mnt/pools || exit 1
check 'DAX is on' sh -c 'grep -q " /mnt ext4 .*dax=always" /proc/mounts'
accounts=$(dirname "$TERRACE")/accounts
check 'the heap takes it for persistent memory' sh -c '"$0" bank.pool 0 1 30 | grep -q "on persistent memory"' "$accounts"
check 'what was written is there' sh -c '"$0" bank.pool 1 0 10 | grep -q "transfers: 2"' "$accounts"
check 'the pool is sound' "$TERRACE" heap check bank.pool
echo done
