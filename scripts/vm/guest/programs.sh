# Extended memory and turns of programs, on this kernel.
# machine: -m 2G
. "$(dirname "$0")/common.sh"
pages=$(dirname "$TERRACE")/pages
mkfs.ext4 -qF /dev/vda && mount /dev/vda /mnt || echo 'FAILED mount'
export TERRACE

# What `pages` maps is large enough to be extended: three quarters of it have no room in DRAM, and come back to be read.
extends() {
    output=$("$TERRACE" extend --dram 8M "$@" --json extend.json -- "$pages" 32 4 2) &&
        [ "$output" = '8192 pages as written' ] || { echo "the program said: $output"; return 1; }
    python3 -c '
import json
found = json.load(open("extend.json"))["measured"]
print(found)
assert found["footprint_bytes"] == 32 << 20, "not all was extended"
assert found["peak_dram_bytes"] <= 8 << 20, "it had more DRAM"
assert found["evicted_clean"] + found["evicted_dirty"] >= 6144, "pages stayed in DRAM"
assert found["fetches"] + found["prefetched"] >= 6144, "pages did not come back"' || return 1
    [ -z "$(find /mnt -name 'terrace*')" ] || { echo "left: $(ls /mnt)"; return 1; }
}
# Linux 6.8 is the first that can move pages of userfaultfd.
if printf '6.8\n%s\n' "$(uname -r)" | sort -V -C; then
    check 'extend: emulated memory' extends --memory pcm
    check 'extend: a file' extends --memory /mnt
    check 'extend: a block device' extends --memory /dev/vdb
else
    check 'extend is refused before Linux 6.8' refused '6.8' "$TERRACE" extend --dram 8M -- "$pages" 32 4 2
fi

# Both on one CPU, with turns of a length.
takes_turns() {
    "$TERRACE" sched run --cpus 0 "$@" -q --json sched.json -- "$pages" 16 8 6 -- "$pages" 16 8 6 >said || return 1
    [ "$(grep -c '4096 pages as written' said)" = 2 ] || { cat said; return 1; }
    ! pgrep -x pages || { echo 'a program is left'; return 1; }
    python3 -c '
import json
found = json.load(open("sched.json"))["policies"][0]
print(found)
assert found["turn_asked_s"] and found["mechanism"], "no turns were made"
assert all(it["cpu_bound"] and it["turns"] > 1 for it in found["programs"]), "they took no turns"'
}
takes_turns_of() {
    takes_turns --slice "$1ms" && python3 -c '
import json, sys
found = json.load(open("sched.json"))["policies"][0]
assert found["turn_asked_s"] * 1000 == float(sys.argv[1]), "others were asked for"' "$1"
}
check 'sched: turns as terrace likes' takes_turns
check 'sched: turns of 80 ms' takes_turns_of 80
check 'nothing is left' nothing_is_left
check 'doctor' "$TERRACE" doctor
echo done
