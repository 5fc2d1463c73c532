"""Repeats the slides of Koob 2010 by simulation: PostMark over a page cache, emulated flash and a disk.

Usage: repeat.py [--quick]    with a sixty-fourth of everything; results stay in the work directory
"""

import itertools
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import percent, say, table  # noqa: E402

# The part of the slides' files, transactions and memories that is simulated, and smaller parts to compare it with.
PART, QUICK_PART, SMALLER = 1, 64, [16, 64]
# Gigabytes: the page cache, with no flash and with some of it.
DRAM_GB, EMULATED_DRAM_GB, FLASH_GB = [1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4], 4
# DRAM of what has only one.
ONE_DRAM_GB = 2
SLOW_DOWNS = [1, 2, 5, 10, 20, 50, 100]
ADMISSIONS = ["all", "second-read", "sketch", "sketch:reads=3", "sequential+second-read"]
TENTHS = 10
ORGANISATIONS = ["extended", "multilevel", "memory"]
# Windows of read-ahead, and the part of the slides' files, transactions and memories with which they are simulated.
WINDOWS, AHEAD_PART = ["off", "32K", "128K", "512K"], 64
# A reader's file in gigabytes of the slides, its reads as a multiple of the file's pages, and streams that are mixed.
READ_GB, READS, STREAMS = 8, 4, 8
# As the kernel does, written pages wait in DRAM.
KERNEL = {"writes": "back"}
PAGE = 4096
# What stands in `terrace list memories` for each technology of the slides.
TECHNOLOGIES = {"DRAM": ["dram"], "MLDRAM": ["ml-dram"], "MRAM": ["stt-mram"], "FRAM": ["fram"], "PRAM": ["pcm"], "NOR flash": ["nor"],
                "NAND flash": ["nand-slc", "nand-mlc", "nand-tlc"]}
FIGURES = ["cell area", "endurance"]


class Scale:
    """PostMark of the slides, or a part of it: traces, and sizes of memories."""

    def __init__(self, work, paper, part):
        self.work, self.postmark, self.part = work, paper["postmark"], part
        work.mkdir(parents=True, exist_ok=True)

    def size(self, gigabytes):
        return f"{(gigabytes << 30) // PAGE // self.part}p"

    def trace(self, processes=1):
        """Returns the trace of a series of processes; twice as many files fit into the footprint as there are."""
        path = self.work / f"postmark-{processes}-of-{self.part}.parquet"
        if not path.exists():
            say(f"making {path.name}")
            slot = -(-self.postmark["most_bytes"] // PAGE) * PAGE
            generate("postmark", path, footprint=2 * self.postmark["files"] // self.part * slot, accesses="1000M",
                     transactions=self.postmark["transactions"] // self.part, processes=processes,
                     least=self.postmark["least_bytes"], most=self.postmark["most_bytes"])
        return path

    def scan(self, gigabytes):
        """Returns a trace that reads so much once, eight bytes of each page."""
        path = self.work / f"scan-{gigabytes}-of-{self.part}.parquet"
        if not path.exists():
            say(f"making {path.name}")
            pages = (gigabytes << 30) // PAGE // self.part
            generate("strided", path, footprint=pages * PAGE, accesses=pages, stride=PAGE)
        return path

    def reader(self, name):
        """Returns the trace of a reader of one file, a page at a time."""
        path = self.work / f"{name}-of-{self.part}.csv"
        if not path.exists():
            say(f"making {path.name}")
            pages = (READ_GB << 30) // PAGE // self.part
            rows = (f"{page * PAGE},{PAGE},r\n" for page in READERS[name](pages, READS * pages))
            path.write_text("address,size,op\n" + "".join(rows))
        return path


def one_stream(pages, reads):
    return (at % pages for at in range(reads))


def mixed_streams(pages, reads):
    """Each stream reads a part of its own, and they take turns."""
    part = pages // STREAMS
    return (at % STREAMS * part + at // STREAMS % part for at in range(reads))


def anywhere(pages, reads):
    draw = random.Random(1)
    return (draw.randrange(pages) for _ in range(reads))


def pairs(pages, reads):
    """Records that begin anywhere and are read by two reads in a row."""
    return (page + at for page in anywhere(pages - 1, reads // 2) for at in (0, 1))


READERS = {"one stream": one_stream, "mixed streams": mixed_streams, "anywhere": anywhere, "pairs": pairs}


def generate(kind, path, **options):
    unfinished = path.with_suffix(".partial.parquet")
    subprocess.run([common.TERRACE, "trace", "gen", kind, "--quiet", "-o", unfinished, *arguments(options)], check=True)
    unfinished.rename(path)


def arguments(options):
    """Returns options as on the command line: lists are swept, underscores stand for dashes."""
    found = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value]
        found += ["--" + name.replace("_", "-"), ",".join(map(str, values))]
    return found


def simulate(traces, **options):
    """Runs `terrace sim files`; returns what is kept of each machine."""
    command = [common.TERRACE, "sim", "files", "--quiet", "--json=-", *arguments(KERNEL | options), *traces]
    return [kept(run) for run in common.output_json(command)["runs"]]


def kept(run):
    """Returns the figures of a machine, without its course of time."""
    settings = {key: run["settings"][key] for key in ("dram_pages", "flash_pages", "organisation", "admission",
                                                      "flash_slow_down", "memory")}
    names = ("time_ns", "read_rate", "write_rate", "hit_rate", "dram_hit_rate", "flash_hit_rate", "reads", "writes",
             "flash_written_bytes", "lifetime_years")
    return {"settings": settings, **{name: run[name] for name in names}}


def read_ahead(traces, **options):
    """Returns the figures of machines with each window, without flash and with it."""
    command = [common.TERRACE, "sim", "files", "--quiet", "--json=-", *arguments(KERNEL | options), "--readahead", ",".join(WINDOWS),
               *traces]
    names = ("time_ns", "read_rate", "reads", "hit_rate", "dram_hit_rate", "flash_hit_rate", "dram_hits", "flash_hits", "disk_reads",
             "disk_requests", "seeks", "ahead", "ahead_used", "ahead_late", "ahead_wasted", "unused_rate", "flash_written_bytes")
    settings = ("flash_pages", "readahead_pages")
    return [{"settings": {key: run["settings"][key] for key in settings}, **{name: run[name] for name in names}}
            for run in common.output_json(command)["runs"]]


def course(traces, parts, **options):
    """Returns the miss rates over a run, in so many parts."""
    command = [common.TERRACE, "sim", "files", "--quiet", "--json=-", *arguments(KERNEL | options), *traces]
    epochs = common.output_json(command)["runs"][0]["timeline"]
    found, step = [], len(epochs) / parts
    for part in range(parts):
        inside = epochs[round(part * step):round((part + 1) * step)]
        rates = {name: [one[name] for one in inside if one[name] is not None]
                 for name in ("dram_miss_rate", "flash_miss_rate")}
        found.append({"requests": inside[-1]["requests"],
                      **{name: common.mean(of) if of else None for name, of in rates.items()}})
    return found


def measure(paper, quick):
    work = common.work_directory(FOLDER)
    scale = Scale(work, paper, QUICK_PART if quick else PART)
    one = scale.trace()
    flash = {"dram": scale.size(ONE_DRAM_GB), "flash_size": scale.size(FLASH_GB)}
    emulated = flash | {"memory": "dram", "admission": "all"}
    say("simulating the unmodified kernel")
    unmodified = simulate([one], dram=[scale.size(dram) for dram in DRAM_GB])
    say("simulating emulated flash")
    slowed = simulate([one], **emulated | {"dram": [scale.size(dram) for dram in EMULATED_DRAM_GB]},
                      flash_slow_down=SLOW_DOWNS)
    say("simulating smaller parts of everything")
    smaller = {part: smaller_part(Scale(work, paper, part)) for part in SMALLER}
    say("simulating a series of processes")
    series = course([scale.trace(paper["series"]["processes"])], TENTHS, **emulated)
    say("simulating organisations, admission and a scan")
    organisations = simulate([one], **emulated | {"organisation": ORGANISATIONS})
    wearing = flash | {"admission": ADMISSIONS, "memory": "nvme-flash"}
    admissions = simulate([one], **wearing)
    # The first reads of a scan evict what PostMark left in DRAM; what flash takes of that is not the scan's doing.
    flushed = simulate([one, scale.scan(ONE_DRAM_GB)], **wearing)
    scanned = simulate([one, scale.scan(10 * FLASH_GB)], **wearing)
    say("simulating read-ahead")
    windows = windowed(Scale(work, paper, AHEAD_PART))
    return {"part": scale.part, "dram_gb": DRAM_GB, "emulated_dram_gb": EMULATED_DRAM_GB, "flash_gb": FLASH_GB,
            "slow_downs": SLOW_DOWNS, "unmodified": unmodified, "emulated": slowed, "smaller": smaller,
            "series": series, "organisations": organisations, "admissions": admissions,
            "flushed": flushed, "scanned": scanned, "technologies": technologies(),
            "readahead": windows}


def windowed(scale):
    """Simulates PostMark and single readers with each window, without flash and with it."""
    levels = {"dram": scale.size(ONE_DRAM_GB), "flash_size": ["off", scale.size(FLASH_GB)], "memory": "dram", "admission": "all"}
    return {"part": scale.part, "windows": WINDOWS, "postmark": read_ahead([scale.trace()], **levels),
            "readers": {name: read_ahead([scale.reader(name)], **levels) for name in READERS}}


def technologies():
    """Returns what `terrace list memories` says of the technologies of the slides."""
    found = subprocess.run([common.TERRACE, "list", "memories", "--json=-"], stdout=subprocess.PIPE, check=True).stdout
    figures = {entry["name"]: {figure["name"]: figure["value"] for figure in entry["figures"]}
               for entry in json.loads(found)["entries"]}
    return {name: {figure: figures[name].get(figure) for figure in FIGURES}
            for names in TECHNOLOGIES.values() for name in names}


def smaller_part(scale):
    """Simulates the least DRAM, without flash and with it."""
    dram, flash = scale.size(DRAM_GB[0]), scale.size(FLASH_GB)
    return simulate([scale.trace()], dram=dram, flash_size=["off", flash], memory="dram", admission="all")


def megabytes(rate):
    return f"{rate / 1e6:.1f}"


def tables(results, paper):
    return {"unmodified": unmodified_table(results), "read": emulated_table(results, "read_rate"),
            "write": emulated_table(results, "write_rate"), "scale": scale_table(results), "series": series_table(results),
            "organisations": organisation_table(results), "admission": admission_table(results),
            "technologies": technology_table(results, paper), "readahead": readahead_table(results),
            "readers": readers_table(results), **live_tables()}


def live_tables():
    live = json.loads((FOLDER / "live.json").read_text())
    found = {"live": live_table(live), "flash-time": flash_time_table(live)}
    others = {"series": live_series_table, "whole": live_whole_table}
    return found | {f"live-{name}": shown(live) for name, shown in others.items() if name in live}


def unmodified_table(results):
    rows = [[dram, megabytes(run["read_rate"]), megabytes(run["write_rate"]), percent(1 - run["dram_hit_rate"])]
            for dram, run in zip(results["dram_gb"], results["unmodified"])]
    return table(["DRAM, GB", "read, MB/s", "written, MB/s", "misses"], rows)


def emulated_table(results, rate):
    factors = results["slow_downs"]
    rows = []
    for at, dram in enumerate(results["emulated_dram_gb"]):
        # Both lists begin with the same sizes.
        alone = results["unmodified"][at]
        runs = results["emulated"][at * len(factors):(at + 1) * len(factors)]
        rows.append([dram, megabytes(alone[rate]), *(megabytes(run[rate]) for run in runs)])
    return table(["DRAM, GB", "no flash", *(f"factor {factor}" for factor in factors)], rows)


def scale_table(results):
    """Returns the least DRAM, without flash and with it, of the whole and of smaller parts."""
    rows = []
    for part, (alone, with_flash) in {results["part"]: (results["unmodified"][0], results["emulated"][0]),
                                      **results["smaller"]}.items():
        rows.append([f"1/{part}" if int(part) > 1 else "all", megabytes(alone["read_rate"]), percent(1 - alone["dram_hit_rate"]),
                     megabytes(with_flash["read_rate"]), percent(1 - with_flash["flash_hit_rate"])])
    return table(["part", "no flash: read, MB/s", "DRAM misses", "factor 1: read, MB/s", "flash misses"], rows)


def series_table(results):
    rows = [[at, percent(one["dram_miss_rate"]), percent(one["flash_miss_rate"])]
            for at, one in enumerate(results["series"], 1)]
    return table(["tenth of the requests", "DRAM misses", "flash misses"], rows)


def organisation_table(results):
    rows = [[run["settings"]["organisation"], percent(run["dram_hit_rate"]), percent(run["flash_hit_rate"]),
             megabytes(run["read_rate"]), f"{run['flash_written_bytes'] / 1e9:.1f}"] for run in results["organisations"]]
    return table(["organisation", "DRAM hits", "flash hits", "read, MB/s", "to flash, GB"], rows)


def readahead_table(results):
    """Shows PostMark with each window, without flash and with it."""
    found = results["readahead"]
    rows = [[*ahead_machine(found, at), megabytes(run["read_rate"]), percent(run["dram_hit_rate"]), *ahead_flash(run),
             f"{run['disk_reads'] * PAGE / 1e6:.0f}", f"{run['disk_requests'] / 1e3:.1f}", f"{run['ahead'] * PAGE / 1e6:.0f}",
             ahead_unused(run)] for at, run in enumerate(found["postmark"])]
    return table(["flash", "window", "read, MB/s", "DRAM hits", "flash hits", "to flash, MB", "from the disk, MB",
                  "requests, thousand", "read ahead, MB", "unused"], rows)


def readers_table(results):
    """Shows each reader with each window, and its time as a multiple of that without read-ahead."""
    found, rows = results["readahead"], []
    for name, runs in found["readers"].items():
        for at, run in enumerate(runs):
            without = runs[at // len(WINDOWS) * len(WINDOWS)]
            rows.append([name, *ahead_machine(found, at), f"{run['time_ns'] / 1e9:.1f}", f"{run['time_ns'] / without['time_ns']:.3f}",
                         percent(run["dram_hit_rate"]), *ahead_flash(run), f"{run['disk_requests'] / 1e3:.1f}",
                         f"{run['ahead'] * PAGE / 1e6:.0f}", ahead_unused(run)])
    return table(["reader", "flash", "window", "time, s", "of that without", "DRAM hits", "flash hits", "to flash, MB",
                  "requests, thousand", "read ahead, MB", "unused"], rows)


def ahead_machine(found, at):
    """Returns the flash and the window of a machine: flash varies slowest."""
    windows = found["windows"]
    return ["no flash" if at < len(windows) else "flash", windows[at % len(windows)]]


def ahead_flash(run):
    has_flash = run["settings"]["flash_pages"] > 0
    return [percent(run["flash_hit_rate"]), f"{run['flash_written_bytes'] / 1e6:.0f}"] if has_flash else ["", ""]


def ahead_unused(run):
    return percent(run["unused_rate"]) if run["ahead"] else ""


def technology_table(results, paper):
    """Shows what the slides say of each technology beside what the catalogue has."""
    stated, rows = paper["technologies"], []
    for technology, names in TECHNOLOGIES.items():
        area = " to ".join(map(str, stated["cell_area_f2"][technology]))
        endurance = f"{stated['endurance'][technology]:.0e}".replace("e+0", "e").replace("e+", "e")
        for name in names:
            ours = [results["technologies"][name][figure] for figure in FIGURES]
            rows.append([technology, name, f"{area} F^2", ours[0], endurance, ours[1]])
    return table(["technology", "here", "cell area", "here", "writes a cell", "here"], rows)


def admission_table(results):
    rows = []
    for run, flushed, scanned in zip(results["admissions"], results["flushed"], results["scanned"]):
        more = scanned["flash_written_bytes"] - flushed["flash_written_bytes"]
        # Flash that nothing is written to has no end.
        years = run["lifetime_years"]
        lifetime = "" if years is None else f"{years * 365.25:,.0f}"
        rows.append([run["settings"]["admission"], percent(run["hit_rate"]), megabytes(run["read_rate"]),
                     f"{run['flash_written_bytes'] / 1e9:.1f}", lifetime,
                     percent(more / (results["flash_gb"] << 30) * results["part"])])
    return table(["admission", "hits in DRAM or flash", "read, MB/s", "to flash, GB", "life, days",
                  "a scan writes, of the flash"], rows)


def live_table(live):
    """Returns what `live.py` has measured, beside the simulation of what it recorded, alone and with the time that the
    programs take above a disk that takes none: medians, and the range of the measured rate."""
    rows = []
    for dram, factor in live_kinds(live):
        runs = live_runs(live, dram, factor)
        hits = [percent(found) if factor or at == 0 else "" for at, of in enumerate(("dram_hit_rate", "flash_hit_rate"))
                for found in (median(runs, of), simulated_median(runs, of))]
        measured, slowest, fastest, alone, with_programs = live_rates(live, dram, factor)
        rows.append([dram, factor or "no flash", *hits, megabytes(measured), f"{megabytes(slowest)} to {megabytes(fastest)}",
                     megabytes(alone), megabytes(with_programs)])
    return table(["DRAM, GB", "factor of the flash", "DRAM hits", "simulated", "flash hits", "simulated", "read, MB/s", "range",
                  "simulated", "simulated, and the programs"], rows)


def live_whole_table(live):
    """Returns the same of the runs at the slides' own size, one of each kind."""
    rows = []
    for run in live["whole"]:
        hits = [percent(found) if run["factor"] or at == 0 else "" for at, of in enumerate(("dram_hit_rate", "flash_hit_rate"))
                for found in (run[of], run["simulated"][of])]
        rates = [megabytes(run["read_bytes"] / seconds) for seconds in (run["seconds"], run["simulated"]["seconds"])]
        rows.append([run["dram_gb"], run["factor"] or "no flash", *hits, f"{run['seconds']:,.0f}", *rates])
    return table(["DRAM, GB", "factor of the flash", "DRAM hits", "simulated", "flash hits", "simulated", "time, s", "read, MB/s",
                  "simulated"], rows)


def live_kinds(live):
    return list(dict.fromkeys((run["dram_gb"], run["factor"]) for run in live["runs"] if run["disk"]))


def live_runs(live, dram, factor, disk=True):
    return [run for run in live["runs"] if (run["dram_gb"], run["factor"], run["disk"]) == (dram, factor, disk)]


def median(runs, name):
    return statistics.median(run[name] for run in runs) if runs[0][name] is not None else None


def simulated_median(runs, name):
    return median([run["simulated"] for run in runs], name)


def live_rates(live, dram, factor):
    """Returns read rates: measured, the slowest, the fastest, simulated, and that with the time of the programs."""
    runs, programs = live_runs(live, dram, factor), median(live_runs(live, dram, None, disk=False), "seconds")
    foretold, taken = simulated_median(runs, "seconds"), sorted(run["seconds"] for run in runs)
    seconds = [statistics.median(taken), taken[-1], taken[0], foretold, foretold + programs]
    return [median(runs, "read_bytes") / one for one in seconds]


def flash_time_table(live):
    """Returns the time of a page of emulated flash, as the mount has measured it and as the simulation has it."""
    rows = []
    for factor in [factor for factor in dict.fromkeys(run["factor"] for run in live["runs"]) if factor]:
        runs = [run for run in live["runs"] if run["factor"] == factor]
        rows.append([factor, f"{median(runs, 'flash_page_ns') / 1e3:.1f}", f"{simulated_median(runs, 'flash_page_ns') / 1e3:.1f}"])
    return table(["factor of the flash", "page, us", "simulated"], rows)


def live_series_table(live):
    """Returns the miss rates of the series of processes, by tenths of the pages read, and of its simulation."""
    found = live_series(live["series"])
    rows = [[at, *(percent(rates[at - 1]) for rates in found)] for at in range(1, TENTHS + 1)]
    return table(["tenth of the pages read", "DRAM misses", "simulated", "flash misses", "simulated"], rows)


def live_series(series):
    """Returns the miss rates of DRAM, live and simulated, and those of flash, by tenths of the pages read."""
    looks, epochs = series["looks"] + series["ends"][-1:], series["simulated"]
    levels = [[look[name] for look in looks] for name in ("reads", "dram_misses", "disk_reads")]
    reads = [epoch["reads"] for epoch in epochs]
    missed = [count * (epoch["dram_miss_rate"] or 0) for count, epoch in zip(reads, epochs)]
    from_disk = [count * (epoch["flash_miss_rate"] or 0) for count, epoch in zip(missed, epochs)]
    foretold = [list(itertools.accumulate(counts)) for counts in (reads, missed, from_disk)]
    (dram, flash), (foretold_dram, foretold_flash) = by_tenths(*levels), by_tenths(*foretold)
    return dram, foretold_dram, flash, foretold_flash


def by_tenths(reads, missed, from_disk):
    """Returns two miss rates in tenths of the pages read, of sums in the course of time: between two looks all goes on
    evenly."""
    ends = [reads[-1] * tenth / TENTHS for tenth in range(TENTHS + 1)]
    at = [[interpolated(end, reads, sums) for end in ends] for sums in (reads, missed, from_disk)]
    steps = [[after - before for before, after in itertools.pairwise(sums)] for sums in at]
    return ([part / whole for part, whole in zip(*steps[1::-1])], [part / whole for part, whole in zip(*steps[:0:-1])])


def interpolated(x, xs, ys):
    """Returns the value of a line through points, which begins at zero."""
    for (x0, y0), (x1, y1) in itertools.pairwise([(0, 0), *zip(xs, ys)]):
        if x0 < x1 and x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return ys[-1]


def draw(results, target):
    plot = common.pyplot()
    figure, (rates, misses) = plot.subplots(1, 2, figsize=(9, 3))
    drams = results["emulated_dram_gb"]
    rates.plot(results["dram_gb"], [run["read_rate"] / 1e6 for run in results["unmodified"]], marker="o", label="no flash",
               color=common.PAPER)
    for at, factor in enumerate(results["slow_downs"]):
        runs = results["emulated"][at::len(results["slow_downs"])]
        rates.plot(drams, [run["read_rate"] / 1e6 for run in runs], marker=".", label=f"factor {factor}",
                   color=common.OURS, alpha=1 - at / (len(results["slow_downs"]) + 1))
    rates.set(xlabel="DRAM, GB", ylabel="MB/s", title="Read rate of PostMark (simulated)", ylim=(0, None))
    rates.legend(fontsize=7)
    tenths = range(1, len(results["series"]) + 1)
    for name, label, colour in (("dram_miss_rate", "DRAM", common.PAPER), ("flash_miss_rate", "flash", common.OURS)):
        misses.plot(tenths, [one[name] for one in results["series"]], marker="o", label=label, color=colour)
    misses.set(xlabel="tenth of the requests", ylabel="missed", title="Five processes in a row (simulated)", ylim=(0, 1.05))
    misses.legend()
    common.save(figure, target / "rates.svg")


def main():
    if set(sys.argv[1:]) - {"--quick"}:
        sys.exit(__doc__)
    quick = "--quick" in sys.argv
    paper = json.loads((FOLDER / "paper.json").read_text())
    results = measure(paper, quick)
    work = common.work_directory(FOLDER)
    common.write_json((work if quick else FOLDER) / "results.json", results)
    draw(results, work if quick else common.figures(FOLDER))
    print("\n\n".join(tables(results, paper).values()))
    if not quick:
        common.render()


if __name__ == "__main__":
    main()
