"""program.py MIB [SECONDS]: writes MIB MiB, pauses, reads them back in steps of 61 pages, and checks them."""

import sys
import time

PAGE = 4096
pages = int(sys.argv[1]) * 256
memory = bytearray(pages * PAGE)
for page in range(pages):
    memory[page * PAGE : page * PAGE + 8] = (page * 2654435761).to_bytes(8, "little")
time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
for _ in range(2):
    for step in range(pages):
        page = step * 61 % pages
        found = int.from_bytes(memory[page * PAGE : page * PAGE + 8], "little")
        if found != page * 2654435761:
            sys.exit(f"page {page} holds {found}")
print(pages, "pages as written")
