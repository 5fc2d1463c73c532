"""What a stranger tries first of the Python package: most of the lines of its guide, once."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy
import polars
import terrace_sim as ts


class Mru(ts.Replacement):
    """The page that was touched last leaves."""

    def __init__(self, capacity, seed):
        self.pages = {}

    def touch(self, page, write):
        self.pages.pop(page, None)
        self.pages[page] = write

    def evict(self):
        return self.pages.popitem()[0]


addresses = numpy.random.default_rng(1).zipf(1.2, 100_000) % 1000 * 4096
writes = numpy.arange(addresses.size) % 4 == 0
with TemporaryDirectory() as directory:
    path = Path(directory) / "zipf.parquet"
    polars.DataFrame({"address": addresses, "write": writes}).write_parquet(path)
    t = ts.open(path)
    t.info()
    t.head(10).to_pandas()
    t.curve("lru", "s3fifo").plot().to_json()
    found = ts.pages(t, dram=["10%", "25%"], replacement=["lru", "arc", Mru], memory="pcm")
    array = ts.open(addresses, writes=writes, name=str(path))
    again = ts.pages(array, dram=["10%", "25%"], replacement=["lru", "arc", Mru], memory="pcm")
    ts.llc(t, policy=["lru", "drrip"], llc="64K", l1="off", l2="off")
    ts.mix([t, array], llc="64K", l1="off", l2="off", time="1ms", warmup="0ms")
    ts.files(t, dram="64K", flash_size=["off", "256K"])
    assert found.to_polars().height == found.to_pandas().shape[0] == found.to_arrow().num_rows == 6
    assert found.to_polars().equals(again.to_polars())
    assert "misses" in found._repr_html_()
