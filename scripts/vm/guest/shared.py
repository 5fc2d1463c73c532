"""shared.py MIB: writes MIB MiB of shared memory, waits until there is a file /run/enough, and checks them."""

import mmap
import os
import sys
import time

PAGE = 4096
size = int(sys.argv[1]) << 20
memory = mmap.mmap(-1, size)
for at in range(0, size, PAGE):
    memory[at : at + 8] = at.to_bytes(8, "little")
while not os.path.exists("/run/enough"):
    time.sleep(1)
for at in range(0, size, PAGE):
    if memory[at : at + 8] != at.to_bytes(8, "little"):
        sys.exit(f"the page at {at} is wrong")
print(size // PAGE, "pages as written")
