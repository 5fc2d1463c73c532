"""In-memory SQLite database: build, index, then range and point queries that jump about the table."""
import os
import random
import sqlite3

ROWS, PAYLOAD = 500_000, 900
SPREAD = 123_457  # has no factor in common with ROWS, so `key` takes each value below ROWS once
RANGES, RANGE, POINTS = 200, 100, 15_000

rng = random.Random(1)
db = sqlite3.connect(":memory:")
db.execute("PRAGMA temp_store = memory")
db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, key INTEGER, payload BLOB)")
db.executemany(
    "INSERT INTO t VALUES (?, ?, ?)",
    ((i, i * SPREAD % ROWS, rng.randbytes(PAYLOAD)) for i in range(ROWS)),
)
db.execute("CREATE INDEX t_key ON t (key)")

rows = 0
for _ in range(RANGES):
    low = rng.randrange(ROWS - RANGE)
    found = db.execute("SELECT payload FROM t WHERE key >= ? AND key < ?", (low, low + RANGE)).fetchall()
    assert all(len(payload) == PAYLOAD for (payload,) in found)
    rows += len(found)
for _ in range(POINTS):
    i = rng.randrange(ROWS)
    key, payload = db.execute("SELECT key, payload FROM t WHERE id = ?", (i,)).fetchone()
    assert key == i * SPREAD % ROWS and len(payload) == PAYLOAD
    rows += 1

assert rows == RANGES * RANGE + POINTS, rows
print(rows, flush=True)
# Closing the database frees it page by page in random order, which under swap
# takes longer than all the queries; the end of the process frees it at once.
os._exit(0)
